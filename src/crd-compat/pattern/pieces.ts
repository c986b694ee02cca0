/**
 * Pieces of a set of strings: the intersection of conditions and a range of lengths. This file intersects and
 * complements pieces and finds their strings.
 */
import { PatternError, type Program, programOf } from './program.ts';
import { randomWalk } from './random-walk.ts';
import { textsOf } from './search.ts';

/** A condition on strings, from a pattern or a format. Conditions with equal keys are equal. */
export interface Condition {
  readonly key: string;
  /** Strings that match all of these satisfy the condition. */
  readonly certain: readonly string[];
  /** Strings that satisfy the condition match all of these. */
  readonly possible: readonly string[];
  /** The pattern that examples are taken from first. */
  readonly usual?: string;
}

export interface Piece {
  /** The only possible strings; each satisfies the conditions. */
  readonly only?: ReadonlySet<string>;
  readonly met: readonly Condition[];
  readonly unmet: readonly Condition[];
  readonly minLength: number;
  readonly maxLength: number;
}

export const EVERYTHING: Piece = { met: [], unmet: [], minLength: 0, maxLength: Number.POSITIVE_INFINITY };
/** The largest number of pieces, which only repeated differences reach. */
export const MAX_PIECES = 256;

const TOO_LARGE = 'the automata of the patterns are too large to be compared';

/** With more pieces than this, empty ones are searched for and removed. */
const FEW = 16;
/** The budget of that search per piece: most empty pieces are empty for a simple reason. */
const LITTLE_WORK = 20_000;

/** `fewer` returns the same strings in fewer pieces if there are many. */
export function fewer(pieces: readonly Piece[]): readonly Piece[] {
  if (pieces.length <= FEW) return pieces;
  const kept = pieces.filter((piece, at) => !pieces.some((other, index) => isWithin(piece, other, at, index)));
  if (kept.length <= FEW || kept.length > MAX_PIECES) return kept;
  return kept.filter((piece) => {
    const found = texts(piece, 1, LITTLE_WORK);
    return found.texts.length > 0 || found.because !== undefined;
  });
}

/**
 * Whether a piece is obviously contained in another; of two equal pieces, the later one is contained in the earlier.
 */
function isWithin(piece: Piece, other: Piece, at: number, index: number): boolean {
  if (at === index || other.only !== undefined || piece.only !== undefined) return false;
  const holds = (some: readonly Condition[], all: readonly Condition[]): boolean =>
    some.every((each) => all.some(({ key }) => key === each.key));
  const isPart =
    holds(other.met, piece.met) &&
    holds(other.unmet, piece.unmet) &&
    other.minLength <= piece.minLength &&
    other.maxLength >= piece.maxLength;
  const isSame =
    isPart &&
    holds(piece.met, other.met) &&
    holds(piece.unmet, other.unmet) &&
    other.minLength === piece.minLength &&
    other.maxLength === piece.maxLength;
  return isPart && (!isSame || index < at);
}

/** `common` returns the intersection, or nothing if it is empty. */
export function common(left: Piece, right: Piece): readonly Piece[] {
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

/** `outside` returns the complement of a piece. */
export function outside(piece: Piece): readonly Piece[] {
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

export function isIn(piece: Piece, text: string): boolean | undefined {
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

export interface Found {
  readonly texts: readonly string[];
  /** The reason why more strings may exist. */
  readonly because?: string;
}

/** A cache: the strings of a piece depend on its conditions only. */
const KNOWN = new Map<string, Found>();
/** The fields of a definition often have the same conditions. */
const MOST_KNOWN = 500;

/**
 * `texts` returns strings that are certainly in the piece. If there are none and `because` is absent, the piece is
 * empty.
 */
export function texts(piece: Piece, count: number, work?: number): Found {
  if (piece.only !== undefined) return listed(piece, piece.only, count);
  const keys = (conditions: readonly Condition[]): readonly string[] => conditions.map(({ key }) => key);
  const question = JSON.stringify([keys(piece.met), keys(piece.unmet), piece.minLength, piece.maxLength, count, work]);
  const known = KNOWN.get(question);
  if (known !== undefined) return known;
  const found = unlisted(piece, count, work);
  if (KNOWN.size >= MOST_KNOWN) KNOWN.clear();
  KNOWN.set(question, found);
  return found;
}

function unlisted(piece: Piece, count: number, work: number | undefined): Found {
  const programs = (patterns: readonly string[]): readonly (Program | PatternError)[] => patterns.map(programOf);
  const certain = programs(piece.met.flatMap((each) => each.certain));
  const possible = programs(piece.met.flatMap((each) => each.possible));
  const certainlyNot = piece.unmet.map((each) => programs(each.possible));
  const possiblyNot = piece.unmet.map((each) => programs(each.certain));
  const usual = programs(piece.met.flatMap((each) => each.usual ?? []));
  const best = usual.length === 0 ? [] : search(piece, [...certain, ...usual], certainlyNot, count, work).texts;
  if (best.length >= count) return { texts: best };
  const found = search(piece, certain, certainlyNot, count, work);
  if (found.texts.length > 0) return { ...found, texts: [...new Set([...best, ...found.texts])].slice(0, count) };
  if (found.because === TOO_LARGE && work === undefined) {
    const met = guessed(piece, certain, count);
    if (met.length > 0) return { ...found, texts: met };
  }
  const inexact = [...piece.met, ...piece.unmet].filter((each) => each.certain.join('\n') !== each.possible.join('\n'));
  if (inexact.length === 0) return found;
  const other = search(piece, possible, possiblyNot, 1, work);
  if (other.texts.length === 0) return other;
  const names = inexact.map((each) => each.key).join(', ');
  return { texts: [], because: `it is not known exactly which strings have ${names}` };
}

/** Used if the product of the automata is too large: tries strings that match some of the patterns. */
function guessed(piece: Piece, matching: readonly (Program | PatternError)[], count: number): readonly string[] {
  const found = new Set<string>();
  const programs = matching.filter((each): each is Program => !(each instanceof PatternError));
  const sources = [
    ...programs.map(randomWalk),
    ...programs.map((each) => textsOf({ ...piece, matching: [each], notMatching: [] }, GUESSES) ?? []),
  ];
  for (const source of sources) {
    for (const text of source) {
      if (isIn(piece, text) === true) found.add(text);
      if (found.size >= count) return [...found];
    }
  }
  return [...found];
}

const GUESSES = 50;

function listed(piece: Piece, only: ReadonlySet<string>, count: number): Found {
  const answers = [...only].map((text) => ({ text, in: isIn(piece, text) }));
  const sure = answers.filter((each) => each.in === true).map((each) => each.text);
  if (sure.length > 0 || answers.every((each) => each.in === false)) return { texts: sure.slice(0, count) };
  return { texts: [], because: `it is not known whether ${JSON.stringify(answers[0]?.text)} is accepted` };
}

/**
 * For each condition that must not hold, `without` has patterns of which at least one must not match. Each choice of
 * that pattern is a search of its own.
 */
function search(
  piece: Piece,
  matching: readonly (Program | PatternError)[],
  without: readonly (readonly (Program | PatternError)[])[],
  count: number,
  work: number | undefined,
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
      work,
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
