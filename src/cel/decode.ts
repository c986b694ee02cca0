/**
 * Decodes JSON text to values and keeps what JSON.parse loses: integers past 2^53 stay exact, and `1.0` stays a double.
 * JSON.parse decodes text that has neither.
 */
import { setOwn } from './map.ts';
import { double, INT_MAX, INT_MIN, int, type Value } from './values.ts';

export interface DecodeOptions {
  /** The maximum nesting depth of lists and maps; 1,000 by default. */
  readonly maxDepth?: number;
}

export class DecodeError extends Error {
  /** A stable code for programs. */
  readonly code = 'invalid_json';
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(`${message} at offset ${offset}`);
    this.offset = offset;
  }
}

const MAX_DEPTH = 1000;

/** `decodeJson` parses JSON text into CEL values. It throws a DecodeError for invalid or too deeply nested text. */
export function decodeJson(text: string, options: DecodeOptions = {}): Value {
  const maxDepth = options.maxDepth ?? MAX_DEPTH;
  if (NEEDS_CARE.test(text) || text.includes('__proto__') || mayNestDeeper(text, maxDepth)) {
    return new Decoder(text, maxDepth).run();
  }
  try {
    return JSON.parse(text) as Value;
  } catch {
    // Our own parser reports the position.
    return new Decoder(text, maxDepth).run();
  }
}

/**
 * Matches numbers that JSON.parse would not preserve: a fraction of zeros, an exponent, fifteen digits and more. A
 * false match inside a string only selects the slower parser.
 */
const NEEDS_CARE = /(?:^|[:,[\s])-?(?:[0-9]{15}|[0-9]+(?:\.0+(?![0-9])|(?:\.[0-9]+)?[eE]))/;

/**
 * Reports whether there are more opening brackets than the allowed depth, including brackets in strings: counting is
 * cheaper than parsing.
 */
function mayNestDeeper(text: string, maxDepth: number): boolean {
  let count = 0;
  for (const bracket of ['{', '[']) {
    for (let index = text.indexOf(bracket); index >= 0; index = text.indexOf(bracket, index + 1)) {
      if (++count > maxDepth) return nestsDeeper(text, maxDepth);
    }
  }
  return false;
}

function nestsDeeper(text: string, maxDepth: number): boolean {
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (quoted) {
      if (code === 0x5c) index++;
      else if (code === 0x22) quoted = false;
    } else if (code === 0x22) quoted = true;
    else if (code === 0x7b || code === 0x5b) {
      if (++depth > maxDepth) return true;
    } else if (code === 0x7d || code === 0x5d) depth--;
  }
  return false;
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids control characters in strings
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

class Decoder {
  readonly #text: string;
  readonly #maxDepth: number;
  #at = 0;
  #depth = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  run(): Value {
    const value = this.#value();
    this.#skip();
    if (this.#at < this.#text.length) throw this.#error('unexpected text after the value');
    return value;
  }

  #value(): Value {
    this.#skip();
    switch (this.#text[this.#at]) {
      case '{':
        return this.#map();
      case '[':
        return this.#list();
      case '"':
        return this.#string();
      case 't':
        return this.#word('true', true);
      case 'f':
        return this.#word('false', false);
      case 'n':
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #map(): Value {
    const made: Record<string, Value> = {};
    this.#open();
    if (!this.#accept('}')) {
      do {
        this.#skip();
        if (this.#text[this.#at] !== '"') throw this.#error('expected a key');
        const key = this.#string();
        this.#skip();
        if (!this.#accept(':')) throw this.#error("expected ':'");
        setOwn(made, key, this.#value());
        this.#skip();
      } while (this.#accept(','));
      if (!this.#accept('}')) throw this.#error("expected ',' or '}'");
    }
    this.#depth--;
    return made;
  }

  #list(): Value {
    const made: Value[] = [];
    this.#open();
    if (!this.#accept(']')) {
      do {
        made.push(this.#value());
        this.#skip();
      } while (this.#accept(','));
      if (!this.#accept(']')) throw this.#error("expected ',' or ']'");
    }
    this.#depth--;
    return made;
  }

  #open(): void {
    if (++this.#depth > this.#maxDepth) throw this.#error(`nested deeper than ${this.#maxDepth}`);
    this.#at++;
    this.#skip();
  }

  #string(): string {
    const text = this.#match(STRING);
    if (text === undefined) throw this.#error('invalid string');
    return text.includes('\\') ? (JSON.parse(text) as string) : text.slice(1, -1);
  }

  #number(): Value {
    NUMBER.lastIndex = this.#at;
    const match = NUMBER.exec(this.#text);
    if (match === null) throw this.#error('expected a value');
    this.#at = NUMBER.lastIndex;
    const [text, fraction, exponent] = match;
    if (fraction !== undefined || exponent !== undefined) {
      if (!Number.isFinite(Number(text))) throw this.#error('number out of range');
      return double(Number(text));
    }
    if (text.length < 16) return Number(text) + 0;
    const big = BigInt(text);
    // As in Kubernetes, a number that does not fit int64 is a double.
    return big < INT_MIN || big > INT_MAX ? double(Number(text)) : (int(big) as Value);
  }

  #word(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#at)) throw this.#error('expected a value');
    this.#at += word.length;
    return value;
  }

  #accept(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #skip(): void {
    const code = this.#text.charCodeAt(this.#at);
    if (code > 0x20) return;
    SPACE.lastIndex = this.#at;
    SPACE.test(this.#text);
    this.#at = SPACE.lastIndex;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return undefined;
    const text = this.#text.slice(this.#at, pattern.lastIndex);
    this.#at = pattern.lastIndex;
    return text;
  }

  #error(message: string): DecodeError {
    return new DecodeError(message, this.#at);
  }
}
