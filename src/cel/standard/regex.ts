/**
 * RE2 regular expressions with linear time. A bounded cache holds compiled patterns, because patterns may come from
 * data.
 */
import { RE2JS } from 're2js';
import { CelError } from '../values.ts';
import { type Automaton, automaton } from './automaton.ts';

/** A compiled pattern. */
class Regex {
  readonly #pattern: string;
  readonly #automaton: Automaton | undefined;
  #re2: RE2JS | undefined;

  /** Throws if the pattern is invalid. */
  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#automaton = automaton(pattern);
    // A pattern that the automaton supports is valid RE2 too; it is compiled with RE2 only if needed.
    if (this.#automaton === undefined) this.#re2 = RE2JS.compile(pattern);
  }

  /** Whether the pattern matches somewhere in the text. */
  test(text: string): boolean {
    return this.#automaton?.test(text) ?? this.#askRe2(text);
  }

  #askRe2(text: string): boolean {
    this.#re2 ??= RE2JS.compile(this.#pattern);
    return this.#re2.test(text);
  }

  toString(): string {
    return this.#pattern;
  }
}

const CACHE = new Map<string, Regex | CelError>();
const MAX_CACHED = 256;

/** `compileRegex` returns the compiled pattern, or an error if it is invalid. */
export function compileRegex(pattern: string): Regex | CelError {
  const known = CACHE.get(pattern);
  if (known !== undefined) return known;
  const made = compileNew(pattern);
  // A Map keeps insertion order, so the oldest entry is evicted first.
  if (CACHE.size >= MAX_CACHED) CACHE.delete(CACHE.keys().next().value as string);
  CACHE.set(pattern, made);
  return made;
}

function compileNew(pattern: string): Regex | CelError {
  try {
    return new Regex(pattern);
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new CelError('invalid_argument', `error parsing regexp: ${message}`);
  }
}

export function matches(text: string, pattern: string): boolean | CelError {
  const regex = compileRegex(pattern);
  return regex instanceof CelError ? regex : regex.test(text);
}
