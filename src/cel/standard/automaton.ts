/**
 * Regular expressions of the plain kind (classes, groups, alternatives, counts, anchors at the ends) as automata over
 * ASCII, for the one question `matches` asks. States are made as text leads to them, so it is linear in the text
 * and a table look-up a character. What is not of the plain kind is left to RE2.
 */
import { parsePattern } from './pattern.ts';

/** Past these an automaton is not worth its memory, and RE2 does the work. */
const MAX_STATES = 200;
const ALPHABET = 128;

export class Automaton {
  /** By character, the positions of the pattern that it fits: the edges of the automaton. */
  readonly #fits: readonly Uint8Array[];
  readonly #follow: readonly (readonly number[])[];
  readonly #first: readonly number[];
  readonly #last: ReadonlySet<number>;
  readonly #anchoredStart: boolean;
  readonly #anchoredEnd: boolean;

  /** States: sets of positions; -1 in the table stands for a state not made yet, -2 for no way on. */
  readonly #states: (readonly number[])[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #table: Int16Array[] = [];
  readonly #accepting: boolean[] = [];
  readonly #empty: boolean;
  #exhausted = false;

  constructor(parsed: NonNullable<ReturnType<typeof parsePattern>>) {
    this.#fits = parsed.positions;
    this.#follow = parsed.follow;
    this.#first = parsed.first;
    this.#last = new Set(parsed.last);
    this.#anchoredStart = parsed.anchoredStart;
    this.#anchoredEnd = parsed.anchoredEnd;
    this.#empty = parsed.nullable;
    this.#state([], true);
  }

  /** Whether the pattern matches anywhere in the text; undefined if only RE2 can decide. */
  test(text: string): boolean | undefined {
    if (this.#empty && !this.#anchoredEnd) return true;
    if (this.#empty && text.length === 0) return true;
    let state = 0;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code >= ALPHABET || this.#exhausted) return undefined;
      let next = (this.#table[state] as Int16Array)[code] as number;
      if (next === -1) next = this.#step(state, code);
      if (next === -2) return false;
      if (!this.#anchoredEnd && this.#accepting[next]) return true;
      state = next;
    }
    // Without an anchor at the start the empty match at the end counts as well.
    if (this.#anchoredEnd && this.#empty && !this.#anchoredStart) return true;
    return this.#anchoredEnd ? this.#accepting[state] === true : false;
  }

  #step(state: number, code: number): number {
    const next = new Set<number>();
    const from = this.#states[state] as readonly number[];
    for (const position of from) {
      for (const each of this.#follow[position] as readonly number[])
        if (this.#fits[each]?.[code] === 1) next.add(each);
    }
    if (state === 0 || !this.#anchoredStart) {
      for (const each of this.#first) if (this.#fits[each]?.[code] === 1) next.add(each);
    }
    const dead = next.size === 0 && this.#anchoredStart;
    const number = dead
      ? -2
      : this.#state(
          [...next].sort((a, b) => a - b),
          false,
        );
    (this.#table[state] as Int16Array)[code] = number;
    return number;
  }

  #state(positions: readonly number[], start: boolean): number {
    const name = `${start}${positions.join(',')}`;
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    const number = this.#states.length;
    if (number >= MAX_STATES) {
      this.#exhausted = true;
      return 0;
    }
    this.#states.push(positions);
    this.#numbers.set(name, number);
    this.#table.push(new Int16Array(ALPHABET).fill(-1));
    this.#accepting.push(positions.some((each) => this.#last.has(each)));
    return number;
  }
}

/** An automaton for the pattern, or undefined when it is not of the plain kind. */
export function automaton(pattern: string): Automaton | undefined {
  const parsed = parsePattern(pattern);
  return parsed === undefined ? undefined : new Automaton(parsed);
}
