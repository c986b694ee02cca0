/** Converts the text of a literal to its value, or to an error. */

import { double, INT_MAX, INT_MIN, int, UINT_MAX, uint, type Value } from '../values.ts';
import type { TokenKind } from './lexer.ts';

export class LiteralError {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

/** `literalValue` returns undefined for a token that is not a literal. */
export function literalValue(kind: TokenKind, text: string, negative: boolean): Value | LiteralError | undefined {
  switch (kind) {
    case 'int':
      return intLiteral(text, negative);
    case 'double':
      return doubleLiteral(text, negative);
    case 'uint':
      return negative ? undefined : uintLiteral(text);
    case 'string':
      return stringLiteral(text);
    case 'bytes':
      return bytesLiteral(text.slice(1));
    case 'true':
      return true;
    case 'false':
      return false;
    case 'null':
      return null;
    default:
      return undefined;
  }
}

function intLiteral(text: string, negative: boolean): Value | LiteralError {
  if (text.length < 16 && !text.startsWith('0x')) {
    const number = Number(text);
    return negative && number !== 0 ? -number : number;
  }
  const magnitude = BigInt(text);
  const value = negative ? -magnitude : magnitude;
  return value < INT_MIN || value > INT_MAX ? new LiteralError('invalid int literal') : (int(value) as Value);
}

function uintLiteral(text: string): Value | LiteralError {
  const value = BigInt(text.slice(0, -1));
  return value > UINT_MAX ? new LiteralError('invalid uint literal') : (uint(value) as Value);
}

function doubleLiteral(text: string, negative: boolean): Value | LiteralError {
  const value = Number(text);
  if (!Number.isFinite(value)) return new LiteralError('invalid double literal');
  return double(negative ? -value : value);
}

const SIMPLE: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '`': '`',
  '?': '?',
};

/** Decodes `text` with its quotes and prefix `r`; the lexer guarantees matching quotes and complete escapes. */
function stringLiteral(text: string): string | LiteralError {
  const { body, raw } = unquote(text);
  if (raw || !body.includes('\\')) return body;
  let result = '';
  for (let index = 0; index < body.length; ) {
    const backslash = body.indexOf('\\', index);
    if (backslash < 0) return result + body.slice(index);
    result += body.slice(index, backslash);
    const sequence = readEscape(body, backslash);
    if (sequence.code > 0x10ffff || (sequence.code >= 0xd800 && sequence.code <= 0xdfff)) {
      return new LiteralError('invalid unicode code point');
    }
    result += String.fromCodePoint(sequence.code);
    index = sequence.end;
  }
  return result;
}

/** Like `stringLiteral`; octal and hex escapes are bytes, \u and \U are invalid. */
function bytesLiteral(text: string): Uint8Array | LiteralError {
  const { body, raw } = unquote(text);
  if (raw || !body.includes('\\')) return encode(body);
  const parts: Uint8Array[] = [];
  for (let index = 0; index < body.length; ) {
    const backslash = body.indexOf('\\', index);
    if (backslash < 0) {
      parts.push(encode(body.slice(index)));
      break;
    }
    parts.push(encode(body.slice(index, backslash)));
    const letter = body.charAt(backslash + 1);
    if (letter === 'u' || letter === 'U') return new LiteralError('unable to unescape string');
    const sequence = readEscape(body, backslash);
    parts.push(Uint8Array.of(sequence.code));
    index = sequence.end;
  }
  return new Uint8Array(Buffer.concat(parts));
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function unquote(text: string): { body: string; raw: boolean } {
  const normal = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  const raw = normal.startsWith('r') || normal.startsWith('R');
  const quoted = raw ? normal.slice(1) : normal;
  const triple = quoted.length >= 6 && (quoted.startsWith('"""') || quoted.startsWith("'''"));
  return { body: triple ? quoted.slice(3, -3) : quoted.slice(1, -1), raw };
}

function readEscape(body: string, backslash: number): { code: number; end: number } {
  const letter = body.charAt(backslash + 1);
  const simple = SIMPLE[letter];
  if (simple !== undefined) return { code: simple.charCodeAt(0), end: backslash + 2 };
  if (letter >= '0' && letter <= '3') {
    return { code: Number.parseInt(body.slice(backslash + 1, backslash + 4), 8), end: backslash + 4 };
  }
  const length = letter === 'u' ? 4 : letter === 'U' ? 8 : 2;
  const end = backslash + 2 + length;
  return { code: Number.parseInt(body.slice(backslash + 2, end), 16), end };
}
