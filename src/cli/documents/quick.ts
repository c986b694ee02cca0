/**
 * The YAML that manifests are mostly written in, read about ten times as fast as by a full parser: block maps and lists, plain and
 * quoted words, flow collections on one line, literal blocks, and JSON. Anything else (anchors, tags, folded text, words over several
 * lines, a key that comes twice, whatever is not YAML at all) is not read here: the answer is `unusual`, and a full parser has the
 * word. So this reader never has to explain what is wrong, and must never read something that the other would read differently.
 */
import { notJson, plainScalar } from './scalar.ts';

export const unusual: unique symbol = Symbol('for a full parser');

/** One document, with the `---` before it if there is one; null where it is empty. */
export function readQuickly(text: string): unknown {
  if (UNREADABLE.test(text)) return unusual;
  try {
    reader.begin(text);
    return reader.document();
  } catch (error) {
    if (error === unusual) return unusual;
    throw error;
  } finally {
    reader.begin('');
  }
}

type Fields = Record<string, unknown>;

const MAX_DEPTH = 100;
// biome-ignore lint/suspicious/noControlCharactersInRegex: YAML forbids most of them, and tabs and carriage returns have rules of their own
const UNREADABLE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff]/;
/** A key: a word, or quoted without escapes; then a colon, and a space or the end of the line. */
const KEY = /(?:([A-Za-z0-9_./-]+)|"([^"\\\n]*)"|'([^'\n]*)') *:(?=[ \n]|$)/y;
const DOUBLE_QUOTED = /"(?:[^"\\\n]|\\["\\/bfnrt_]|\\u[0-9a-fA-F]{4})*"/y;
const SINGLE_QUOTED = /'((?:[^'\n]|'')*)'/y;
/** A word inside a flow collection: no indicator in it but a colon that something follows. */
const FLOW_WORD = /(?:[A-Za-z0-9_./+~]|-(?=[A-Za-z0-9_./]))(?:[^,[\]{}:#"'&*!|>%@`?\n]|:(?=[^\s,[\]{}]))*/y;
const FLOW_KEY = /(?:([A-Za-z0-9_./-]+) *:(?=[ \n])|"([^"\\\n]*)"[ \n]*:|'([^'\n]*)' *:(?=[ \n]))/y;
const REST_OF_LINE = / *(?:(?<= )#[^\n]*)?(?=\n|$)/y;
const LITERAL = /\|(-?) *(?:(?<= )#[^\n]*)?(?=\n|$)/y;

const [LINE, SPACE, HASH, DASH, COLON, QUESTION, BAR] = [...'\n #-:?|'].map((each) => each.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];

/** For each character of ASCII, whether it is one of these. */
function oneOf(characters: string): Uint8Array {
  const found = new Uint8Array(128);
  for (const each of characters) found[each.charCodeAt(0)] = 1;
  return found;
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** What the words of `KEY` are made of, and the ones among them that cannot be anything but a name. */
const IN_KEY = oneOf(`${LETTERS}0123456789_./-`);
const OPENS_KEY = oneOf(LETTERS);
/** What no plain word begins with. */
const INDICATOR = oneOf(',[]{}#&*!|>\'"%@`');

/** A power of two. */
const KEYS = 256;

class Reader {
  #text = '';
  /** Where reading goes on within the line. */
  #at = 0;
  /** Column at which the rest of the line begins; -1 at the end. A map inside `- ` begins in the middle of a line. */
  #indent = -1;
  #depth = 0;
  /** Keys that came before, by a sum of their characters: most come again and again, and need not be cut out of the text anew. */
  readonly #keys = new Array<string | undefined>(KEYS).fill(undefined);

  begin(text: string): void {
    this.#text = text;
    this.#at = 0;
    this.#indent = -1;
    this.#depth = 0;
    this.#keys.fill(undefined);
  }

  document(): unknown {
    if (this.#text.startsWith('---')) {
      this.#at = 3;
      this.#endLine();
    } else this.#toContent();
    if (this.#indent < 0) return null;
    const first = this.#text[this.#at];
    const value = first === '{' || first === '[' ? this.#rootFlow() : this.#block();
    if (this.#indent >= 0) throw unusual;
    return value;
  }

  #block(): unknown {
    if (++this.#depth > MAX_DEPTH) throw unusual;
    const value = this.#isItem() ? this.#list(this.#indent) : this.#map(this.#indent);
    this.#depth--;
    return value;
  }

  #map(indent: number): Fields {
    const made: Fields = {};
    let count = 0;
    while (this.#indent === indent && !this.#isItem()) {
      const key = this.#plainKey() ?? this.#key(KEY);
      if (key === undefined) throw unusual;
      made[key] = this.#value(indent, true);
      count++;
    }
    // Fewer where a key came twice.
    if (this.#indent >= indent || Object.keys(made).length !== count) throw unusual;
    return made;
  }

  #list(indent: number): unknown[] {
    const made: unknown[] = [];
    while (this.#indent === indent && this.#isItem()) {
      this.#at++;
      made.push(this.#item(indent));
    }
    if (this.#indent > indent) throw unusual;
    return made;
  }

  /** After the dash. */
  #item(indent: number): unknown {
    const start = this.#at;
    while (this.#text.charCodeAt(this.#at) === SPACE) this.#at++;
    if (this.#isItem() || this.#isKey()) {
      this.#indent = indent + 1 + this.#at - start;
      return this.#block();
    }
    this.#at = start;
    return this.#value(indent, false);
  }

  /** After the colon of a key or the dash of an item, in a collection that begins at `indent`. */
  #value(indent: number, ofKey: boolean): unknown {
    if (this.#text.charCodeAt(this.#at) === LINE || this.#matches(REST_OF_LINE)) {
      this.#toNextLine();
      if (this.#indent > indent) return this.#block();
      return ofKey && this.#indent === indent && this.#isItem() ? this.#list(indent) : null;
    }
    while (this.#text.charCodeAt(this.#at) === SPACE) this.#at++;
    if (this.#text.charCodeAt(this.#at) === BAR) return this.#literal(indent);
    const value = this.#inline();
    if (this.#text.charCodeAt(this.#at) === LINE) this.#toNextLine();
    else this.#endLine();
    // What goes on in the next line is no single word.
    if (this.#indent > indent) throw unusual;
    return value;
  }

  #inline(): unknown {
    switch (this.#text[this.#at]) {
      case '"':
      case "'":
        return this.#quoted();
      case '{':
      case '[':
        return this.#flow(false);
      default:
        return this.#plain();
    }
  }

  /** To the end of the line, or to a comment. */
  #plain(): unknown {
    const text = this.#text;
    const start = this.#at;
    const first = text.charCodeAt(start);
    if (INDICATOR[first] === 1) throw unusual;
    let at = start;
    let before = 0;
    let code = first;
    while (at < text.length && code !== LINE && !(code === HASH && before === SPACE)) {
      at++;
      before = code;
      code = text.charCodeAt(at);
      // A colon that nothing follows makes it a key, as a dash or a question mark at the beginning makes it something else.
      const opens = before === COLON || (at === start + 1 && (before === DASH || before === QUESTION));
      if (opens && (code === SPACE || code === LINE || at >= text.length)) throw unusual;
    }
    this.#at = at;
    const word = text.slice(start, at);
    return known(plainScalar(before === SPACE ? word.trimEnd() : word));
  }

  #quoted(): string {
    if (this.#text[this.#at] === '"') {
      const quoted = this.#taken(DOUBLE_QUOTED);
      return quoted.includes('\\') ? unescaped(quoted) : quoted.slice(1, -1);
    }
    return this.#taken(SINGLE_QUOTED).slice(1, -1).replaceAll("''", "'");
  }

  /** Lines of text as they are, from the next line on. */
  #literal(indent: number): string {
    LITERAL.lastIndex = this.#at;
    const header = LITERAL.exec(this.#text);
    if (header === null) throw unusual;
    this.#at = LITERAL.lastIndex;
    const lines: string[] = [];
    let margin = -1;
    let start = this.lineEnd + 1;
    while (start <= this.#text.length) {
      const end = this.#endOf(start);
      let content = start;
      while (this.#text.charCodeAt(content) === SPACE) content++;
      if (content >= end) {
        // Before the first line of text, a blank one that is longer is a mistake; after it, its spaces count.
        if (margin < 0 && content > start) throw unusual;
        lines.push(margin < 0 ? '' : this.#text.slice(start + margin, end));
      } else {
        if (margin < 0 && content - start > indent) margin = content - start;
        if (content - start < margin || margin < 0) {
          if (content - start > indent) throw unusual;
          break;
        }
        lines.push(this.#text.slice(start + margin, end));
      }
      start = end + 1;
    }
    if (margin < 0) throw unusual;
    this.#at = Math.min(start, this.#text.length);
    this.#toContent();
    // Blank lines at the end fall away, unless they hold spaces of their own: those are text.
    while (lines.at(-1) === '') lines.pop();
    return `${lines.join('\n')}${header[1] === '-' ? '' : '\n'}`;
  }

  #rootFlow(): unknown {
    const value = this.#flow(true);
    this.#endLine();
    return value;
  }

  /** A collection in brackets; over several lines only where nothing is around it, because otherwise indentation counts. */
  #flow(overLines: boolean): unknown {
    if (++this.#depth > MAX_DEPTH) throw unusual;
    const value = this.#text[this.#at] === '{' ? this.#flowMap(overLines) : this.#flowList(overLines);
    this.#depth--;
    return value;
  }

  #flowMap(overLines: boolean): Fields {
    const made: Fields = {};
    this.#open(overLines);
    if (this.#accept('}')) return made;
    do {
      this.#space(overLines);
      const key = this.#key(FLOW_KEY);
      if (key === undefined || Object.hasOwn(made, key)) throw unusual;
      this.#space(overLines);
      made[key] = this.#flowValue(overLines);
      this.#space(overLines);
    } while (this.#accept(','));
    if (!this.#accept('}')) throw unusual;
    return made;
  }

  #flowList(overLines: boolean): unknown[] {
    const made: unknown[] = [];
    this.#open(overLines);
    if (this.#accept(']')) return made;
    do {
      this.#space(overLines);
      made.push(this.#flowValue(overLines));
      this.#space(overLines);
    } while (this.#accept(','));
    if (!this.#accept(']')) throw unusual;
    return made;
  }

  #flowValue(overLines: boolean): unknown {
    const first = this.#text[this.#at];
    if (first === '{' || first === '[') return this.#flow(overLines);
    if (first === '"' || first === "'") return this.#quoted();
    const word = this.#taken(FLOW_WORD);
    // The same rule as for plain words: a comment may follow a space.
    if (this.#text[this.#at] === '#') throw unusual;
    return known(plainScalar(word.trimEnd()));
  }

  /** A key as nearly all are: a word of its own, and the colon right after it. */
  #plainKey(): string | undefined {
    const text = this.#text;
    const start = this.#at;
    if (OPENS_KEY[text.charCodeAt(start)] !== 1) return undefined;
    let end = start;
    let sum = 0;
    for (let code = text.charCodeAt(start); IN_KEY[code] === 1; code = text.charCodeAt(end)) {
      sum = (sum * 31 + code) | 0;
      end++;
    }
    const next = text.charCodeAt(end + 1);
    if (text.charCodeAt(end) !== COLON || (next !== SPACE && next !== LINE)) return undefined;
    const known = this.#keys[sum & (KEYS - 1)];
    if (known !== undefined && known.length === end - start && text.startsWith(known, start)) {
      this.#at = end + 1;
      return known;
    }
    const key = text.slice(start, end);
    if (plainScalar(key) !== key) return undefined;
    this.#keys[sum & (KEYS - 1)] = key;
    this.#at = end + 1;
    return key;
  }

  #isKey(): boolean {
    KEY.lastIndex = this.#at;
    return KEY.test(this.#text);
  }

  #key(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text);
    if (match === null) return undefined;
    this.#at = pattern.lastIndex;
    const key = match[1] ?? match[2] ?? match[3] ?? '';
    // A word that means a number or a truth is a key of another name; the rest are not safe as names of fields.
    if (key === '__proto__' || (match[1] !== undefined && (plainScalar(key) !== key || /^-(?![A-Za-z])/.test(key)))) {
      return undefined;
    }
    return key;
  }

  #open(overLines: boolean): void {
    this.#at++;
    this.#space(overLines);
  }

  #space(overLines: boolean): void {
    for (;;) {
      const character = this.#text[this.#at];
      if (character !== ' ' && !(overLines && character === '\n')) return;
      this.#at++;
    }
  }

  #accept(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #taken(pattern: RegExp): string {
    const start = this.#at;
    if (!this.#matches(pattern)) throw unusual;
    return this.#text.slice(start, this.#at);
  }

  #matches(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #isItem(): boolean {
    if (this.#text.charCodeAt(this.#at) !== DASH) return false;
    const next = this.#text.charCodeAt(this.#at + 1);
    return next === SPACE || next === LINE || this.#at + 1 >= this.#text.length;
  }

  get lineEnd(): number {
    return this.#endOf(this.#at);
  }

  #endOf(start: number): number {
    const end = this.#text.indexOf('\n', start);
    return end < 0 ? this.#text.length : end;
  }

  /** Nothing but a comment may follow in this line. */
  #endLine(): void {
    if (!this.#matches(REST_OF_LINE)) throw unusual;
    this.#toNextLine();
  }

  #toNextLine(): void {
    this.#at = Math.min(this.lineEnd + 1, this.#text.length);
    this.#toContent();
  }

  /** From the start of a line to the first word that is there, in this line or a later one. */
  #toContent(): void {
    let start = this.#at;
    for (;;) {
      let content = start;
      while (this.#text.charCodeAt(content) === SPACE) content++;
      if (content >= this.#text.length) {
        this.#at = this.#text.length;
        this.#indent = -1;
        return;
      }
      const first = this.#text.charCodeAt(content);
      if (first !== LINE && first !== HASH) {
        this.#at = content;
        this.#indent = content - start;
        return;
      }
      start = this.#endOf(content) + 1;
    }
  }
}

/** One for all: when a garbage collection finds no object of a class, the machine code made for it is thrown away, which doubles the time of the next document. */
const reader = new Reader();

/** The escapes of JSON, and the one of YAML that definitions have: a space that does not break. */
const unescaped = (quoted: string): string =>
  JSON.parse(quoted.replaceAll(/\\[^u]/g, (each) => (each === '\\_' ? '\\u00a0' : each))) as string;

function known(value: unknown): unknown {
  if (value === notJson) throw unusual;
  return value;
}
