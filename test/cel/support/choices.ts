/**
 * Reads decisions from a tape of numbers. Generators that decide by a tape can have any structure, and fast-check still
 * shrinks their results: a shorter tape with smaller numbers is a simpler case. Past its end the tape is all zeros, and
 * every generator takes its simplest branch on zero.
 */
export class Choices {
  readonly #tape: readonly number[];
  #position = 0;

  constructor(tape: readonly number[]) {
    this.#tape = tape;
  }

  /** Returns a number from 0 to limit-1. */
  below(limit: number): number {
    return (this.#tape[this.#position++] ?? 0) % limit;
  }

  /** Returns true with a probability of about `percent`, and never on an empty tape. */
  chance(percent: number): boolean {
    return this.below(100) >= 100 - percent;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  /** Makes `least` to `most` elements. */
  several<T>(least: number, most: number, make: (index: number) => T): T[] {
    return Array.from({ length: least + this.below(most - least + 1) }, (_, index) => make(index));
  }

  get isExhausted(): boolean {
    return this.#position >= this.#tape.length;
  }
}
