/**
 * A process of its own, so that its memory is that of one task and it knows no answers of an earlier one: every pair of a list compared
 * once (`pairs FILE`), a large pair (`large OLD NEW`, `memory OLD NEW`), or stored objects checked (`stored COUNT`). Says what it took as one line of JSON.
 */
import { readFileSync } from 'node:fs';
import { type Json, readCrd, storedObjectsCheck } from '../../src/crd-compat/index.ts';
import { randomCases } from '../../test/crd-compat/support/cases.ts';
import { compareTexts } from './ours.ts';
import { largePair, type Pair, yaml } from './pairs.ts';
import { storedObject, storedPair } from './stored.ts';

const [task, ...words] = process.argv.slice(2);
const collect = globalThis.gc ?? (() => undefined);
/** The CPU time of all threads, which does not depend on the load of the machine. */
const cpuMilliseconds = (since: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
};
const peakMegabytes = () => process.resourceUsage().maxRSS / 1024;

/** Once each, in nanoseconds: a pair that comes again would find answers that were kept. */
function pairs(file: string) {
  const texts = (JSON.parse(readFileSync(file, 'utf8')) as Pair[]).map(
    (pair) => [readFileSync(pair.old, 'utf8'), readFileSync(pair.new, 'utf8')] as const,
  );
  warmUp();
  collect();
  return texts.map(([before, after]) => {
    const began = process.cpuUsage();
    compareTexts(before, after);
    return cpuMilliseconds(began) * 1e6;
  });
}

/** With pairs that are not measured: the machine code is there, as in a process that is up, and no answers are. */
function warmUp(): void {
  for (const { before, after } of randomCases(1, 250, 0)) compareTexts(yaml(before), yaml(after));
  for (const kilobytes of [7, 15, 30, 70]) {
    const { before, after } = largePair(kilobytes * 1024);
    for (let turn = 0; turn < 3; turn += 1) compareTexts(yaml(before), yaml(after));
  }
}

/** The same definition in other words each time, so that no answer of an earlier turn helps. */
function large(old: string, now: string) {
  const [before, after] = [readFileSync(old, 'utf8'), readFileSync(now, 'utf8')];
  warmUp();
  const milliseconds = Array.from({ length: 7 }, (_, turn) => {
    const [left, right] = [reworded(before, turn), reworded(after, turn)];
    collect();
    const began = process.cpuUsage();
    compareTexts(left, right);
    return cpuMilliseconds(began);
  });
  return { milliseconds };
}

const reworded = (text: string, turn: number): string =>
  text
    .replaceAll('Fast', `Fast${turn}`)
    .replaceAll('maximum: 100\n', `maximum: ${100 + turn}\n`)
    .replaceAll('maximum: 50\n', `maximum: ${50 + turn}\n`)
    .replaceAll('[a-z0-9./-]+', `[a-z0-9./-]{${turn + 1},}`)
    .replaceAll('maxProperties: 8', `maxProperties: ${8 + turn}`)
    .replaceAll('maxItems: 32', `maxItems: ${32 + turn}`)
    .replaceAll('How ', `(${turn}) How `);

/** Of a process that has done nothing else: its peak, over what it held before. */
function memory(old: string, now: string) {
  collect();
  const idle = process.memoryUsage.rss() / 2 ** 20;
  compareTexts(readFileSync(old, 'utf8'), readFileSync(now, 'utf8'));
  return { megabytes: peakMegabytes() - idle };
}

function stored(count: number) {
  const { before, after } = storedPair;
  const [left, right] = [readCrd(before).crd, readCrd(after).crd];
  if (left === undefined || right === undefined) throw new Error('the definitions cannot be read');
  const objects = Array.from({ length: count }, (_, index) => storedObject(index) as Json);
  const bytes = objects.reduce((sum, object) => sum + JSON.stringify(object).length, 0) / count;
  collect();
  const began = process.cpuUsage();
  const check = storedObjectsCheck(left, right);
  for (const object of objects) check.add(object);
  const { checked, broken } = check.result();
  return { milliseconds: [cpuMilliseconds(began)], bytes, checked, broken };
}

const [first = '', second = ''] = words;
const tasks: Readonly<Record<string, () => unknown>> = {
  pairs: () => pairs(first),
  large: () => large(first, second),
  memory: () => memory(first, second),
  stored: () => stored(Number(first)),
};
process.stdout.write(`${JSON.stringify(tasks[task ?? '']?.())}\n`);
