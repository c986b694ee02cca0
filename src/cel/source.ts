/** Positions in the source of an expression, and the issues that point at them. */

export interface Position {
  /** The UTF-16 offset. */
  readonly offset: number;
  /** The line, from 1. */
  readonly line: number;
  /** The column, from 1, in code points. */
  readonly column: number;
}

export type IssueCode =
  | 'syntax'
  | 'too_large'
  | 'too_deep'
  | 'undeclared_reference'
  | 'no_such_field'
  | 'no_such_overload'
  | 'type_mismatch'
  | 'invalid_literal'
  | 'unknown_type'
  | 'duplicate'
  | 'unsupported';

/** A compile-time issue of an expression. */
export interface Issue extends Position {
  readonly code: IssueCode;
  readonly message: string;
}

export class Source {
  readonly text: string;
  #lineStarts: number[] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  position(offset: number): Position {
    const starts = this.#lines();
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] as number) <= offset) low = middle;
      else high = middle - 1;
    }
    const start = starts[low] as number;
    return { offset, line: low + 1, column: [...this.text.slice(start, offset)].length + 1 };
  }

  issue(code: IssueCode, offset: number, message: string): Issue {
    return { code, message, ...this.position(offset) };
  }

  /** Returns the line of `offset` with a caret under it, like cel-go. */
  picture(offset: number): string {
    const { line, column } = this.position(offset);
    const starts = this.#lines();
    const end = starts[line] === undefined ? this.text.length : (starts[line] as number) - 1;
    let text = this.text.slice(starts[line - 1] as number, end).replaceAll('\t', ' ');
    let caret = column;
    // Only the part of a long line around the caret is shown, to limit the size of the message.
    if (text.length > 160) {
      const from = Math.max(0, caret - 80);
      text = `${from > 0 ? '…' : ''}${text.slice(from, from + 160)}…`;
      caret -= from > 0 ? from - 1 : 0;
    }
    return ` | ${text}\n | ${'.'.repeat(Math.max(0, caret - 1))}^`;
  }

  #lines(): number[] {
    if (this.#lineStarts === undefined) {
      this.#lineStarts = [0];
      for (let index = this.text.indexOf('\n'); index >= 0; index = this.text.indexOf('\n', index + 1)) {
        this.#lineStarts.push(index + 1);
      }
    }
    return this.#lineStarts;
  }
}

/** `formatIssues` writes issues as text: `ERROR: <input>:1:5: …`, each with its line and a caret. */
export function formatIssues(source: Source, issues: readonly Issue[], name = '<input>'): string {
  return issues
    .map((each) => `ERROR: ${name}:${each.line}:${each.column}: ${each.message}\n${source.picture(each.offset)}`)
    .join('\n');
}
