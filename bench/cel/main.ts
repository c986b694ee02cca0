/**
 * `npm run bench -- cel`: our engine beside cel-go, Kubernetes' environment, two JavaScript libraries and code by hand,
 * in one run, in CPU time, with costs counted and interruption possible. What is evaluated is compiled once and kept,
 * as a webhook keeps it. The engines take turns, and of each the best turn counts: a busy machine makes slower, never
 * faster. Answers whether every target was met.
 */
import { compile, environment, types } from '../../src/cel/index.ts';
import { cases, subject } from './cases.ts';
import { type Engine, engines } from './engines.ts';
import { goEngines, startGoSide } from './go-side.ts';
import { bytesOf, cpuNanoseconds, geometricMean, iterationsFor } from './measure.ts';

export interface Target {
  readonly name: string;
  readonly value: number;
  readonly atMost: number;
}

const rounds = 12;
const turnMilliseconds = 25;

const log = (line: string) => process.stdout.write(`${line}\n`);

/** Nanoseconds by engine and case; undefined where an engine cannot do it. */
type Table = Map<string, (number | undefined)[]>;

export async function run(_flags: readonly string[]): Promise<boolean> {
  const evaluated: Table = new Map();
  const compiled: Table = new Map();
  const prepared = prepare(await engines());
  const go = await startGoSide(log);
  try {
    for (let round = 0; round < rounds; round++) {
      log(`round ${round + 1} of ${rounds}`);
      for (const index of cases.keys()) {
        for (const engine of goEngines) {
          const estimate = (await go.measure(engine, 'evaluate', index, 200)) ?? 1000;
          const iterations = Math.round((turnMilliseconds * 1e6) / Math.max(estimate, 50));
          keepBest(evaluated, engine, index, await go.measure(engine, 'evaluate', index, iterations));
          keepBest(compiled, engine, index, await go.measure(engine, 'compile', index, 100));
        }
        measureJavaScript(prepared[index] as readonly Prepared[], index, evaluated, compiled);
      }
    }
  } finally {
    go.stop();
  }
  const targets = judge(evaluated, compiled);
  for (const line of report(evaluated, 'evaluation, nanoseconds of CPU time')) log(line);
  for (const line of report(compiled, 'compilation (parse, check, generate), nanoseconds of CPU time')) log(line);
  for (const { name, value, atMost } of targets) {
    log(`${value <= atMost ? 'met   ' : 'MISSED'} ${name}: ${value.toFixed(3)} (at most ${atMost})`);
  }
  return targets.every(({ value, atMost }) => value <= atMost);
}

interface Prepared {
  readonly engine: Engine;
  /** Missing where the engine cannot do the case. */
  readonly evaluate: (() => unknown) | undefined;
}

/** By case. */
const prepare = (all: readonly Engine[]): Prepared[][] =>
  cases.map(({ expression }) => all.map((engine) => ({ engine, evaluate: working(engine, expression) })));

function measureJavaScript(all: readonly Prepared[], index: number, evaluated: Table, compiled: Table): void {
  const { expression } = cases[index] as (typeof cases)[number];
  for (const { engine, evaluate } of all) {
    if (evaluate !== undefined) keepBest(evaluated, engine.name, index, measured(evaluate));
    const { compile } = engine;
    if (compile?.(expression) === undefined) continue;
    keepBest(
      compiled,
      engine.name,
      index,
      measured(() => compile(renamed(expression, serial++))),
    );
  }
}

const measured = (operation: () => unknown): number =>
  cpuNanoseconds(operation, iterationsFor(operation, turnMilliseconds));

let serial = 0;

/** Another field each time, so that no cache can help, V8's of generated code among them. The Go side does the same. */
const renamed = (expression: string, serial: number): string =>
  expression.replace(/spec|metadata/, (field) => `${field}${serial}`);

/**
 * The operation, where the engine comes to the right answer: one that is wrong is not fast. It meets another object
 * each time, as a webhook does: with one object only, a compiler moves the whole work out of the loop.
 */
