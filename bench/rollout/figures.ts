/** What was measured, beside what docs/requirements.md, 002 asks for. */

export interface Figure {
  /** The table of the requirement that it is in. */
  readonly table: string;
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** The value is less than, at most, at least, or exactly this. */
  readonly target: readonly ['<' | '≤' | '≥' | '=', number];
}

export const isMet = ({ value, target: [relation, bound] }: Figure): boolean => {
  switch (relation) {
    case '<':
      return value < bound;
    case '≤':
      return value <= bound;
    case '≥':
      return value >= bound;
    case '=':
      return value === bound;
  }
};

export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

export const say = (line = ''): void => void process.stdout.write(`${line}\n`);

/** Milliseconds that something took. */
export async function timed<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly milliseconds: number }> {
  const began = performance.now();
  const result = await work();
  return { result, milliseconds: performance.now() - began };
}

export const mebibytes = (bytes: number): number => bytes / 2 ** 20;

export const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`;

/** `work` for each, so many at a time. */
export async function inParallel<T>(
  items: readonly T[],
  parallel: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) await work(items[index] as T);
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, worker));
}

/** Table by table. Returns whether every target was met. */
export function report(figures: readonly Figure[]): boolean {
  for (const table of new Set(figures.map((figure) => figure.table))) {
    say();
    say(table);
    for (const figure of figures.filter((each) => each.table === table)) {
      const { what, value, unit, target } = figure;
      const [relation, bound] = target;
      const cells = [`${round(value)} ${unit}`.padStart(12), `${relation} ${bound} ${unit}`.padStart(14)];
      say(`  ${what.padEnd(86)}${cells.join('')}   ${isMet(figure) ? 'met' : 'MISSED'}`);
    }
  }
  return figures.every(isMet);
}

const round = (value: number): string => (Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 1));
