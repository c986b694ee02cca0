/** Text functions of Go's standard library, for error messages and results that must be identical. */

// The characters of unicode.IsSpace; JavaScript's trim() differs in U+0085 and U+FEFF.
const LEADING_SPACE = /^[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
const SPACE = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

/** `trimSpace` is Go's strings.TrimSpace. */
export function trimSpace(text: string): string {
  const start = LEADING_SPACE.exec(text)?.[0].length ?? 0;
  let end = text.length;
  while (end > start && SPACE.test(text.charAt(end - 1))) end--;
  return text.slice(start, end);
}

const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** The single-letter escapes, which CEL has too. */
export const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

/** `quote` is Go's strconv.Quote. */
export function quote(text: string): string {
  let quoted = '"';
  for (const character of text) quoted += quotedCharacter(character);
  return `${quoted}"`;
}

function quotedCharacter(character: string): string {
  const short = SHORT_ESCAPES[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0x20 && code < 0x7f) return character;
  if (code < 0x20 || code === 0x7f) return `\\x${hex(code, 2)}`;
  // Go cannot represent a lone surrogate; its text would have the replacement character instead.
  if (code >= 0xd800 && code <= 0xdfff) return '\ufffd';
  if (PRINTABLE.test(character)) return character;
  return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
}

const hex = (code: number, width: number): string => code.toString(16).padStart(width, '0');
