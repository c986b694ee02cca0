/**
 * Parses the simple part of RE2's syntax into positions and their successors (Glushkov's construction). It returns
 * undefined for any other syntax.
 */

const ALPHABET = 128;
const MAX_POSITIONS = 120;

interface ParsedPattern {
  /** For each position, the characters that it matches. */
  readonly positions: readonly Uint8Array[];
  readonly follow: readonly (readonly number[])[];
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly nullable: boolean;
  readonly anchoredStart: boolean;
  readonly anchoredEnd: boolean;
}

export function parsePattern(pattern: string): ParsedPattern | undefined {
  try {
    return new PatternParser(pattern).run();
  } catch (thrown) {
    if (thrown === NOT_PLAIN) return undefined;
    throw thrown;
  }
}

const NOT_PLAIN = Symbol('not plain');

function notPlain(): never {
  throw NOT_PLAIN;
}

/** A part of a pattern, before positions are assigned. */
type Part =
  | { readonly kind: 'characters'; readonly set: Uint8Array }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly Part[] }
  | { readonly kind: 'repeat'; readonly part: Part; readonly min: number; readonly max: number };

interface Piece {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly nullable: boolean;
}

class PatternParser {
  readonly #text: string;
  #at = 0;
  readonly #positions: Uint8Array[] = [];
  readonly #follow: Set<number>[] = [];

  constructor(pattern: string) {
    this.#text = pattern;
  }

