/**
 * A set of strings, by what it accepts: patterns, enumerations, lengths and formats, met, joined and taken from one another. So a
 * pattern that becomes an equal enumeration is the same set.
 *
 * Kept as a union of pieces; a piece is what some conditions and a range of lengths have in common. Every question has three
 * answers, because automata have bounds and some formats are known from two sides only.
 */
import type { Format } from './formats.ts';
import { formatOf } from './formats.ts';
import { PatternError, type Program, programOf } from './program.ts';
import { textsOf } from './search.ts';

export type Answer<Witness> =
  | { readonly answer: 'yes' }
  | { readonly answer: 'no'; readonly witness: Witness }
  | { readonly answer: 'unknown'; readonly because: string };

/** What a string may be asked, by a pattern or a format; equal keys are equal conditions. */
interface Condition {
  readonly key: string;
  /** Strings that match all of these meet the condition. */
  readonly certain: readonly string[];
  /** Strings that meet the condition match all of these. */
  readonly possible: readonly string[];
  /** What examples are taken from first. */
  readonly usual?: string;
}

interface Piece {
  /** The only strings there are; the conditions hold for all of them. */
  readonly only?: ReadonlySet<string>;
  readonly met: readonly Condition[];
  readonly unmet: readonly Condition[];
  readonly minLength: number;
  readonly maxLength: number;
}

const EVERYTHING: Piece = { met: [], unmet: [], minLength: 0, maxLength: Number.POSITIVE_INFINITY };
/** More pieces than people write; a difference of differences can make many. */
const MAX_PIECES = 256;

export class StringSet {
  static readonly all = new StringSet([EVERYTHING]);
  static readonly none = new StringSet([]);

  /** Undefined where there were too many pieces to keep: nothing is known of such a set. */
  readonly #pieces: readonly Piece[] | undefined;

  private constructor(pieces: readonly Piece[] | undefined) {
    this.#pieces = pieces !== undefined && pieces.length > MAX_PIECES ? undefined : pieces;
  }

  /** What the pattern matches somewhere, as Go's regexp.MatchString has it. */
  static pattern(pattern: string): StringSet {
    return StringSet.#condition({ key: `pattern ${pattern}`, certain: [pattern], possible: [pattern] });
  }

  static enumeration(values: Iterable<string>): StringSet {
    return new StringSet([{ ...EVERYTHING, only: new Set(values) }]);
  }

  /** Both bounds included, counted in code points. */
  static lengths(minLength: number, maxLength = Number.POSITIVE_INFINITY): StringSet {
    const piece = { ...EVERYTHING, minLength: Math.max(0, minLength), maxLength };
    return new StringSet(piece.minLength > piece.maxLength ? [] : [piece]);
  }

  static format(name: string): StringSet {
    const format: Format | undefined = formatOf(name);
    if (format === undefined) return StringSet.all;
    const key = `format ${name.replaceAll('-', '')}`;
    const { certain, possible, usual } = format;
    const set = StringSet.#condition({ key, certain, possible, ...(usual === undefined ? {} : { usual }) });
    return format.maxLength === undefined ? set : set.intersect(StringSet.lengths(0, format.maxLength));
  }

