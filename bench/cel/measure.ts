/** CPU time of JavaScript, per operation. */

/** Nanoseconds of CPU time (all threads: compiler and garbage collector too) for one call of `operation`. */
export function cpuNanoseconds(operation: () => unknown, iterations: number): number {
  const started = process.cpuUsage();
  for (let iteration = 0; iteration < iterations; iteration++) kept = operation();
  const { user, system } = process.cpuUsage(started);
  return ((user + system) * 1000) / iterations;
}

/** Where results go, so that no compiler finds the work useless. */
let kept: unknown;
export const lastResult = (): unknown => kept;

/** How many calls take about `milliseconds`. */
export function iterationsFor(operation: () => unknown, milliseconds: number): number {
  for (let iterations = 16; ; iterations *= 2) {
    const each = cpuNanoseconds(operation, iterations);
    if (each * iterations > 2e6) return Math.max(16, Math.round((milliseconds * 1e6) / each));
  }
}

export const geometricMean = (numbers: readonly number[]): number =>
  Math.exp(numbers.reduce((sum, each) => sum + Math.log(each), 0) / numbers.length);

/** Bytes of heap that one of `make` keeps. Needs `node --expose-gc`. */
export function bytesOf(make: (index: number) => unknown, count: number): number {
  const collect = globalThis.gc;
  if (collect === undefined) throw new Error('memory can only be measured with node --expose-gc');
  const all: unknown[] = Array.from({ length: count }, () => undefined);
  collect();
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < count; index++) all[index] = make(index);
  collect();
  collect();
  const bytes = (process.memoryUsage().heapUsed - before) / count;
  kept = all;
  return bytes;
}
