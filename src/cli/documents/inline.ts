/** The parts of the quick reader for quoted scalars, flow collections and keys. */
import { notJson, plainScalar } from './scalar.ts';

/** Returned for texts that only the full parser reads. */
export const unusual: unique symbol = Symbol('for a full parser');

export type Fields = Record<string, unknown>;

export const MAX_DEPTH = 100;

const DOUBLE_QUOTED = /"(?:[^"\\\n]|\\["\\/bfnrt_]|\\u[0-9a-fA-F]{4})*"/y;
const SINGLE_QUOTED = /'((?:[^'\n]|'')*)'/y;
/** A plain scalar inside a flow collection: without indicators, except a colon that is not before a gap. */
const FLOW_WORD = /(?:[A-Za-z0-9_./+~]|-(?=[A-Za-z0-9_./]))(?:[^,[\]{}:#"'&*!|>%@`?\n]|:(?=[^\s,[\]{}]))*/y;
const FLOW_KEY = /(?:([A-Za-z0-9_./-]+) *:(?=[ \n])|"([^"\\\n]*)"[ \n]*:|'([^'\n]*)' *:(?=[ \n]))/y;

/** Reads from given offsets of one text; `end` is the offset after the last thing that was read. */
export class InlineReader {
  readonly #text: string;
  end = 0;

  constructor(text: string) {
    this.#text = text;
  }

  quotedAt(at: number): string {
    if (this.#text[at] === '"') {
      const quoted = this.#taken(DOUBLE_QUOTED, at);
      return quoted.includes('\\') ? unescaped(quoted) : quoted.slice(1, -1);
    }
    return this.#taken(SINGLE_QUOTED, at).slice(1, -1).replaceAll("''", "'");
  }

  /** Returns the key that the pattern matches, if any. Its first group is a plain word, the others are quoted. */
  keyAt(pattern: RegExp, at: number): string | undefined {
    pattern.lastIndex = at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.end = pattern.lastIndex;
    const key = match[1] ?? match[2] ?? match[3] ?? '';
    // Plain numbers and booleans are converted by the full parser; `__proto__` is not safe as the name of a field.
    if (key === '__proto__' || (match[1] !== undefined && (plainScalar(key) !== key || /^-(?![A-Za-z])/.test(key)))) {
      throw unusual;
    }
    return key;
  }

  /** Reads a flow collection. It may span lines only at the root of a document, because elsewhere indentation counts. */
  flowAt(at: number, overLines: boolean, depth: number): unknown {
    if (depth > MAX_DEPTH) throw unusual;
    const start = this.#afterSpace(at + 1, overLines);
    return this.#text[at] === '{' ? this.#flowMap(start, overLines, depth) : this.#flowList(start, overLines, depth);
  }

  #flowMap(start: number, overLines: boolean, depth: number): Fields {
    const made: Fields = {};
    if (this.#consume('}', start)) return made;
    this.end = start;
    do {
      const key = this.keyAt(FLOW_KEY, this.#afterSpace(this.end, overLines));
      if (key === undefined || Object.hasOwn(made, key)) throw unusual;
      made[key] = this.#flowValue(overLines, depth);
    } while (this.#consume(',', this.end));
    if (!this.#consume('}', this.end)) throw unusual;
    return made;
  }

  #flowList(start: number, overLines: boolean, depth: number): unknown[] {
    const made: unknown[] = [];
    if (this.#consume(']', start)) return made;
    this.end = start;
    do made.push(this.#flowValue(overLines, depth));
    while (this.#consume(',', this.end));
    if (!this.#consume(']', this.end)) throw unusual;
    return made;
  }

  /** Reads a value together with the space around it. */
  #flowValue(overLines: boolean, depth: number): unknown {
    const at = this.#afterSpace(this.end, overLines);
    const value = this.#flowValueAt(at, overLines, depth);
    this.end = this.#afterSpace(this.end, overLines);
    return value;
  }

  #flowValueAt(at: number, overLines: boolean, depth: number): unknown {
    const first = this.#text[at];
    if (first === '{' || first === '[') return this.flowAt(at, overLines, depth + 1);
    if (first === '"' || first === "'") return this.quotedAt(at);
    const word = this.#taken(FLOW_WORD, at);
    // As for plain scalars in blocks, a comment may follow a space.
    if (this.#text[this.end] === '#') throw unusual;
    return wordValue(word.trimEnd());
  }

  #afterSpace(from: number, overLines: boolean): number {
    let at = from;
    while (this.#text[at] === ' ' || (overLines && this.#text[at] === '\n')) at++;
    return at;
  }

  /** Moves past the character if it is there. */
  #consume(character: string, at: number): boolean {
    if (this.#text[at] !== character) return false;
    this.end = at + 1;
    return true;
  }

  #taken(pattern: RegExp, at: number): string {
    pattern.lastIndex = at;
    if (!pattern.test(this.#text)) throw unusual;
    this.end = pattern.lastIndex;
    return this.#text.slice(at, this.end);
  }
}

/** Resolves the escapes of JSON, and `\\_` of YAML, a non-breaking space, which definitions contain. */
const unescaped = (quoted: string): string =>
  JSON.parse(quoted.replaceAll(/\\[^u]/g, (each) => (each === '\\_' ? '\\u00a0' : each))) as string;

/** `wordValue` converts a plain scalar, which may be a number or a boolean. */
export function wordValue(word: string): unknown {
  const value = plainScalar(word);
  if (value === notJson) throw unusual;
  return value;
}
