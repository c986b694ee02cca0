/**
 * Splits source text into tokens, one at a time. Invalid characters are reported and skipped, so that parsing can
 * continue.
 */
import type { Source } from '../source.ts';

export type TokenKind =
  | 'end'
  | 'identifier'
  | 'escaped'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'true'
  | 'false'
  | 'null'
  | 'in'
  | '=='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | '&&'
  | '||'
  | '['
  | ']'
  | '{'
  | '}'
  | '('
  | ')'
  | '.'
  | ','
  | '-'
  | '!'
  | '?'
  | ':'
  | '+'
  | '*'
  | '/'
  | '%';

const KEYWORDS: ReadonlyMap<string, TokenKind> = new Map([
  ['true', 'true'],
  ['false', 'false'],
  ['null', 'null'],
  ['in', 'in'],
]);

const SINGLE = '[]{}().,-!?:+*/%<>';
const IDENTIFIER = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /0x[0-9a-fA-F]+[uU]?|(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+/y;
const BLANK = /(?:[\t \r\n\f]+|\/\/[^\n]*)+/y;
const ESCAPED = /`[A-Za-z0-9_.\-/ ]+`/y;
const ESCAPE = String.raw`\\(?:[abfnrtv"'\\?\`]|[0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})`;
const STRING = new RegExp(
  [
    String.raw`[rR](?:"""[^]*?"""|'''[^]*?'''|"[^"\n\r]*"|'[^'\n\r]*')`,
    String.raw`"""(?:${ESCAPE}|[^\\])*?"""`,
    String.raw`'''(?:${ESCAPE}|[^\\])*?'''`,
    String.raw`"(?:${ESCAPE}|[^\\"\n\r])*"`,
    String.raw`'(?:${ESCAPE}|[^\\'\n\r])*'`,
  ].join('|'),
  'y',
);

/** A lexer is positioned before the first token until `next` is called. */
export class Lexer {
  kind: TokenKind = 'end';
  start = 0;
  end = 0;
  /** The end of the previous token. */
  previousEnd = 0;

  readonly #text: string;
  readonly #report: (offset: number, message: string) => void;

  constructor(source: Source, report: (offset: number, message: string) => void) {
    this.#text = source.text;
    this.#report = report;
  }

  get text(): string {
    return this.#text.slice(this.start, this.end);
  }

  next(): void {
    this.previousEnd = this.end;
    for (;;) {
      this.start = this.#match(BLANK, this.end) ?? this.end;
      if (this.start >= this.#text.length) {
        this.kind = 'end';
        this.end = this.start;
        return;
      }
      const kind = this.#token(this.#text.charCodeAt(this.start));
      if (kind !== undefined) {
        this.kind = kind;
        return;
      }
      this.#skip();
    }
  }

  /** Reports whether a number follows the current token: this distinguishes the literal `-1` from the call `-x`. */
  numberFollows(): boolean {
    const at = this.#match(BLANK, this.end) ?? this.end;
    return this.#match(NUMBER, at) !== undefined;
  }

  #token(code: number): TokenKind | undefined {
    const text = this.#text;
    const start = this.start;
    if (isLetter(code)) {
      const quoted = this.#quoted(start, code);
      if (quoted !== undefined) return quoted;
      this.end = this.#match(IDENTIFIER, start) ?? start;
      return KEYWORDS.get(text.slice(start, this.end)) ?? 'identifier';
    }
    if (isDigit(code) || (code === 0x2e && isDigit(text.charCodeAt(start + 1)))) return this.#number();
    if (code === 0x22 || code === 0x27) return this.#string(start, 'string');
    if (code === 0x60) {
      const end = this.#match(ESCAPED, start);
      if (end === undefined) return undefined;
      this.end = end;
      return 'escaped';
    }
    const two = text.slice(start, start + 2);
    if (two === '==' || two === '!=' || two === '<=' || two === '>=' || two === '&&' || two === '||') {
      this.end = start + 2;
      return two;
    }
    const one = text.charAt(start);
    if (!SINGLE.includes(one)) return undefined;
    this.end = start + 1;
    return one as TokenKind;
  }

  /** Reads a string with a prefix: r, b or br, in either case. */
  #quoted(start: number, code: number): TokenKind | undefined {
    const lower = code | 0x20;
    if (lower === 0x62) {
      const next = this.#text.charCodeAt(start + 1);
      if (isQuote(next)) return this.#string(start + 1, 'bytes');
      if ((next | 0x20) === 0x72 && isQuote(this.#text.charCodeAt(start + 2))) return this.#string(start + 1, 'bytes');
    }
    return lower === 0x72 && isQuote(this.#text.charCodeAt(start + 1)) ? this.#string(start, 'string') : undefined;
  }

  #string(from: number, kind: TokenKind): TokenKind | undefined {
    const end = this.#match(STRING, from);
    if (end === undefined) return undefined;
    this.end = end;
    return kind;
  }

  #number(): TokenKind {
    const text = this.#text;
    let end = this.#match(NUMBER, this.start) ?? this.start + 1;
    let kind: TokenKind = 'int';
    if (text.charCodeAt(this.start + 1) === 0x78) {
      if ((text.charCodeAt(end - 1) | 0x20) === 0x75) kind = 'uint';
    } else if (/[.eE]/.test(text.slice(this.start, end))) {
      kind = 'double';
    } else if ((text.charCodeAt(end) | 0x20) === 0x75) {
      kind = 'uint';
      end++;
    }
    this.end = end;
    return kind;
  }

  /** Skips invalid text: to the end of the line after an unterminated quote, else one code point. */
  #skip(): void {
    const text = this.#text;
    const code = text.charCodeAt(this.start);
    let end = this.start + ((text.codePointAt(this.start) ?? 0) > 0xffff ? 2 : 1);
    if (isQuote(code) || isLetter(code)) {
      const line = text.indexOf('\n', this.start);
      end = line < 0 ? text.length : line;
    }
    const shown = text.slice(this.start, Math.min(end, this.start + 40));
    this.#report(this.start, `Syntax error: token recognition error at: '${shown}'`);
    this.end = end;
  }

  #match(pattern: RegExp, at: number): number | undefined {
    pattern.lastIndex = at;
    return pattern.test(this.#text) ? pattern.lastIndex : undefined;
  }
}

const isQuote = (code: number): boolean => code === 0x22 || code === 0x27;
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isLetter = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f;
