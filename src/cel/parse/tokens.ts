/** The token stream of the parser: it consumes expected tokens, and reports and skips unexpected ones. */
import type { Source } from '../source.ts';
import { Lexer, type TokenKind } from './lexer.ts';

const CLOSERS: ReadonlySet<TokenKind> = new Set([')', ']', '}', ',', ':', 'end']);

export class Tokens extends Lexer {
  readonly #report: (offset: number, message: string) => void;

  constructor(source: Source, report: (offset: number, message: string) => void) {
    super(source, report);
    this.#report = report;
  }

  /** Reports whether this token closes the preceding construct. */
  closes(): boolean {
    return CLOSERS.has(this.kind);
  }

  /** Consumes the token and returns its offset. */
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

  /** Consumes `kind`; reports any other token and searches for `kind` before the next closing token. */
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
