/**
 * Indents the continuation lines of quoted scalars. Go's YAML parser, and so kubectl, accepts any indentation there, unlike the YAML
 * specification. Indenting them does not change the value, because leading spaces of continuation lines are ignored.
 */

/** Matches everything before a value on its line: indentation, dashes, a key, an anchor or a tag. */
const BEFORE_VALUE =
  /^((?: |- +)*)((?:[^\s"'#&!|>\-[\]{},][^"'#]*?|"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')[ \t]*:[ \t]+)?(?:[&!]\S+[ \t]+)*/;
const BLOCK = /^[|>][-+0-9]*[ \t]*(?:#.*)?$/;

/** `indentedQuotes` returns the text with such lines indented; the number of lines does not change. */
export function indentedQuotes(text: string): string {
  const lines = text.split('\n');
  /** The indentation of the parent of a block scalar: lines with more indentation are part of the scalar. */
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

/** `closing` returns the last line of a quoted scalar; its first line if the closing quote is missing. */
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
