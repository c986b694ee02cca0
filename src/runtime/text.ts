/**
 * Text that others have written (names, messages, user names, output of other programs), made safe to store, log and show. Control
 * characters move the cursor, forge lines and send commands to terminals; format characters reverse or hide what is written.
 */

/** Control and format characters, line and paragraph separators, lone surrogates. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const runs = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu;
const runsInLines = /(?:(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}])+/gu;
const escaped = /(?!\n|\t|\r\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** `plainLine` returns the text in one line: unsafe characters, also line breaks and tabs, become a space. */
export const plainLine = (text: string): string => (unsafe.test(text) ? text.replace(runs, ' ').trim() : text);

/** `plainText` does the same and keeps line breaks and tabs, for texts of several lines. */
export const plainText = (text: string): string => (unsafe.test(text) ? text.replace(runsInLines, ' ') : text);

/**
 * `plainName` returns the name of a user in one line. Unsafe characters are written the way JSON does and not removed:
 * without them, `ada\u200b` would be the name of somebody else.
 */
export const plainName = (name: string): string =>
  unsafe.test(name) ? name.replace(runs, (run) => [...run].map(written).join('')) : name;

/** `plainValues` cleans every string in plain data with `plainLine`; the texts of fields in `lines` keep their line breaks. */
export function plainValues<Value>(value: Value, lines: readonly string[] = [], field = ''): Value {
  if (typeof value === 'string') return (lines.includes(field) ? plainText(value) : plainLine(value)) as Value;
  if (Array.isArray(value)) return value.map((each) => plainValues(each, lines, field)) as Value;
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const entries = Object.entries(value).map(([key, each]) => [plainLine(key), plainValues(each, lines, key)]);
  return Object.fromEntries(entries) as Value;
}

/** `escapeUnsafe` writes unsafe characters except line breaks and tabs the way JSON does (`\u202e`): lossless for JSON, legible elsewhere. */
export const escapeUnsafe = (text: string): string => (unsafe.test(text) ? text.replace(escaped, written) : text);

const written = (each: string): string =>
  Array.from({ length: each.length }, (_, index) => {
    return `\\u${each.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');
