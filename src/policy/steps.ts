/**
 * Work in steps: a generator that yields after each small piece, so that a process can serve others between two steps.
 * Only the caller decides when the next step runs; the result is the same.
 */

export type Steps<T> = Generator<undefined, T, undefined>;

/** `completed` runs all steps at once. */
export function completed<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
