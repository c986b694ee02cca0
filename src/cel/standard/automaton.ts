/**
 * Automata over ASCII for simple regular expressions (classes, groups, alternatives, counts, anchors at the ends),
 * which answer `matches`. States are created on demand, so matching is linear in the text, with one table lookup per
 * character. All other patterns are left to RE2.
 */
import { parsePattern } from './pattern.ts';

/** Beyond these limits, an automaton is not worth its memory, and RE2 is used. */
const MAX_STATES = 200;
const ALPHABET = 128;

export class Automaton {
  /** For each character, the positions of the pattern that it matches: the edges of the automaton. */
  readonly #fits: readonly Uint8Array[];
  readonly #follow: readonly (readonly number[])[];
  readonly #first: readonly number[];
  readonly #last: ReadonlySet<number>;
  readonly #anchoredStart: boolean;
  readonly #anchoredEnd: boolean;

  /** States are sets of positions; in the table, -1 is a state not yet created and -2 a dead end. */
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
    // Without an anchor at the start, an empty match at the end counts too.
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

/** `automaton` returns an automaton for the pattern, or undefined if the pattern is not simple. */
export function automaton(pattern: string): Automaton | undefined {
  const parsed = parsePattern(pattern);
  return parsed === undefined ? undefined : new Automaton(parsed);
}
