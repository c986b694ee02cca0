/**
 * Strings in CEL are sequences of code points. JavaScript counts UTF-16 units; the two agree for strings without
 * surrogates, which is the common case, so every function checks for it first.
 */

const SURROGATE = /[\ud800-\udfff]/;

export function hasSurrogates(text: string): boolean {
  // A loop is faster than a regular expression on the short strings of policies.
  if (text.length > 16) return SURROGATE.test(text);
  for (let index = 0; index < text.length; index++) {
    if ((text.charCodeAt(index) & 0xf800) === 0xd800) return true;
  }
  return false;
}

/** `codePoints` returns the number of code points; a lone surrogate counts as one. */
export function codePoints(text: string): number {
  if (!hasSurrogates(text)) return text.length;
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/**
 * `unitIndex` returns the UTF-16 index of code point `position`, or undefined past the end; the end itself is valid.
 */
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

/** `codePointIndex` returns the code point position of UTF-16 index `index`. */
export function codePointIndex(text: string, index: number): number {
  return codePoints(text.slice(0, index));
}

/**
 * `utf8Length` returns the length in UTF-8 bytes, Go's len(string). A lone surrogate is encoded as U+FFFD, three bytes.
 */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/**
 * `compareText` orders strings like Go: by UTF-8 bytes, which is by code points. UTF-16 order differs only between a
 * surrogate and a unit above U+DFFF.
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
