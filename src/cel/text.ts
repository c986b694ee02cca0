/**
 * Strings as CEL sees them: sequences of code points. JavaScript counts UTF-16 units; where no surrogate is in a
 * string the two agree, and that is nearly always, so every function looks for that first.
 */

const SURROGATE = /[\ud800-\udfff]/;

export function hasSurrogates(text: string): boolean {
  // A loop wins over the regular expression on the short strings policies are made of.
  if (text.length > 16) return SURROGATE.test(text);
  for (let index = 0; index < text.length; index++) {
    if ((text.charCodeAt(index) & 0xf800) === 0xd800) return true;
  }
  return false;
}

/** Number of code points; a lone surrogate counts as one. */
export function codePoints(text: string): number {
  if (!hasSurrogates(text)) return text.length;
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** The UTF-16 index of code point `position`, or undefined when it is past the end. The end itself is in. */
export function unitIndex(text: string, position: number): number | undefined {
  if (position < 0) return undefined;
  if (!hasSurrogates(text)) return position <= text.length ? position : undefined;
  let seen = 0;
  let index = 0;
  while (seen < position) {
    if (index >= text.length) return undefined;
    index += (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
    seen++;
  }
  return index;
}

/** The code point position of UTF-16 index `index`. */
export function codePointIndex(text: string, index: number): number {
  return codePoints(text.slice(0, index));
}

/** Length in UTF-8 bytes: what Go's len(string) is. A lone surrogate is written as U+FFFD, three bytes. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/**
 * Order of Go strings: by UTF-8 bytes, which is by code points. UTF-16 order differs only where a surrogate meets
 * a unit above U+DFFF.
 */
export function compareText(left: string, right: string): number {
  if (left === right) return 0;
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const a = left.charCodeAt(index);
    const b = right.charCodeAt(index);
    if (a === b) continue;
    const aSurrogate = (a & 0xf800) === 0xd800;
    const bSurrogate = (b & 0xf800) === 0xd800;
    if (aSurrogate !== bSurrogate) return aSurrogate ? 1 : -1;
    return a < b ? -1 : 1;
  }
  return left.length < right.length ? -1 : 1;
}
