/** The functions of cel-go's strings extension on values. Positions count code points. */
import { codePointIndex, codePoints, hasSurrogates, unitIndex, utf8Length } from '../text.ts';
import { CelError, invalidArgument, type Value } from '../values.ts';
import { SHORT_ESCAPES } from './go-text.ts';

type Int = number | bigint;

/** The maximum length of a result in UTF-16 units: JavaScript would throw near 2^29, and no object is that large. */
const MAX_TEXT = 2 ** 27;

const outOfRange = (index: Int): CelError => new CelError('index_out_of_bounds', `index out of range: ${index}`);
const tooLong = (): CelError => new CelError('invalid_argument', 'the resulting string is too long');

/** `charAt` returns the code point at `index`, or "" just past the end. */
export function charAt(text: string, index: Int): string | CelError {
  const start = unitIndex(text, Number(index));
  if (start === undefined) return outOfRange(index);
  return start === text.length ? '' : String.fromCodePoint(text.codePointAt(start) ?? 0);
}

/**
 * The position where an empty string is found: up to cel-go 0.26 (Kubernetes) the offset itself; later versions require
 * the offset to be within the text, and a negative offset is an error.
 */
export type EmptySearch = 'at-offset' | 'within-text';

export function indexOf(text: string, part: string, offset: Int, empty: EmptySearch): Int | CelError {
  if (part === '' && empty === 'at-offset') return offset;
  if (offset < 0) return outOfRange(offset);
  const length = codePoints(text);
  if (part === '') return offset > length ? length : offset;
  if (offset >= length) return -1;
  const found = text.indexOf(part, unitIndex(text, Number(offset)));
  return found < 0 ? -1 : codePointIndex(text, found);
}

export function lastIndexOf(text: string, part: string): Int | CelError {
  if (part === '') return codePoints(text);
  if (utf8Length(text) < utf8Length(part)) return -1;
  return lastIndexOfFrom(text, part, codePoints(text) - 1, 'at-offset');
}

export function lastIndexOfFrom(text: string, part: string, offset: Int, empty: EmptySearch): Int | CelError {
  if (part === '' && empty === 'at-offset') return offset;
  if (offset < 0) return outOfRange(offset);
  const length = codePoints(text);
  if (part === '') return offset > length ? length : offset;
  if (offset >= length || part.length > text.length) return -1;
  const found = text.lastIndexOf(part, unitIndex(text, Number(offset)));
  return found < 0 ? -1 : codePointIndex(text, found);
}

const BEYOND_ASCII = /[\u0080-\uffff]/;

export function lowerAscii(text: string): string {
  return BEYOND_ASCII.test(text) ? text.replace(/[A-Z]+/g, (part) => part.toLowerCase()) : text.toLowerCase();
}

export function upperAscii(text: string): string {
  return BEYOND_ASCII.test(text) ? text.replace(/[a-z]+/g, (part) => part.toUpperCase()) : text.toUpperCase();
}

/**
 * `replace` is Go's strings.Replace: it replaces the first `limit` matches, or all if `limit` is negative; "" matches
 * around every character.
 */
export function replace(text: string, old: string, by: string, limit: Int): string | CelError {
  if (limit === 0 || old === by) return text;
  if (old === '') return replaceEmpty([...text], by, limit);
  const pieces = text.split(old);
  const count = limit < 0 || limit >= pieces.length ? pieces.length - 1 : Number(limit);
  if (text.length + count * (by.length - old.length) > MAX_TEXT) return tooLong();
  if (count === pieces.length - 1) return pieces.join(by);
  return `${pieces.slice(0, count + 1).join(by)}${old}${pieces.slice(count + 1).join(old)}`;
}

function replaceEmpty(characters: readonly string[], by: string, limit: Int): string | CelError {
  const places = characters.length + 1;
  const count = limit < 0 || limit > places ? places : Number(limit);
  if (characters.length + count * by.length > MAX_TEXT) return tooLong();
  const head = characters.slice(0, count).map((character) => by + character);
  return head.join('') + (count > characters.length ? by : characters.slice(count).join(''));
}

/** `split` is Go's strings.SplitN: at most `limit` parts, all if `limit` is negative; "" splits between characters. */
export function split(text: string, separator: string, limit: Int): readonly string[] {
  if (limit === 0) return [];
  const parts = separator === '' ? [...text] : text.split(separator);
  if (limit < 0 || limit >= parts.length) return parts;
  const count = Number(limit);
  return [...parts.slice(0, count - 1), parts.slice(count - 1).join(separator)];
}

export function substring(text: string, start: Int): string | CelError {
  const from = unitIndex(text, Number(start));
  return from === undefined ? outOfRange(start) : text.slice(from);
}

export function substringBetween(text: string, start: Int, end: Int): string | CelError {
  if (start > end) return invalidArgument(`invalid substring range. start: ${start}, end: ${end}`);
  const from = unitIndex(text, Number(start));
  if (from === undefined) return outOfRange(start);
  const to = unitIndex(text, Number(end));
  return to === undefined ? outOfRange(end) : text.slice(from, to);
}

export function join(list: readonly Value[], separator: string): string | CelError {
  let length = 0;
  for (const element of list) {
    if (typeof element !== 'string') return invalidArgument('join: invalid input: every element must be a string');
    length += element.length + separator.length;
  }
  return length > MAX_TEXT ? tooLong() : list.join(separator);
}

export function reverse(text: string): string {
  return hasSurrogates(text) ? [...text].reverse().join('') : text.split('').reverse().join('');
}

/** `quoteLiteral` returns the text as a CEL literal in double quotes; characters without an escape in CEL are kept. */
export function quoteLiteral(text: string): string {
  const escaped = text.toWellFormed().replace(/[\p{Cc}\\"]/gu, (character) => SHORT_ESCAPES[character] ?? character);
  return `"${escaped}"`;
}
