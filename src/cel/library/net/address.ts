/** Parses and formats IP addresses as bytes, like Go's net/netip. */
import { quote } from '../go-text.ts';

/** An address of four or sixteen bytes. */
interface Address {
  readonly bytes: Uint8Array;
  /** The zone after `%`, as in `fe80::1%eth0`; empty if there is none. */
  readonly zone: string;
}

/** `parseAddress` returns the address, or an error text. */
export function parseAddress(text: string): Address | string {
  for (const character of text) {
    if (character === '.') return parseVersion4(text);
    if (character === ':') return parseVersion6(text);
    if (character === '%') return problem(text, 'missing IPv6 address');
  }
  return problem(text, 'unable to parse IP');
}

function problem(text: string, message: string, at = ''): string {
  return `ParseAddr(${quote(text)}): ${message}${at === '' ? '' : ` (at ${quote(at)})`}`;
}

function parseVersion4(text: string): Address | string {
  const fields = parseFields(text, text);
  return typeof fields === 'string' ? fields : { bytes: Uint8Array.from(fields), zone: '' };
}

/** Parses the four numbers of `dotted`, which is all of `text` or its end. */
function parseFields(text: string, dotted: string): readonly number[] | string {
  const fields: number[] = [];
  let value = 0;
  let digits = 0;
  for (let at = 0; at < dotted.length; at++) {
    const code = dotted.charCodeAt(at);
    if (code >= 0x30 && code <= 0x39) {
      if (digits === 1 && value === 0) return problem(text, 'IPv4 field has octet with leading zero');
      value = value * 10 + code - 0x30;
      digits++;
      if (value > 255) return problem(text, 'IPv4 field has value >255');
    } else if (code === 0x2e) {
      if (digits === 0 || at === dotted.length - 1) {
        return problem(text, 'IPv4 field must have at least one digit', dotted.slice(at));
      }
      if (fields.length === 3) return problem(text, 'IPv4 address too long');
      fields.push(value);
      value = 0;
      digits = 0;
    } else return problem(text, 'unexpected character', dotted.slice(at));
  }
  return fields.length < 3 ? problem(text, 'IPv4 address too short') : [...fields, value];
}

function parseVersion6(text: string): Address | string {
  const percent = text.indexOf('%');
  const zone = percent < 0 ? '' : text.slice(percent + 1);
  if (percent >= 0 && zone === '') return problem(text, 'zone must be a non-empty string');
  const groups = new GroupReader(text, percent < 0 ? text : text.slice(0, percent));
  const failure = groups.read();
  return failure ?? { bytes: groups.bytes, zone };
}

const HEX_GROUP = /[0-9a-fA-F]*/y;

/** Reads the groups between colons into `bytes` and expands the `::`. */
class GroupReader {
  readonly bytes = new Uint8Array(16);
  readonly #text: string;
  #rest: string;
  #filled = 0;
  #ellipsis = -1;

  constructor(text: string, groups: string) {
    this.#text = text;
    this.#rest = groups;
  }

