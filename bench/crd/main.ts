/**
 * `npm run bench -- crd [--pairs=DIRECTORY] [--rounds=N]`: two definitions compared, beside crdify, in one run: from the text of both
 * files to a report, in CPU time, taking turns, of each the best turn. Ours is warm, but has not seen the pair before. Then a definition
 * as large as they come, stored objects, and changes through a real API server. Answers whether every target was met.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { geometricMean } from '../cel/measure.ts';
import { admissionTimes } from './admission.ts';
import { type Crdify, crdifyVersion, startCrdify } from './crdify.ts';
import { largePair, madePairs, type Pair, pairsIn, yaml } from './pairs.ts';

interface Target {
  readonly what: string;
  readonly value: number;
  readonly atMost: number;
}

const largeBytes = 837 * 1024;
const storedCount = 10_000;
const kidp = join(import.meta.dirname, '..', '..', 'bin', 'kidp.js');

const log = (line: string) => process.stdout.write(`${line}\n`);

export async function run(flags: readonly string[]): Promise<boolean> {
  const flag = (name: string) => flags.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3);
  const directory = mkdtempSync(join(tmpdir(), 'kidp-bench-crd-'));
  try {
    const given = flag('pairs');
    const pairs = given === undefined ? madePairs(join(directory, 'pairs')) : pairsIn(given);
    log(`${pairs.length} pairs ${given === undefined ? 'of the corpus and made ones' : `in ${given}`}`);
    const targets = [
      ...(await beside(pairs, Number(flag('rounds') ?? 5), directory)),
      ...large(directory),
      ...stored(),
      ...(await admission(pairs)),
    ];
    return report(targets);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function beside(pairs: readonly Pair[], rounds: number, directory: string): Promise<Target[]> {
  const crdify = await startCrdify(log);
  const best = pairs.map(() => ({ ours: Number.POSITIVE_INFINITY, theirs: Number.POSITIVE_INFINITY }));
  try {
    const list = join(directory, 'pairs.json');
    writeFileSync(list, JSON.stringify(pairs));
    for (let round = 0; round < rounds; round += 1) {
      log(`round ${round + 1} of ${rounds}`);
      const ours = alone('pairs', list) as number[];
      for (const [index, pair] of pairs.entries()) {
        const row = best[index] as (typeof best)[number];
        row.theirs = Math.min(row.theirs, await crdify.measure(pair, 3));
        row.ours = Math.min(row.ours, ours[index] as number);
      }
    }
    processes(pairs, crdify);
  } finally {
    crdify.stop();
  }
  const sum = (side: 'ours' | 'theirs') => best.reduce((total, row) => total + row[side], 0);
  const ratios = best.map(({ ours, theirs }) => ours / theirs);
  log(`\nall pairs once, CPU: kidp ${ms(sum('ours'))}, crdify ${crdifyVersion} ${ms(sum('theirs'))}`);
  log(`ratio by pair: geometric mean ${geometricMean(ratios).toFixed(3)}, worst ${Math.max(...ratios).toFixed(2)}`);
  const worst = ratios.map((ratio, index) => ({ ratio, name: pairs[index]?.name })).sort((a, b) => b.ratio - a.ratio);
  log(
    `slowest: ${worst
      .slice(0, 3)
      .map(({ ratio, name }) => `${name} ${ratio.toFixed(2)}`)
      .join(', ')}`,
  );
  return [{ what: 'time on the pairs, to crdify', value: sum('ours') / sum('theirs'), atMost: 0.3 }];
}

const ms = (nanoseconds: number): string => `${(nanoseconds / 1e6).toFixed(1)} ms`;

/** One pair a process, start and end included, as a script would: for information, since one process compares a whole directory. */
function processes(pairs: readonly Pair[], { program }: Crdify): void {
  const some = pairs.filter((_, index) => index % Math.ceil(pairs.length / 5) === 0);
  const median = (measure: (pair: Pair) => readonly string[], command: string) =>
    some
      .map((pair) => {
        const began = performance.now();
        spawnSync(command, measure(pair), { stdio: 'ignore' });
        return performance.now() - began;
      })
      .sort((a, b) => a - b)[Math.floor(some.length / 2)] as number;
  const ours = median((pair) => [kidp, 'crd', 'diff', pair.old, pair.new], process.execPath);
  const theirs = median((pair) => [`file://${pair.old}`, `file://${pair.new}`], program);
  log(`\na process for each pair, wall, median: kidp ${ours.toFixed(0)} ms, crdify ${theirs.toFixed(0)} ms`);
}

function large(directory: string): Target[] {
  const { before, after } = largePair(largeBytes);
  const [old, now] = ['old', 'new'].map((side) => join(directory, `large-${side}.yaml`)) as [string, string];
  writeFileSync(old, yaml(before));
  writeFileSync(now, yaml(after));
  const { milliseconds } = alone('large', old, now) as { milliseconds: number[] };
  const { megabytes } = alone('memory', old, now) as { megabytes: number };
  const kilobytes = Math.round(readFileSync(old).length / 1024);
  log(`${kilobytes} KB: ${milliseconds.map((each) => each.toFixed(0)).join(', ')} ms of CPU time, one after the other`);
  return [
    { what: `a definition of ${kilobytes} KB, ms of CPU time`, value: median(milliseconds), atMost: 150 },
    { what: 'memory that it takes, MB', value: megabytes, atMost: 100 },
  ];
}

function stored(): Target[] {
  const { milliseconds, bytes, checked, broken } = alone('stored', String(storedCount)) as {
    milliseconds: number[];
    bytes: number;
    checked: number;
    broken: number;
  };
  if (checked !== storedCount || broken !== storedCount / 10)
    throw new Error(`${broken} of ${checked} stored objects broken, not every tenth of ${storedCount}`);
  log(`${checked} objects of ${bytes.toFixed(0)} bytes checked, ${broken} would break`);
  return [
    { what: `${storedCount} stored objects checked, s of CPU time`, value: median(milliseconds) / 1000, atMost: 5 },
  ];
}

async function admission(pairs: readonly Pair[]): Promise<Target[]> {
  const { gated, ungated, denied } = await admissionTimes(pairs, 3);
  const p99 = percentile(gated, 0.99);
  log(
    `admission of ${gated.length} changes, ${denied} denied: p50 ${median(gated).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms` +
      ` (without the gate ${median(ungated).toFixed(0)} and ${percentile(ungated, 0.99).toFixed(0)} ms)`,
  );
  return [{ what: 'admission of a change, p99, s', value: p99 / 1000, atMost: 1 }];
}

function alone(...words: readonly string[]): unknown {
  const program = join(import.meta.dirname, 'alone.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', program, ...words], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${words[0]} ended with ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

const median = (values: readonly number[]): number => percentile(values, 0.5);

function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

function report(targets: readonly Target[]): boolean {
  log('');
  for (const { what, value, atMost } of targets)
    log(
      `${what.padEnd(44)}${value.toFixed(2).padStart(10)}${`≤ ${atMost}`.padStart(10)}   ${value <= atMost ? 'met' : 'MISSED'}`,
    );
  return targets.every(({ value, atMost }) => value <= atMost);
}
