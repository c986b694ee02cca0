/**
 * Percent-encoding like Go's net/url. It works on byte strings, in which each character is one byte of the UTF-8 text,
 * because an escape need not encode a whole character.
 */
import { quote } from '../../go-text.ts';

/** A string in which every character is one byte. */
export type Bytes = string;

const BEYOND_ASCII = /[\u0080-\uffff]/;

export const toBytes = (text: string): Bytes =>
  BEYOND_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;

/** `fromBytes` decodes UTF-8. Invalid bytes become U+FFFD, because a string cannot hold them. */
export const fromBytes = (bytes: Bytes): string =>
  BEYOND_ASCII.test(bytes) ? Buffer.from(bytes, 'latin1').toString('utf8') : bytes;

const UTF8 = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|./gs;

/** Like `quote`, with invalid UTF-8 bytes escaped. */
export function quoteBytes(bytes: Bytes): string {
  const pieces = (bytes.match(UTF8) ?? []).map((piece) =>
    piece.length === 1 && piece > '\x7f'
      ? `\\x${piece.charCodeAt(0).toString(16)}`
      : quote(fromBytes(piece)).slice(1, -1),
  );
  return `"${pieces.join('')}"`;
}

type Part = 'path' | 'host' | 'zone' | 'user' | 'query' | 'fragment';

const UNRESERVED = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~';

/** The characters that need no escape, for each part of a URL. */
const ALLOWED: Readonly<Record<Part, ReadonlySet<string>>> = {
  path: new Set(`${UNRESERVED}$&+,/:;=@`),
  host: new Set(`${UNRESERVED}!$&'()*+,;=:[]<>"`),
  zone: new Set(`${UNRESERVED}!$&'()*+,;=:[]<>"`),
  user: new Set(`${UNRESERVED}$&+,;=`),
  query: new Set(UNRESERVED),
  fragment: new Set(`${UNRESERVED}$&+,/:;=?@!()*`),
};

export class UrlProblem {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

const badEscape = (text: string): UrlProblem => new UrlProblem(`invalid URL escape ${quoteBytes(text)}`);

const HEX_PAIR = /^[0-9a-fA-F]{2}$/;

export function decodePart(text: Bytes, part: Part): Bytes | UrlProblem {
  const inHost = part === 'host' || part === 'zone';
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '%') {
      const escaped = text.slice(at, at + 3);
      if (!HEX_PAIR.test(escaped.slice(1))) return badEscape(escaped);
      if (!mayBeEscaped(escaped, part)) return badEscape(escaped);
      at += 2;
    } else if (inHost && character < '\u0080' && !ALLOWED[part].has(character)) {
      return new UrlProblem(`invalid character ${quote(character)} in host name`);
    }
  }
  const spaced = part === 'query' ? text.replaceAll('+', ' ') : text;
  return spaced.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/**
 * In a host, only non-ASCII bytes (RFC 6874) and the percent sign may be escaped; in a zone, also the characters
 * allowed in a host.
 */
function mayBeEscaped(escaped: string, part: Part): boolean {
  if (escaped === '%25' || (part !== 'host' && part !== 'zone')) return true;
  const code = Number.parseInt(escaped.slice(1), 16);
  if (part === 'host') return code >= 0x80;
  const character = String.fromCharCode(code);
  return character === ' ' || ALLOWED.host.has(character);
}

export function encodePart(text: Bytes, part: Part): string {
  let escaped = '';
  for (const character of text) {
    if (ALLOWED[part].has(character)) escaped += character;
    else escaped += `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return escaped;
}

/** `isEncoded` reports whether `text` may be a valid encoding: it has no character that must be escaped. */
export function isEncoded(text: Bytes, part: Part): boolean {
  for (const character of text) {
    if (!ALLOWED[part].has(character) && !"!$&'()*+,;=:@[]%".includes(character)) return false;
  }
  return true;
}
