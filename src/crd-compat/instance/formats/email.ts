/**
 * Email addresses of RFC 5322 as Go's net/mail parses them: `ann@example.com`, `Ann <ann@example.com>`, `"a
 * b"@[127.0.0.1] (note)`.
 */
import { parseAddress } from '../../../cel/internal.ts';

export function isEmail(text: string): boolean {
  const reader = new Reader(text);
  const found = reader.address(true);
  return found === 1 && reader.skipComments() && reader.atEnd;
}

const SPECIALS = new Set('()<>[]:;@\\,"');
const isVisible = (character: string): boolean => character > ' ' && character !== '\u007f';
const isAtomText = (character: string): boolean => isVisible(character) && !SPECIALS.has(character);
const isBlank = (character: string): boolean => character === ' ' || character === '\t';

class Reader {
  readonly #characters: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#characters = [...text];
  }

  get atEnd(): boolean {
    return this.#at >= this.#characters.length;
  }

  get #next(): string {
    return this.#characters[this.#at] ?? '';
  }

  #take(character: string): boolean {
    if (this.#next !== character) return false;
    this.#at++;
    return true;
  }

  #skipBlanks(): void {
    while (isBlank(this.#next)) this.#at++;
  }

  /** The number of mailboxes that an address stands for; undefined if it is invalid. */
  address(groups: boolean): number | undefined {
    this.#skipBlanks();
    if (this.atEnd) return undefined;
    if (this.#mailbox()) {
      this.#skipBlanks();
      return this.#take('(') && !this.#comment() ? undefined : 1;
    }
    if (this.#next !== '<' && !this.#phrase()) return undefined;
    this.#skipBlanks();
    if (groups && this.#take(':')) return this.#group();
    return this.#take('<') && this.#mailbox() && this.#take('>') ? 1 : undefined;
  }

  #group(): number | undefined {
    this.#skipBlanks();
    if (this.#take(';')) return this.skipComments() ? 0 : undefined;
    for (let count = 0; ; ) {
      const found = this.address(false);
      if (found === undefined || !this.skipComments()) return undefined;
      count += found;
      if (this.#take(';')) return this.skipComments() ? count : undefined;
      if (!this.#take(',')) return undefined;
    }
  }

  /** Parses `local@domain`, and consumes nothing if there is none. */
  #mailbox(): boolean {
    const start = this.#at;
    this.#skipBlanks();
    const local = this.#next === '"' ? (this.#quoted() ?? 0) > 0 : this.#atom(false);
    if (local && this.#take('@')) {
      this.#skipBlanks();
      if (this.#next === '[' ? this.#literal() : this.#atom(false)) return true;
    }
    this.#at = start;
    return false;
  }

  /** Parses one or more words, which may contain dots anywhere. */
  #phrase(): boolean {
    let words = 0;
    for (;;) {
      if (words > 0 && !this.skipComments()) return false;
      this.#skipBlanks();
      if (this.atEnd) return true;
      const read = this.#next === '"' ? this.#quoted() !== undefined : this.#atom(true);
      if (!read) return words > 0;
      words++;
    }
  }

  #atom(anyDots: boolean): boolean {
    const start = this.#at;
    while (isAtomText(this.#next)) this.#at++;
    if (this.#at === start) return false;
    const atom = this.#characters.slice(start, this.#at).join('');
    return anyDots || !(atom.startsWith('.') || atom.endsWith('.') || atom.includes('..'));
  }

  /** The length of a quoted string; undefined if it does not end or contains a character that must not be quoted. */
  #quoted(): number | undefined {
    const start = this.#at;
    this.#at++;
    for (let length = 0; !this.atEnd; length++) {
      if (this.#take('"')) return length;
      this.#take('\\');
      if (!isVisible(this.#next) && !isBlank(this.#next)) break;
      this.#at++;
    }
    this.#at = start;
    return undefined;
  }

  /** Parses a domain literal such as `[127.0.0.1]`. */
  #literal(): boolean {
    this.#at++;
    const start = this.#at;
    while (!this.atEnd && this.#next !== ']') this.#at++;
    const address = parseAddress(this.#characters.slice(start, this.#at).join(''));
    return this.#take(']') && typeof address !== 'string' && address.zone === '';
  }

  skipComments(): boolean {
    this.#skipBlanks();
    while (this.#take('(')) {
      if (!this.#comment()) return false;
      this.#skipBlanks();
    }
    return true;
  }

  /** Parses the rest of a comment, with nested comments. */
  #comment(): boolean {
    let depth = 1;
    while (!this.atEnd && depth > 0) {
      if (this.#next === '\\' && this.#at + 1 < this.#characters.length) this.#at++;
      else if (this.#next === '(') depth++;
      else if (this.#next === ')') depth--;
      this.#at++;
    }
    return depth === 0;
  }
}