  read(): string | undefined {
    if (this.#rest.startsWith('::')) {
      this.#ellipsis = 0;
      this.#rest = this.#rest.slice(2);
      if (this.#rest === '') return undefined;
    }
    while (this.#filled < 16) {
      const step = this.#group();
      if (step === 'end') break;
      if (step !== undefined) return step;
    }
    if (this.#rest !== '') return problem(this.#text, 'trailing garbage after address', this.#rest);
    return this.#expand();
  }

  /** Reads one group and the colon after it; returns 'end' if nothing follows. */
  #group(): 'end' | string | undefined {
    HEX_GROUP.lastIndex = 0;
    const digits = HEX_GROUP.exec(this.#rest)?.[0] ?? '';
    if (digits.length > 4) return problem(this.#text, 'each group must have 4 or less digits', this.#rest);
    if (digits === '') {
      return problem(this.#text, 'each colon-separated field must have at least one digit', this.#rest);
    }
    if (this.#rest[digits.length] === '.') return this.#embedded();
    const value = Number.parseInt(digits, 16);
    this.bytes[this.#filled] = value >> 8;
    this.bytes[this.#filled + 1] = value & 0xff;
    this.#filled += 2;
    this.#rest = this.#rest.slice(digits.length);
    return this.#rest === '' ? 'end' : this.#separator();
  }

  #separator(): 'end' | string | undefined {
    if (this.#rest[0] !== ':') return problem(this.#text, 'unexpected character, want colon', this.#rest);
    if (this.#rest.length === 1) return problem(this.#text, 'colon must be followed by more characters', this.#rest);
    this.#rest = this.#rest.slice(1);
    if (this.#rest[0] !== ':') return undefined;
    if (this.#ellipsis >= 0) return problem(this.#text, 'multiple :: in address', this.#rest);
    this.#ellipsis = this.#filled;
    this.#rest = this.#rest.slice(1);
    return this.#rest === '' ? 'end' : undefined;
  }

  /** Reads the last four bytes in dotted form: `::ffff:1.2.3.4`. */
  #embedded(): 'end' | string {
    if (this.#ellipsis < 0 && this.#filled !== 12) {
      return problem(this.#text, 'embedded IPv4 address must replace the final 2 fields of the address', this.#rest);
    }
    if (this.#filled + 4 > 16) {
      return problem(this.#text, 'too many hex fields to fit an embedded IPv4 at the end of the address', this.#rest);
    }
    const fields = parseFields(this.#text, this.#rest);
    if (typeof fields === 'string') return fields;
    this.bytes.set(fields, this.#filled);
    this.#filled += 4;
    this.#rest = '';
    return 'end';
  }

  #expand(): string | undefined {
    if (this.#filled === 16) {
      if (this.#ellipsis < 0) return undefined;
      return problem(this.#text, 'the :: must expand to at least one field of zeros');
    }
    if (this.#ellipsis < 0) return problem(this.#text, 'address string too short');
    const moved = this.bytes.slice(this.#ellipsis, this.#filled);
    this.bytes.fill(0, this.#ellipsis);
    this.bytes.set(moved, 16 - moved.length);
    return undefined;
  }
}

export const isVersion4 = (bytes: Uint8Array): boolean => bytes.length === 4;

/** `isMapped` reports whether the bytes are in ::ffff:0:0/96, an IPv4-mapped IPv6 address. */
export function isMapped(bytes: Uint8Array): boolean {
  if (bytes.length !== 16 || bytes[10] !== 0xff || bytes[11] !== 0xff) return false;
  return bytes.subarray(0, 10).every((byte) => byte === 0);
}

/** `formatAddress` writes the canonical form; for IPv6 that is RFC 5952: longest run of zeros shortened, lower case. */
export function formatAddress(bytes: Uint8Array): string {
  if (isVersion4(bytes)) return bytes.join('.');
  if (isMapped(bytes)) return `::ffff:${bytes.subarray(12).join('.')}`;
  const groups = Array.from({ length: 8 }, (_, index) => groupAt(bytes, index));
  const zeros = longestZeros(groups);
  const hex = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(':');
  if (zeros === undefined) return hex(groups);
  return `${hex(groups.slice(0, zeros.start))}::${hex(groups.slice(zeros.end))}`;
}

export const groupAt = (bytes: Uint8Array, index: number): number =>
  ((bytes[2 * index] ?? 0) << 8) | (bytes[2 * index + 1] ?? 0);

/** Returns the first of the longest runs of two or more zeros. */
function longestZeros(groups: readonly number[]): { start: number; end: number } | undefined {
  let longest: { start: number; end: number } | undefined;
  for (let start = 0; start < groups.length; start++) {
    let end = start;
    while (end < groups.length && groups[end] === 0) end++;
    if (end - start >= 2 && (longest === undefined || end - start > longest.end - longest.start))
      longest = { start, end };
  }
  return longest;
}
