/**
 * `kidp check` of a repository of 1,000 objects and 100 policies beside parsing its YAML alone, each in a process of
 * its own, start and end included, turn by turn: medians of the turns and of their ratios.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { objectCount, policyCount, writeRepository } from './repository.ts';

interface Measures {
  wallMilliseconds: number;
  cpuMilliseconds: number;
}

const here = import.meta.dirname;
const program = join(here, '..', '..', 'bin', 'kidp.js');
const target = 2;

const repositories = [
  { name: 'clean', violating: 0, exit: 0 },
  { name: 'every 10th Deployment violates 50 policies', violating: 10, exit: 1 },
];

export async function run(flags: readonly string[]): Promise<boolean> {
  const turns = Number(flags.find((flag) => flag.startsWith('--turns='))?.slice('--turns='.length) ?? 7);
  const directory = mkdtempSync(join(tmpdir(), 'kidp-bench-check-'));
  process.stdout.write(`check: ${objectCount} objects, ${policyCount} policies, ${turns} turns\n`);
  let met = true;
  try {
    for (const { name, violating, exit } of repositories) {
      const repository = join(directory, name.replaceAll(' ', '-'));
      writeRepository(repository, violating);
      const ours: Measures[] = [];
      const theirs: Measures[] = [];
      const check = () => ours.push(measure([program, 'check', '-f', repository], exit));
      const parse = () => theirs.push(measure([join(here, 'parse.ts'), repository], 0));
      // Each goes first in every other turn.
      for (let turn = 0; turn < turns; turn += 1)
        for (const go of turn % 2 === 0 ? [parse, check] : [check, parse]) go();
      met = report(name, ours, theirs) && met;
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  return met;
}

function measure(words: readonly string[], exit: number): Measures {
  const directory = mkdtempSync(join(tmpdir(), 'kidp-measures-'));
  try {
    const file = join(directory, 'measures.json');
    const { status, stderr } = spawnSync(process.execPath, ['--import', join(here, 'measure.ts'), ...words], {
      encoding: 'utf8',
      env: { ...process.env, KIDP_MEASURES: file },
      maxBuffer: 2 ** 30,
    });
    if (status !== exit) throw new Error(`${words.join(' ')} ended with ${status}, not ${exit}: ${stderr}`);
    return JSON.parse(readFileSync(file, 'utf8')) as Measures;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function report(name: string, ours: readonly Measures[], theirs: readonly Measures[]): boolean {
  let met = true;
  for (const measure of ['wallMilliseconds', 'cpuMilliseconds'] as const) {
    const what = `${name}, ${measure === 'wallMilliseconds' ? 'wall' : 'CPU'}, ms`;
    // Of each turn, whose two halves ran one after the other: the machine may be busier in the next.
    const ratio = median(ours.map((each, turn) => each[measure] / (theirs[turn]?.[measure] ?? 0)));
    const isMet = ratio <= target;
    met &&= isMet;
    const numbers = [median(ours.map((each) => each[measure])), median(theirs.map((each) => each[measure]))];
    process.stdout.write(
      `${what.padEnd(58)} check ${numbers[0]?.toFixed(0)}, parse alone ${numbers[1]?.toFixed(0)}, ratio ${ratio.toFixed(2)}, target ≤ ${target}: ${isMet ? 'met' : 'MISSED'}\n`,
    );
  }
  return met;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
