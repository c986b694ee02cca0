/**
 * Sets of code points, and the equivalence classes of code points under several such sets. An automaton steps by class, so
 * that `\p{L}` costs no more than `a`.
 *
 * The API server sees strings as UTF-8: there are no surrogates among its characters.
 */

/** Code points as sorted, disjoint ranges: first, last, first, last … */
export type CodePoints = readonly number[];

const LAST = 0x10ffff;
export const ANY: CodePoints = [0, LAST];
export const NOT_NEWLINE: CodePoints = [0, 9, 11, LAST];
export const NEWLINE: CodePoints = [10, 10];
/** The characters that `\b` counts as part of a word. */
export const WORD: CodePoints = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a];

const SURROGATES = [0xd800, 0xe000] as const;

/** The start of each range of equivalent code points, and the class of each range. */
export interface Classes {
  readonly starts: readonly number[];
  /** -1 for surrogates, which no string contains. */
  readonly ofStretch: readonly number[];
  /** For each class, whether its code points are in each set. */
  readonly members: readonly (readonly boolean[])[];
}

export function classesOf(sets: readonly CodePoints[]): Classes {
  const starts = [...new Set([0, ...SURROGATES, ...sets.flatMap(edges)])].sort((left, right) => left - right);
  const isIn = sets.map((set) => stretchesIn(set, starts));
  const known = new Map<string, number>();
  const members: boolean[][] = [];
  const ofStretch = starts.map((start, stretch) => {
    if (start >= SURROGATES[0] && start < SURROGATES[1]) return -1;
    const row = isIn.map((each) => each[stretch] === true);
    const key = row.map(Number).join('');
    const class_ = known.get(key) ?? members.push(row) - 1;
    known.set(key, class_);
    return class_;
  });
  return { starts, ofStretch, members };
}

const edges = (set: CodePoints): number[] =>
  set.map((each, index) => (index % 2 === 0 ? each : each + 1)).filter((each) => each <= LAST);

/** Every edge of the set is among the starts, so that a range is either completely inside or completely outside. */
function stretchesIn(set: CodePoints, starts: readonly number[]): boolean[] {
  let range = 0;
  return starts.map((start) => {
    while (range < set.length && (set[range + 1] as number) < start) range += 2;
    return range < set.length && (set[range] as number) <= start;
  });
}

/** Returns the last range that starts at or before the code point. */
export function stretchAt(starts: readonly number[], codePoint: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] as number) <= codePoint) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Readable characters come first, because examples are shown to users. */
export const READABLE: readonly number[] = [
  ...'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-._/:@#+=,%~*?&!$();<>[]{}|^`\'"\\ ',
].map((each) => each.codePointAt(0) as number);
const MAX_CHOICES = 4;
const VISIBLE = /^[\p{L}\p{N}\p{P}\p{S}]$/u;
const MAX_LOOKED_AT = 64;

/** A few characters of each class, the most readable first, and the classes sorted by their most readable character. */
export function choices(
  starts: readonly number[],
  ofStretch: readonly number[],
): { readonly order: readonly number[]; readonly characters: readonly (readonly string[])[] } {
  const count = Math.max(-1, ...ofStretch) + 1;
  const characters: string[][] = Array.from({ length: count }, () => []);
  const order: number[] = [];
  for (const codePoint of READABLE) {
    const class_ = ofStretch[stretchAt(starts, codePoint)] as number;
    const known = characters[class_] as string[];
    if (known.length === 0) order.push(class_);
    if (known.length < MAX_CHOICES) known.push(String.fromCodePoint(codePoint));
  }
  for (const [stretch, class_] of ofStretch.entries()) {
    const known = characters[class_];
    if (known === undefined || known.length > 0) continue;
    order.push(class_);
    known.push(String.fromCodePoint(visibleIn(starts, ofStretch, stretch)));
  }
  return { order, characters };
}

/** The first visible code point near the start of a range of this class, or the first one if none is visible. */
function visibleIn(starts: readonly number[], ofStretch: readonly number[], first: number): number {
  const class_ = ofStretch[first];
  for (let stretch = first; stretch < starts.length; stretch++) {
    if (ofStretch[stretch] !== class_) continue;
    const from = starts[stretch] as number;
    const until = Math.min(starts[stretch + 1] ?? LAST + 1, from + MAX_LOOKED_AT);
    for (let each = from; each < until; each++) if (VISIBLE.test(String.fromCodePoint(each))) return each;
  }
  return starts[first] as number;
}