  static #condition(condition: Condition): StringSet {
    return new StringSet([{ ...EVERYTHING, met: [condition] }]);
  }

  intersect(other: StringSet): StringSet {
    if (this.#pieces === undefined || other.#pieces === undefined) return new StringSet(undefined);
    const rights = other.#pieces;
    return new StringSet(this.#pieces.flatMap((left) => rights.flatMap((right) => common(left, right))));
  }

  union(other: StringSet): StringSet {
    if (this.#pieces === undefined || other.#pieces === undefined) return new StringSet(undefined);
    return new StringSet([...this.#pieces, ...other.#pieces]);
  }

  minus(other: StringSet): StringSet {
    if (other.#pieces === undefined) return new StringSet(undefined);
    let left: StringSet = this;
    for (const piece of other.#pieces) left = left.intersect(new StringSet(outside(piece)));
    return left;
  }

  /** Whether every string of the other is in this one. */
  includes(other: StringSet): Answer<string> {
    return other.minus(this).emptiness();
  }

  /** Whether a string is in it; undefined where that is not known. */
  has(text: string): boolean | undefined {
    if (this.#pieces === undefined) return undefined;
    const answers = this.#pieces.map((piece) => isIn(piece, text));
    if (answers.includes(true)) return true;
    return answers.includes(undefined) ? undefined : false;
  }

  /** `yes`, it has no string; `no`, with one that it has. */
  emptiness(): Answer<string> {
    if (this.#pieces === undefined) return { answer: 'unknown', because: TOO_MANY };
    let because: string | undefined;
    for (const piece of this.#pieces) {
      const found = texts(piece, 1);
      const [witness] = found.texts;
      if (witness !== undefined) return { answer: 'no', witness };
      because ??= found.because;
    }
    return because === undefined ? { answer: 'yes' } : { answer: 'unknown', because };
  }

  isEmpty(): boolean | undefined {
    const { answer } = this.emptiness();
    return answer === 'unknown' ? undefined : answer === 'yes';
  }

  /** A short, readable string of the set, if one is found. */
  example(): string | undefined {
    return this.examples(1)[0];
  }

  /** Different strings of the set, up to `count`; the first are short. Fewer where it has fewer, or none others are found. */
  examples(count: number): readonly string[] {
    const found = new Set<string>();
    for (const piece of this.#pieces ?? []) {
      for (const text of texts(piece, count - found.size).texts) found.add(text);
      if (found.size >= count) break;
    }
    return [...found];
  }
}

const TOO_MANY = 'too many alternatives have to be told apart';
const TOO_LARGE = 'the automata of the patterns are too large to be compared';

/** None where the two have nothing in common. */
function common(left: Piece, right: Piece): readonly Piece[] {
  const met = unique([...left.met, ...right.met]);
  const unmet = unique([...left.unmet, ...right.unmet]);
  if (met.some((each) => unmet.some((other) => other.key === each.key))) return [];
  const minLength = Math.max(left.minLength, right.minLength);
  const maxLength = Math.min(left.maxLength, right.maxLength);
  if (minLength > maxLength) return [];
  const piece = { met, unmet, minLength, maxLength };
  if (left.only === undefined && right.only === undefined) return [piece];
  const candidates = [...(left.only ?? right.only ?? [])];
  const only = candidates.filter((each) => left.only?.has(each) !== false && right.only?.has(each) !== false);
  const kept = only.filter((each) => isIn(piece, each) !== false);
  return kept.length === 0 ? [] : [{ ...piece, only: new Set(kept) }];
}

const unique = (conditions: readonly Condition[]): readonly Condition[] => [
  ...new Map(conditions.map((each) => [each.key, each])).values(),
];

/** All that is not in the piece, in pieces. */
function outside(piece: Piece): readonly Piece[] {
  const parts: Piece[] = [];
  if (piece.only !== undefined) parts.push({ ...EVERYTHING, unmet: [oneOf(piece.only)] });
  for (const condition of piece.met) parts.push({ ...EVERYTHING, unmet: [condition] });
  for (const condition of piece.unmet) parts.push({ ...EVERYTHING, met: [condition] });
  if (piece.minLength > 0) parts.push({ ...EVERYTHING, maxLength: piece.minLength - 1 });
  if (piece.maxLength < Number.POSITIVE_INFINITY) parts.push({ ...EVERYTHING, minLength: piece.maxLength + 1 });
  return parts;
}

function oneOf(values: ReadonlySet<string>): Condition {
  const sorted = [...values].sort();
  const pattern = `\\A(?:${sorted.map(quote).join('|')})\\z`;
  return { key: `enum ${JSON.stringify(sorted)}`, certain: [pattern], possible: [pattern] };
}

const quote = (text: string): string => text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&');

function isIn(piece: Piece, text: string): boolean | undefined {
  const length = [...text].length;
  if (length < piece.minLength || length > piece.maxLength) return false;
  if (piece.only !== undefined && !piece.only.has(text)) return false;
  const answers = [
    ...piece.met.map((each) => meets(each, text)),
    ...piece.unmet.map((each) => {
      const met = meets(each, text);
      return met === undefined ? undefined : !met;
    }),
  ];
  if (answers.includes(false)) return false;
  return answers.includes(undefined) ? undefined : true;
}

function meets(condition: Condition, text: string): boolean | undefined {
  if (matchesAll(condition.certain, text) === true) return true;
  return matchesAll(condition.possible, text) === false ? false : undefined;
}

function matchesAll(patterns: readonly string[], text: string): boolean | undefined {
  const answers = patterns.map((pattern) => {
    const program = programOf(pattern);
    return program instanceof PatternError ? undefined : program.matches(text);
  });
  if (answers.includes(false)) return false;
  return answers.includes(undefined) ? undefined : true;
}

interface Found {
  readonly texts: readonly string[];
  /** Why there may be others. */
  readonly because?: string;
}

/** Strings that are in the piece for certain; with none and no `because`, there is none. */
function texts(piece: Piece, count: number): Found {
  if (piece.only !== undefined) return listed(piece, piece.only, count);
  const programs = (patterns: readonly string[]): readonly (Program | PatternError)[] => patterns.map(programOf);
  const certain = programs(piece.met.flatMap((each) => each.certain));
  const possible = programs(piece.met.flatMap((each) => each.possible));
  const certainlyNot = piece.unmet.map((each) => programs(each.possible));
  const possiblyNot = piece.unmet.map((each) => programs(each.certain));
  const usual = programs(piece.met.flatMap((each) => each.usual ?? []));
  const best = usual.length === 0 ? [] : search(piece, [...certain, ...usual], certainlyNot, count).texts;
  if (best.length >= count) return { texts: best };
  const found = search(piece, certain, certainlyNot, count);
  if (found.texts.length > 0) return { ...found, texts: [...new Set([...best, ...found.texts])].slice(0, count) };
  const inexact = [...piece.met, ...piece.unmet].filter((each) => each.certain.join('\n') !== each.possible.join('\n'));
  if (inexact.length === 0) return found;
  const other = search(piece, possible, possiblyNot, 1);
  if (other.texts.length === 0) return other;
  const names = inexact.map((each) => each.key).join(', ');
  return { texts: [], because: `it is not known exactly which strings are of ${names}` };
}

function listed(piece: Piece, only: ReadonlySet<string>, count: number): Found {
  const answers = [...only].map((text) => ({ text, in: isIn(piece, text) }));
  const sure = answers.filter((each) => each.in === true).map((each) => each.text);
  if (sure.length > 0 || answers.every((each) => each.in === false)) return { texts: sure.slice(0, count) };
  return { texts: [], because: `it is not known whether ${JSON.stringify(answers[0]?.text)} is accepted` };
}

/**
 * `without` holds, for each condition that must not be met, the patterns of which not all may match: each choice of the one that
 * does not match is a search of its own.
 */
function search(
  piece: Piece,
  matching: readonly (Program | PatternError)[],
  without: readonly (readonly (Program | PatternError)[])[],
  count: number,
): Found {
  const wrong = [...matching, ...without.flat()].find((each) => each instanceof PatternError);
  if (wrong instanceof PatternError) return { texts: [], because: wrong.message };
  let because: string | undefined;
  const found = new Set<string>();
  for (const notMatching of combinations(without as readonly (readonly Program[])[])) {
    const { minLength, maxLength } = piece;
    const some = textsOf(
      { matching: matching as readonly Program[], notMatching, minLength, maxLength },
      count - found.size,
    );
    if (some === undefined) because = TOO_LARGE;
    for (const text of some ?? []) found.add(text);
    if (found.size >= count) break;
  }
  return { texts: [...found], ...(because === undefined ? {} : { because }) };
}

function combinations<Each>(lists: readonly (readonly Each[])[]): readonly (readonly Each[])[] {
  return lists.reduce<readonly (readonly Each[])[]>(
    (made, list) => made.flatMap((each) => list.map((one) => [...each, one])),
    [[]],
  );
}
