/**
 * A set of strings, defined by what it accepts: patterns, enumerations, lengths and formats, with intersection, union
 * and difference. A pattern and an enumeration that accept the same strings are the same set.
 *
 * The set is a union of pieces; a piece is the intersection of conditions and a range of lengths. Every question has
 * three answers, because automata are bounded and some formats are known only approximately.
 */
import { type Format, formatOf } from './formats.ts';
import {
  type Condition,
  common,
  EVERYTHING,
  type Found,
  fewer,
  isIn,
  MAX_PIECES,
  outside,
  type Piece,
  texts,
} from './pieces.ts';

export type Answer<Witness> =
  | { readonly answer: 'yes' }
  | { readonly answer: 'no'; readonly witness: Witness }
  | { readonly answer: 'unknown'; readonly because: string };

/** The number of strings that are tested one by one if the sets cannot be compared. */
const GUESSES = 50;

const TOO_MANY = 'too many alternatives to compare';

export class StringSet {
  static readonly all = new StringSet([EVERYTHING]);
  static readonly none = new StringSet([]);

  /** Undefined if there were too many pieces: nothing is known about such a set. */
  readonly #pieces: readonly Piece[] | undefined;

  private constructor(pieces: readonly Piece[] | undefined) {
    this.#pieces = pieces !== undefined && pieces.length > MAX_PIECES ? undefined : pieces;
  }

  /** The strings that match the pattern, as Go's regexp.MatchString does. */
  static pattern(pattern: string): StringSet {
    return StringSet.#condition({ key: `pattern ${pattern}`, certain: [pattern], possible: [pattern] });
  }

  static enumeration(values: Iterable<string>): StringSet {
    return new StringSet([{ ...EVERYTHING, only: new Set(values) }]);
  }

  /** Both bounds are inclusive and count code points. */
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
    return new StringSet(fewer(this.#pieces.flatMap((left) => rights.flatMap((right) => common(left, right)))));
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

  /** Whether every string of the other set is in this one. */
  includes(other: StringSet): Answer<string> {
    const found = this.lacks(other, 1);
    if (found === undefined) return { answer: 'yes' };
    const [witness] = found.texts;
    return witness === undefined ? { answer: 'unknown', because: found.because } : { answer: 'no', witness };
  }

  /** Returns up to `count` strings of the other set that are not in this one; undefined if there is none. */
  lacks(other: StringSet, count: number): { readonly texts: readonly string[]; readonly because: string } | undefined {
    const { texts: found, because } = other.minus(this).#texts(count);
    if (found.length > 0 || because === undefined) return found.length > 0 ? { texts: found, because: '' } : undefined;
    const guessed = other.examples(GUESSES).filter((text) => this.has(text) === false);
    return { texts: guessed.slice(0, count), because };
  }

  /** Whether a string is in the set; undefined if that is unknown. */
  has(text: string): boolean | undefined {
    if (this.#pieces === undefined) return undefined;
    const answers = this.#pieces.map((piece) => isIn(piece, text));
    if (answers.includes(true)) return true;
    return answers.includes(undefined) ? undefined : false;
  }

  /** `yes` if the set is empty, `no` with a string if it is not. */
  emptiness(): Answer<string> {
    const { texts: found, because } = this.#texts(1);
    const [witness] = found;
    if (witness !== undefined) return { answer: 'no', witness };
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

  /**
   * Up to `count` different strings of the set, short ones first. There are fewer if the set has fewer or the search
   * finds no more.
   */
  examples(count: number): readonly string[] {
    return this.#texts(count).texts;
  }

  /** If there are none, `because` says why some might still exist. */
  #texts(count: number): Found {
    if (this.#pieces === undefined) return { texts: [], because: TOO_MANY };
    const all = new Set<string>();
    let because: string | undefined;
    for (const piece of this.#pieces) {
      const found = texts(piece, count - all.size);
      for (const text of found.texts) all.add(text);
      because ??= found.because;
      if (all.size >= count) break;
    }
    return { texts: [...all], ...(because === undefined ? {} : { because }) };
  }
}
