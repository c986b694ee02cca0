/** The tokens as the parser takes them: one it wants, or one it did not expect and steps over. */
import type { Source } from '../source.ts';
import { Lexer, type TokenKind } from './lexer.ts';

const CLOSERS: ReadonlySet<TokenKind> = new Set([')', ']', '}', ',', ':', 'end']);

export class Tokens extends Lexer {
  readonly #report: (offset: number, message: string) => void;

  constructor(source: Source, report: (offset: number, message: string) => void) {
    super(source, report);
    this.#report = report;
  }

  /** Whether this token ends what stands before it. */
  closes(): boolean {
    return CLOSERS.has(this.kind);
  }

  /** Steps on and answers where the token was. */
  take(): number {
    const offset = this.start;
    this.next();
    return offset;
  }

  accept(kind: TokenKind): boolean {
    if (this.kind !== kind) return false;
    this.next();
    return true;
  }

  /** Takes `kind`; when something else is there, reports it and looks for `kind` before the next closing token. */
  expect(kind: TokenKind): void {
    if (this.accept(kind)) return;
    this.unexpected(`'${kind}'`);
    while (!this.closes()) this.next();
    this.accept(kind);
  }

  unexpected(expected: string): void {
    const found = this.kind === 'end' ? '<EOF>' : this.text.slice(0, 40);
    this.#report(this.start, `Syntax error: mismatched input '${found}' expecting ${expected}`);
    if (!this.closes()) this.next();
  }
}
