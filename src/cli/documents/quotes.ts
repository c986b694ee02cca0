/**
 * What Go's YAML takes, and with it kubectl, and YAML itself does not: the later lines of a quoted text may begin anywhere there. Moved to
 * the right they say the same, since what a line of quoted text begins with does not count.
 */

/** What comes before a value on its line: indentation, dashes, a key, an anchor or a tag. */
const BEFORE_VALUE =
  /^((?: |- +)*)((?:[^\s"'#&!|>\-[\]{},][^"'#]*?|"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')[ \t]*:[ \t]+)?(?:[&!]\S+[ \t]+)*/;
const BLOCK = /^[|>][-+0-9]*[ \t]*(?:#.*)?$/;

/** The text with each such line moved; the same where there is none. Lines stay lines. */
export function indentedQuotes(text: string): string {
  const lines = text.split('\n');
  /** Of a block of literal text, how far whatever is around it begins: more to the right is a part of it. */
  let around = Number.POSITIVE_INFINITY;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (line.trim() === '' || indentOf(line) > around) continue;
    around = Number.POSITIVE_INFINITY;
    const [before = '', indent = '', key] = BEFORE_VALUE.exec(line) ?? [];
    const value = line.slice(before.length);
    if (BLOCK.test(value)) around = key === undefined ? indent.length - 1 : indent.length;
    const quote = value[0];
    if (quote !== '"' && quote !== "'") continue;
    const end = closing(lines, at, before.length + 1, quote);
    for (let inside = at + 1; inside <= end; inside++) {
      lines[inside] = movedTo(indent.length + 1, lines[inside] ?? '');
    }
    at = Math.max(at, end);
  }
  return lines.join('\n');
}

const indentOf = (line: string): number => line.length - line.trimStart().length;

const movedTo = (column: number, line: string): string =>
  line.trim() === '' || indentOf(line) >= column ? line : `${' '.repeat(column)}${line.trimStart()}`;

/** The line that a quoted text ends on; the one it begins on where it never does. */
function closing(lines: readonly string[], first: number, from: number, quote: '"' | "'"): number {
  let at = from;
  for (let row = first; row < lines.length; row++, at = 0) {
    const line = lines[row] ?? '';
    for (; at < line.length; at++) {
      const isEscaped = quote === '"' ? line[at] === '\\' : line[at] === "'" && line[at + 1] === "'";
      if (isEscaped) at++;
      else if (line[at] === quote) return row;
    }
  }
  return first;
}