function working(engine: Engine, expression: string): (() => unknown) | undefined {
  const prepared = engine.prepare(expression);
  if (prepared === undefined) return undefined;
  const inputs = Array.from({ length: 64 }, () => {
    const object = structuredClone(subject);
    return (engine.input?.(object) ?? object) as never;
  });
  try {
    if (prepared(inputs[0] as never) !== true) return undefined;
  } catch {
    return undefined;
  }
  let turn = 0;
  return () => prepared(inputs[turn++ & 63] as never);
}

function keepBest(table: Table, engine: string, index: number, nanoseconds: number | undefined): void {
  if (nanoseconds === undefined) return;
  const row = table.get(engine) ?? [];
  row[index] = Math.min(row[index] ?? nanoseconds, nanoseconds);
  table.set(engine, row);
}

/**
 * Bytes that a typical compiled expression keeps, once it has run: a few times, or so often that it has code of its
 * own.
 */
function memory(runs: number): number {
  const known = environment('kubernetes-1.36', { variables: { object: types.DYN } });
  return bytesOf((index) => {
    const { expression } = cases[index % cases.length] as (typeof cases)[number];
    const compiled = compile(renamed(expression, index), known);
    for (let run = 0; run < runs; run++) compiled.evaluate?.({ object: subject as never });
    return compiled;
  }, 1_800);
}

function judge(evaluated: Table, compiled: Table): Target[] {
  const to = (table: Table, other: string) =>
    cases.map((_, index) => ratio(table, 'kidp', other, index)).filter((each) => each !== undefined);
  // Plain cel-go has no quantities: there Kubernetes' own environment stands for it.
  const toCelGo = cases.map(
    (_, index) =>
      ratio(evaluated, 'kidp', 'cel-go', index) ?? ratio(evaluated, 'kidp', 'kubernetes', index) ?? Number.NaN,
  );
  const compileToCelGo = cases.map(
    (_, index) =>
      ratio(compiled, 'kidp', 'cel-go', index) ?? ratio(compiled, 'kidp', 'kubernetes', index) ?? Number.NaN,
  );
  return [
    { name: 'evaluation, geometric mean to cel-go', value: geometricMean(toCelGo), atMost: 0.15 },
    { name: 'evaluation, the worst to cel-go', value: Math.max(...toCelGo), atMost: 1 },
    {
      name: 'evaluation, geometric mean to JavaScript by hand',
      value: geometricMean(to(evaluated, 'by hand')),
      atMost: 2.5,
    },
    { name: 'compilation, geometric mean to cel-go', value: geometricMean(compileToCelGo), atMost: 0.5 },
    { name: 'kilobytes that a compiled expression keeps', value: memory(1) / 1024, atMost: 12 },
    { name: 'kilobytes that it keeps with code of its own', value: memory(5) / 1024, atMost: 12 },
  ];
}

function ratio(table: Table, one: string, other: string, index: number): number | undefined {
  const [left, right] = [table.get(one)?.[index], table.get(other)?.[index]];
  return left === undefined || right === undefined ? undefined : left / right;
}

/** A table: engines across, cases down, and in brackets how many times our time it is. */
function report(table: Table, title: string): string[] {
  const names = [...table.keys()].sort((left, right) => Number(right === 'kidp') - Number(left === 'kidp'));
  const cell = (name: string, index: number) => {
    const nanoseconds = table.get(name)?.[index];
    if (nanoseconds === undefined) return '-';
    const times = 1 / (ratio(table, 'kidp', name, index) ?? Number.NaN);
    return name === 'kidp' ? nanoseconds.toFixed(0) : `${nanoseconds.toFixed(0)} (${times.toFixed(2)})`;
  };
  const means = names.map((name) => {
    const ratios = cases.flatMap((_, index) => {
      const times = ratio(table, name, 'kidp', index);
      return times === undefined ? [] : [times];
    });
    return ratios.length === 0 ? '-' : geometricMean(ratios).toFixed(2);
  });
  const rows = [
    ['', ...names],
    ...cases.map(({ name }, index) => [name, ...names.map((engine) => cell(engine, index))]),
    ['geometric mean, times kidp', ...means],
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length))) ?? [];
  const text = rows.map((row) =>
    row
      .map((each, column) => (column === 0 ? each.padEnd(widths[column] ?? 0) : each.padStart(widths[column] ?? 0)))
      .join('  '),
  );
  return ['', title, ...text, ''];
}
