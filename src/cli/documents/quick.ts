/**
 * A fast reader of the YAML subset that most manifests use: block maps and lists, plain and quoted scalars, flow collections on one
 * line, literal blocks, and JSON. For everything else (anchors, tags, folded text, multi-line scalars, duplicate keys, invalid YAML) it
 * returns `unusual`, and the caller uses the `yaml` package. It reports no errors and no positions; those always come from `yaml`.
 *
 * It must never read a text differently than `yaml` does. quick.test.ts checks that with generated texts and with every manifest of
 * this repository; docs/decisions/0028-quick-yaml-reader.md has the measurements that justify a second reader.
 */
import { type Fields, InlineReader, MAX_DEPTH, unusual, wordValue } from './inline.ts';
import { plainScalar } from './scalar.ts';

export { unusual };

/** `readQuickly` reads one document, with or without its `---`. An empty document is null. */
export function readQuickly(document: string): unknown {
  if (UNREADABLE.test(document)) return unusual;
  try {
    return new QuickReader(document).read();
  } catch (error) {
    if (error === unusual) return unusual;
    throw error;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: YAML forbids most of them, and has rules for tabs and carriage returns
const UNREADABLE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff]/;
/** A key: a word, or quoted without escapes; then a colon before a space or the end of the line. */
const KEY = /(?:([A-Za-z0-9_./-]+)|"([^"\\\n]*)"|'([^'\n]*)') *:(?=[ \n]|$)/y;
const LITERAL = /\|(-?) *(?:(?<= )#[^\n]*)?(?=\n|$)/y;

/** Marks the end of the text; no text that is read here contains it. */
const END = 0;
const [LINE, SPACE, HASH, DASH, COLON, BAR] = [...'\n #-:|'].map((each) => each.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
  number,
  number,
];

/** The classes of a character, as bits. */
const IN_KEY = 1;
/** Nearly all keys begin with a letter; others may be numbers, or no keys at all. */
const OPENS_KEY = 2;
/** No plain scalar begins with it. */
const INDICATOR = 4;
const OPENS_ITEM = 8;
const QUOTE = 16;
const BRACKET = 32;
/** A plain scalar may end here. */
const STOP = 64;
const GAP = 128;

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

const MEANING = new Uint8Array(2 ** 16);
for (const [bit, characters] of [
  [IN_KEY, `${LETTERS}0123456789_./-`],
  [OPENS_KEY, LETTERS],
  [INDICATOR, ',[]{}#&*!|>\'"%@`'],
  [OPENS_ITEM, '-?'],
  [QUOTE, '\'"'],
  [BRACKET, '{['],
  [STOP, ':#\n'],
  [GAP, ' \n'],
] as const) {
  for (const each of characters) MEANING[each.charCodeAt(0)] = meaningOf(each.charCodeAt(0)) | bit;
}

function meaningOf(code: number): number {
  return MEANING[code] as number;
}

/** The size of the key cache, a power of two. */
const KEYS = 256;

class QuickReader {
  readonly #text: string;
  readonly #inline: InlineReader;
  /** The characters of the text, then a line break and `END`: numbers are cheaper to compare, and there is always a next one. */
  readonly #codes: Uint16Array;
  /** Earlier keys by their hash: most keys recur, and need not be cut out of the text again. */
  readonly #keys = new Array<string | undefined>(KEYS).fill(undefined);
  /** The offset at which reading continues within the line. */
  #at = 0;
  /** The column at which the rest of the line begins; -1 at the end. A map inside `- ` begins in the middle of a line. */
  #indent = -1;
  #depth = 0;

  constructor(document: string) {
    const { length } = document;
    const codes = new Uint16Array(length + 2);
    Buffer.from(codes.buffer).write(document, 'utf16le');
    codes[length] = LINE;
    codes[length + 1] = END;
    this.#text = document;
    this.#codes = codes;
    this.#inline = new InlineReader(document);
  }

  read(): unknown {
    this.#toContent(this.#text.startsWith('---') ? this.#afterLine(3) : 0);
    if (this.#indent < 0) return null;
    const isFlow = (meaningOf(this.#codes[this.#at] as number) & BRACKET) !== 0;
    const value = isFlow ? this.#rootFlow() : this.#block();
    if (this.#indent >= 0) throw unusual;
    return value;
  }

  #rootFlow(): unknown {
    const value = this.#inline.flowAt(this.#at, true, 1);
    this.#toContent(this.#afterLine(this.#inline.end));
    return value;
  }

  #block(): unknown {
    if (++this.#depth > MAX_DEPTH) throw unusual;
    const value = this.#isItem(this.#at) ? this.#list(this.#indent) : this.#map(this.#indent, this.#key());
    this.#depth--;
    return value;
  }

  /** Reads a map whose first key has been consumed. */
  #map(column: number, first: string | undefined): Fields {
    const made: Fields = {};
    let count = 0;
    let name = first;
    for (;;) {
      if (name === undefined) throw unusual;
      made[name] = this.#value(column, true);
      count++;
      if (this.#indent !== column || this.#isItem(this.#at)) break;
      name = this.#key();
    }
    // A duplicate key leaves fewer keys than entries.
    if (this.#indent >= column || Object.keys(made).length !== count) throw unusual;
    return made;
  }

  #list(column: number): unknown[] {
    const made: unknown[] = [];
    while (this.#indent === column && this.#isItem(this.#at)) made.push(this.#item(column));
    if (this.#indent > column) throw unusual;
    return made;
  }

  #item(column: number): unknown {
    const dash = this.#at;
    this.#at = this.#afterSpaces(dash + 1);
    const inner = column + this.#at - dash;
    if (this.#isItem(this.#at)) {
      this.#indent = inner;
      return this.#block();
    }
    const name = this.#key();
    if (name === undefined) {
      this.#at = dash + 1;
      return this.#value(column, false);
    }
    if (++this.#depth > MAX_DEPTH) throw unusual;
    const made = this.#map(inner, name);
    this.#depth--;
    return made;
  }

  /** Reads the value after the colon of a key or the dash of an item, in a collection that begins at `column`. */
  #value(column: number, ofKey: boolean): unknown {
    const start = this.#afterSpaces(this.#at);
    const code = this.#codes[start] as number;
    if (code === LINE) {
      this.#toContent(start + 1);
      return this.#below(column, ofKey);
    }
    const isWord = (meaningOf(code) & INDICATOR) === 0;
    const found = isWord ? this.#plain(start) : this.#marked(start, column, ofKey);
    // A scalar that continues on the next line is left to the full parser.
    if (this.#indent > column) throw unusual;
    return found;
  }

  /** Reads a value that begins on a later line. */
  #below(column: number, ofKey: boolean): unknown {
    if (this.#indent > column) return this.#block();
    return ofKey && this.#indent === column && this.#isItem(this.#at) ? this.#list(column) : null;
  }

  /** Reads a plain scalar up to the end of the line or a comment. */
  #plain(start: number): unknown {
    const all = this.#codes;
    // A dash or a question mark before a gap is an indicator, not a scalar.
    if ((meaningOf(all[start] as number) & OPENS_ITEM) !== 0 && isGap(all[start + 1] as number)) throw unusual;
    let position = start - 1;
    for (;;) {
      do position++;
      while ((meaningOf(all[position] as number) & STOP) === 0);
      const code = all[position];
      const isComment = code === HASH;
      const isColon = code === COLON;
      const followsSpace = all[position - 1] === SPACE;
      const isFollowedByGap = isGap(all[position + 1] as number);
      if (code === LINE || (isComment && followsSpace)) break;
      // A colon before a gap makes it a key.
      if (isColon && isFollowedByGap) throw unusual;
    }
    let stop = position;
    while (all[stop - 1] === SPACE) stop--;
    this.#toContent(all[position] === LINE ? position + 1 : this.#afterLine(position));
    return wordValue(this.#text.slice(start, stop));
  }

  /** Reads a value that begins with an indicator: a comment, a literal block, quotes or brackets. */
  #marked(start: number, column: number, ofKey: boolean): unknown {
    const code = this.#codes[start] as number;
    if (code === HASH) {
      this.#toContent(this.#afterLine(start));
      return this.#below(column, ofKey);
    }
    if (code === BAR) return this.#literal(start, column);
    const meaning = meaningOf(code);
    if ((meaning & (QUOTE | BRACKET)) === 0) throw unusual;
    const found =
      (meaning & QUOTE) === 0 ? this.#inline.flowAt(start, false, this.#depth + 1) : this.#inline.quotedAt(start);
    this.#toContent(this.#afterLine(this.#inline.end));
    return found;
  }

  /** Reads a literal block, which begins on the next line. */
  #literal(bar: number, column: number): string {
    LITERAL.lastIndex = bar;
    const header = LITERAL.exec(this.#text);
    if (header === null) throw unusual;
    const lines: string[] = [];
    let margin = -1;
    let start = LITERAL.lastIndex + 1;
    while (this.#codes[start] !== END) {
      const stop = this.#lineEnd(start);
      const content = this.#afterSpaces(start);
      if (content >= stop) {
        // Before the first line of text, spaces in a blank line may be an error; after it, they are text.
        if (margin < 0 && content > start) throw unusual;
        lines.push(margin < 0 ? '' : this.#text.slice(start + margin, stop));
      } else {
        if (margin < 0 && content - start > column) margin = content - start;
        if (content - start < margin || margin < 0) {
          if (content - start > column) throw unusual;
          break;
        }
        lines.push(this.#text.slice(start + margin, stop));
      }
      start = stop + 1;
    }
    if (margin < 0) throw unusual;
    this.#toContent(start);
    // Trailing blank lines are dropped, unless they contain extra spaces, which are text.
    while (lines.at(-1) === '') lines.pop();
    return `${lines.join('\n')}${header[1] === '-' ? '' : '\n'}`;
  }

  /** Consumes a key and its colon; returns undefined and consumes nothing if there is no key. */
  #key(): string | undefined {
    const all = this.#codes;
    const start = this.#at;
    if ((meaningOf(all[start] as number) & OPENS_KEY) === 0) return this.#otherKey();
    let position = start;
    let sum = 0;
    for (let code = all[start] as number; (meaningOf(code) & IN_KEY) !== 0; code = all[position] as number) {
      sum = (sum * 31 + code) | 0;
      position++;
    }
    if (all[position] !== COLON) return all[position] === SPACE ? this.#otherKey() : undefined;
    if (!isGap(all[position + 1] as number)) return undefined;
    this.#at = position + 1;
    const place = sum & (KEYS - 1);
    const known = this.#keys[place];
    if (known !== undefined && known.length === position - start && this.#text.startsWith(known, start)) return known;
    const made = this.#text.slice(start, position);
    // A word such as `yes` is a boolean key, which the full parser converts.
    if (plainScalar(made) !== made) throw unusual;
    this.#keys[place] = made;
    return made;
  }

  /** Consumes a key that is quoted, has a space before the colon, or begins like a number. */
  #otherKey(): string | undefined {
    const found = this.#inline.keyAt(KEY, this.#at);
    if (found !== undefined) this.#at = this.#inline.end;
    return found;
  }

  #isItem(position: number): boolean {
    return this.#codes[position] === DASH && isGap(this.#codes[position + 1] as number);
  }

  #afterSpaces(from: number): number {
    const all = this.#codes;
    let position = from;
    while (all[position] === SPACE) position++;
    return position;
  }

  #lineEnd(from: number): number {
    const found = this.#text.indexOf('\n', from);
    return found < 0 ? this.#text.length : found;
  }

  /** Returns the offset of the next line; only a comment may follow on this one. */
  #afterLine(from: number): number {
    const position = this.#afterSpaces(from);
    if (this.#codes[position] === HASH && this.#codes[position - 1] === SPACE) return this.#lineEnd(position) + 1;
    if (this.#codes[position] !== LINE) throw unusual;
    return position + 1;
  }

  /** Moves from the start of a line to the next content, on this line or a later one. */
  #toContent(from: number): void {
    let start = from;
    for (;;) {
      const content = this.#afterSpaces(start);
      const code = this.#codes[content] as number;
      if (code === LINE) start = content + 1;
      else if (code === HASH) start = this.#lineEnd(content) + 1;
      else {
        this.#at = content;
        this.#indent = code === END ? -1 : content - start;
        return;
      }
    }
  }
}

function isGap(code: number): boolean {
  return (meaningOf(code) & GAP) !== 0;
}