  run(): ParsedPattern {
    const anchoredStart = this.#text.startsWith('^');
    if (anchoredStart) this.#at++;
    const anchoredEnd = /(^|[^\\])(\\\\)*\$$/.test(this.#text);
    const end = this.#text.length - (anchoredEnd ? 1 : 0);
    const part = this.#choice(end);
    if (this.#at !== end) notPlain();
    // In `^a|b$`, each anchor applies to one alternative.
    if ((anchoredStart || anchoredEnd) && part.kind === 'choice') notPlain();
    const piece = this.#build(part);
    return {
      positions: this.#positions,
      follow: this.#follow.map((each) => [...each]),
      ...piece,
      anchoredStart,
      anchoredEnd,
    };
  }

  #choice(end: number): Part {
    const parts = [this.#sequence(end)];
    while (this.#at < end && this.#text[this.#at] === '|') {
      this.#at++;
      parts.push(this.#sequence(end));
    }
    return parts.length === 1 ? (parts[0] as Part) : { kind: 'choice', parts };
  }

  #sequence(end: number): Part {
    const parts: Part[] = [];
    while (this.#at < end && this.#text[this.#at] !== '|' && this.#text[this.#at] !== ')') {
      parts.push(this.#repeated(this.#atom(end), end));
    }
    return parts.length === 1 ? (parts[0] as Part) : { kind: 'sequence', parts };
  }

  #repeated(part: Part, end: number): Part {
    const bounds = this.#bounds(end);
    if (bounds === undefined) return part;
    // A lazy repetition matches the same texts as a greedy one.
    if (this.#at < end && this.#text[this.#at] === '?') this.#at++;
    if (this.#at < end && this.#bounds(end) !== undefined) notPlain();
    return { kind: 'repeat', part, ...bounds };
  }

  #bounds(end: number): { min: number; max: number } | undefined {
    if (this.#at >= end) return undefined;
    switch (this.#text[this.#at]) {
      case '*':
        this.#at++;
        return { min: 0, max: Number.POSITIVE_INFINITY };
      case '+':
        this.#at++;
        return { min: 1, max: Number.POSITIVE_INFINITY };
      case '?':
        this.#at++;
        return { min: 0, max: 1 };
      case '{': {
        const match = /^\{(\d{1,3})(,(\d{1,3})?)?\}/.exec(this.#text.slice(this.#at, end));
        if (match === null) return notPlain();
        this.#at += match[0].length;
        const min = Number(match[1]);
        const max = match[2] === undefined ? min : match[3] === undefined ? Number.POSITIVE_INFINITY : Number(match[3]);
        return max < min ? notPlain() : { min, max };
      }
      default:
        return undefined;
    }
  }

  #atom(end: number): Part {
    const character = this.#text[this.#at++] as string;
    switch (character) {
      case '(':
        return this.#group(end);
      case '[':
        return { kind: 'characters', set: this.#class(end) };
      case '.':
        return { kind: 'characters', set: complement(setOf('\n')) };
      case '\\':
        return { kind: 'characters', set: this.#escape(end) };
      case '^':
      case '$':
      case '*':
      case '+':
      case '?':
      case '{':
        return notPlain();
      default:
        return { kind: 'characters', set: setOf(character) };
    }
  }

  #group(end: number): Part {
    if (this.#text.startsWith('?', this.#at)) {
      if (!this.#text.startsWith('?:', this.#at)) notPlain();
      this.#at += 2;
    }
    const part = this.#choice(end);
    if (this.#at >= end || this.#text[this.#at++] !== ')') notPlain();
    return part;
  }

  #escape(end: number): Uint8Array {
    if (this.#at >= end) notPlain();
    const character = this.#text[this.#at++] as string;
    const known = CLASSES[character];
    if (known !== undefined) return known;
    const control = CONTROLS[character];
    if (control !== undefined) return setOf(control);
    return /[A-Za-z0-9]/.test(character) ? notPlain() : setOf(character);
  }

  #class(end: number): Uint8Array {
    const set = new Uint8Array(ALPHABET);
    const negated = this.#text[this.#at] === '^';
    if (negated) this.#at++;
    for (let first = true; ; first = false) {
      if (this.#at >= end) notPlain();
      const character = this.#text[this.#at] as string;
      if (character === ']' && !first) break;
      if (character === '[' && this.#text[this.#at + 1] === ':') notPlain();
      this.#range(set, end);
    }
    this.#at++;
    return negated ? complement(set) : set;
  }

  #range(set: Uint8Array, end: number): void {
    const low = this.#classCharacter(end);
    const isRange = this.#text[this.#at] === '-' && this.#text[this.#at + 1] !== ']';
    if (!isRange) {
      low.forEach((each, index) => {
        if (each === 1) set[index] = 1;
      });
      return;
    }
    this.#at++;
    const high = this.#classCharacter(end);
    const [from, to] = [single(low), single(high)];
    if (to < from) notPlain();
    set.fill(1, from, to + 1);
  }

  #classCharacter(end: number): Uint8Array {
    if (this.#at >= end) notPlain();
    const character = this.#text[this.#at++] as string;
    return character === '\\' ? this.#escape(end) : setOf(character);
  }

  // ---- positions -----------------------------------------------------------------------------------------------

  #build(part: Part): Piece {
    switch (part.kind) {
      case 'characters': {
        const position = this.#positions.length;
        if (position >= MAX_POSITIONS) notPlain();
        this.#positions.push(part.set);
        this.#follow.push(new Set());
        return { first: [position], last: [position], nullable: false };
      }
      case 'choice': {
        const pieces = part.parts.map((each) => this.#build(each));
        return {
          first: pieces.flatMap((each) => each.first),
          last: pieces.flatMap((each) => each.last),
          nullable: pieces.some((each) => each.nullable),
        };
      }
      case 'sequence':
        return part.parts.reduce<Piece>((before, each) => this.#join(before, this.#build(each)), EMPTY);
      case 'repeat':
        return this.#repeat(part.part, part.min, part.max);
    }
  }

  #join(left: Piece, right: Piece): Piece {
    this.#link(left.last, right.first);
    return {
      first: left.nullable ? [...left.first, ...right.first] : left.first,
      last: right.nullable ? [...left.last, ...right.last] : right.last,
      nullable: left.nullable && right.nullable,
    };
  }

  #link(from: readonly number[], to: readonly number[]): void {
    for (const each of from) for (const next of to) this.#follow[each]?.add(next);
  }

  /** x{2,4} is xx(x(x)?)?, x{2,} is xxx*; each copy has its own positions. */
  #repeat(part: Part, min: number, max: number): Piece {
    let piece = EMPTY;
    const required = max === Number.POSITIVE_INFINITY ? Math.max(min - 1, 0) : min;
    for (let count = 0; count < required; count++) piece = this.#join(piece, this.#build(part));
    if (max === Number.POSITIVE_INFINITY) {
      const loop = this.#build(part);
      this.#link(loop.last, loop.first);
      return this.#join(piece, min === 0 ? { ...loop, nullable: true } : loop);
    }
    return this.#optional(piece, part, max - min);
  }

  #optional(piece: Piece, part: Part, count: number): Piece {
    let whole = piece;
    for (let index = 0; index < count; index++) whole = this.#join(whole, { ...this.#build(part), nullable: true });
    return whole;
  }
}

const EMPTY: Piece = { first: [], last: [], nullable: true };

function setOf(character: string): Uint8Array {
  const code = character.charCodeAt(0);
  if (code >= ALPHABET) notPlain();
  const set = new Uint8Array(ALPHABET);
  set[code] = 1;
  return set;
}

const complement = (set: Uint8Array): Uint8Array => set.map((each) => 1 - each);

function single(set: Uint8Array): number {
  const first = set.indexOf(1);
  return first < 0 || set.indexOf(1, first + 1) >= 0 ? notPlain() : first;
}

function ranges(...pairs: readonly string[]): Uint8Array {
  const set = new Uint8Array(ALPHABET);
  for (const pair of pairs) set.fill(1, pair.charCodeAt(0), pair.charCodeAt(1) + 1);
  return set;
}

const DIGITS = ranges('09');
const WORD = ranges('09', 'AZ', 'az', '__');
const SPACE = ranges('\t\n', '\f\r', '  ');

const CLASSES: Readonly<Record<string, Uint8Array>> = {
  d: DIGITS,
  D: complement(DIGITS),
  w: WORD,
  W: complement(WORD),
  s: SPACE,
  S: complement(SPACE),
};

const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v' };
