/**
 * The YAML that manifests are mostly written in, read about ten times as fast as by a full parser: block maps and lists, plain and
 * quoted words, flow collections on one line, literal blocks, and JSON. Anything else (anchors, tags, folded text, words over several
 * lines, a key that comes twice, whatever is not YAML at all) is not read here: the answer is `unusual`, and a full parser has the
 * word. So this reader never has to explain what is wrong, and must never read something that the other would read differently.
 */
import { end, type Fields, flowAt, keyAt, MAX_DEPTH, quotedAt, unusual, wordValue } from './inline.ts';
import { plainScalar } from './scalar.ts';

export { unusual };

/** One document, with the `---` before it if there is one; null where it is empty. */
export function readQuickly(document: string): unknown {
  if (UNREADABLE.test(document)) return unusual;
  try {
    begin(document);
    return contents();
  } catch (error) {
    if (error === unusual) return unusual;
    throw error;
  } finally {
    text = '';
    keys.fill(undefined);
    if (codes.length > USUAL_LENGTH) codes = new Uint16Array(USUAL_LENGTH);
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: YAML forbids most of them, and tabs and carriage returns have rules of their own
const UNREADABLE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff]/;
/** A key: a word, or quoted without escapes; then a colon, and a space or the end of the line. */
const KEY = /(?:([A-Za-z0-9_./-]+)|"([^"\\\n]*)"|'([^'\n]*)') *:(?=[ \n]|$)/y;
const LITERAL = /\|(-?) *(?:(?<= )#[^\n]*)?(?=\n|$)/y;

/** Stands after the last line: no text that is read here has it. */
const END = 0;
const [LINE, SPACE, HASH, DASH, COLON, QUESTION, BAR] = [...'\n #-:?|'].map((each) => each.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];

/** What a character may be, as bits. */
const IN_KEY = 1;
const OPENS_KEY = 2;
/** No plain word begins with it. */
const INDICATOR = 4;
const QUOTE = 8;
const BRACKET = 16;

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Of each character of ASCII. Keys that begin with a letter are nearly all; the others may be numbers, or no keys at all. */
const MEANING = new Uint8Array(128);
for (const [bit, characters] of [
  [IN_KEY, `${LETTERS}0123456789_./-`],
  [OPENS_KEY, LETTERS],
  [INDICATOR, ',[]{}#&*!|>\'"%@`'],
  [QUOTE, '\'"'],
  [BRACKET, '{['],
] as const) {
  for (const each of characters) MEANING[each.charCodeAt(0)] = (MEANING[each.charCodeAt(0)] ?? 0) | bit;
}

const meaningOf = (code: number): number => (code < 128 ? (MEANING[code] as number) : 0);

const USUAL_LENGTH = 1 << 17;
/** A power of two. */
const KEYS = 256;

/*
 * The document that is being read. It is read in one go, so there is one at a time; and functions that are always there keep their
 * machine code, which that of an object goes with.
 */
let text = '';
/** Its characters, then a line break and `END`: numbers are cheaper to look at one by one, and there is always a next one to look at. */
let codes = new Uint16Array(USUAL_LENGTH);
/** Where reading goes on within the line. */
let at = 0;
/** Column at which the rest of the line begins; -1 at the end. A map inside `- ` begins in the middle of a line. */
let indent = -1;
let depth = 0;
/** Keys that came before, by a sum of their characters: most come again and again, and need not be cut out of the text anew. */
const keys = new Array<string | undefined>(KEYS).fill(undefined);

function begin(document: string): void {
  const { length } = document;
  if (codes.length < length + 2) codes = new Uint16Array(length + 2);
  Buffer.from(codes.buffer).write(document, 'utf16le');
  codes[length] = LINE;
  codes[length + 1] = END;
  text = document;
  depth = 0;
}

function contents(): unknown {
  const start = text.startsWith('---') ? restOfLine(3) + 1 : 0;
  toContent(start);
  if (indent < 0) return null;
  const isFlow = (meaningOf(codes[at] as number) & BRACKET) !== 0;
  const value = isFlow ? rootFlow() : block();
  if (indent >= 0) throw unusual;
  return value;
}

function rootFlow(): unknown {
  const value = flowAt(text, at, true, 1);
  toContent(restOfLine(end) + 1);
  return value;
}

function block(): unknown {
  if (++depth > MAX_DEPTH) throw unusual;
  const value = isItem() ? list(indent) : map(indent, key());
  depth--;
  return value;
}

/** From the first key on, which is passed already. */
function map(column: number, first: string | undefined): Fields {
  const made: Fields = {};
  let count = 0;
  let name = first;
  for (;;) {
    if (name === undefined) throw unusual;
    made[name] = value(column, true);
    count++;
    if (indent !== column || isItem()) break;
    name = key();
  }
  // Fewer where a key came twice.
  if (indent >= column || Object.keys(made).length !== count) throw unusual;
  return made;
}

function list(column: number): unknown[] {
  const made: unknown[] = [];
  while (indent === column && isItem()) made.push(item(column));
  if (indent > column) throw unusual;
  return made;
}

function item(column: number): unknown {
  const start = at + 1;
  at = start;
  while (codes[at] === SPACE) at++;
  const inner = column + 1 + at - start;
  if (isItem()) {
    indent = inner;
    return block();
  }
  const name = key();
  if (name === undefined) {
    at = start;
    return value(column, false);
  }
  if (++depth > MAX_DEPTH) throw unusual;
  indent = inner;
  const made = map(inner, name);
  depth--;
  return made;
}

/** After the colon of a key or the dash of an item, in a collection that begins at `column`. */
function value(column: number, ofKey: boolean): unknown {
  const start = at;
  while (codes[at] === SPACE) at++;
  const first = codes[at] as number;
  if (first === LINE || (first === HASH && at > start)) {
    toContent(first === LINE ? at + 1 : lineEnd(at) + 1);
    if (indent > column) return block();
    return ofKey && indent === column && isItem() ? list(column) : null;
  }
  if (first === BAR) return literal(column);
  const found = (meaningOf(first) & (QUOTE | BRACKET)) === 0 ? plain() : inline(first);
  toContent(codes[at] === LINE ? at + 1 : restOfLine(at) + 1);
  // What goes on in the next line is no single word.
  if (indent > column) throw unusual;
  return found;
}

function inline(first: number): unknown {
  const found = (meaningOf(first) & QUOTE) !== 0 ? quotedAt(text, at) : flowAt(text, at, false, depth + 1);
  at = end;
  return found;
}

/** To the end of the line, or to a comment. */
function plain(): unknown {
  const start = at;
  let position = start;
  let code = codes[position] as number;
  if ((meaningOf(code) & INDICATOR) !== 0) throw unusual;
  let before = 0;
  // A dash or a question mark that nothing follows makes it something else.
  if ((code === DASH || code === QUESTION) && isGap(codes[position + 1] as number)) throw unusual;
  while (code !== LINE && (code !== HASH || before !== SPACE)) {
    // A colon that nothing follows makes it a key.
    if (code === COLON && isGap(codes[position + 1] as number)) throw unusual;
    before = code;
    position++;
    code = codes[position] as number;
  }
  at = position;
  const word = text.slice(start, position);
  return wordValue(before === SPACE ? word.trimEnd() : word);
}

const isGap = (code: number): boolean => code === SPACE || code === LINE;

/** Lines of text as they are, from the next line on. */
function literal(column: number): string {
  LITERAL.lastIndex = at;
  const header = LITERAL.exec(text);
  if (header === null) throw unusual;
  const lines: string[] = [];
  let margin = -1;
  let start = LITERAL.lastIndex + 1;
  for (; codes[start] !== END; ) {
    const stop = lineEnd(start);
    let content = start;
    while (codes[content] === SPACE) content++;
    if (content >= stop) {
      // Before the first line of text, a blank one that is longer is a mistake; after it, its spaces count.
      if (margin < 0 && content > start) throw unusual;
      lines.push(margin < 0 ? '' : text.slice(start + margin, stop));
    } else {
      if (margin < 0 && content - start > column) margin = content - start;
      if (content - start < margin || margin < 0) {
        if (content - start > column) throw unusual;
        break;
      }
      lines.push(text.slice(start + margin, stop));
    }
    start = stop + 1;
  }
  if (margin < 0) throw unusual;
  toContent(start);
  // Blank lines at the end fall away, unless they hold spaces of their own: those are text.
  while (lines.at(-1) === '') lines.pop();
  return `${lines.join('\n')}${header[1] === '-' ? '' : '\n'}`;
}

/** The key that is here, with the colon after it; undefined, and nothing passed, where there is none. */
function key(): string | undefined {
  const start = at;
  let position = start;
  let code = codes[position] as number;
  if ((meaningOf(code) & OPENS_KEY) === 0) return otherKey();
  let sum = 0;
  while ((meaningOf(code) & IN_KEY) !== 0) {
    sum = (sum * 31 + code) | 0;
    position++;
    code = codes[position] as number;
  }
  if (code !== COLON) return code === SPACE ? otherKey() : undefined;
  if (!isGap(codes[position + 1] as number)) return undefined;
  const known = keys[sum & (KEYS - 1)];
  if (known !== undefined && known.length === position - start && text.startsWith(known, start)) {
    at = position + 1;
    return known;
  }
  const made = text.slice(start, position);
  // A word that means a truth is a key of another name.
  if (plainScalar(made) !== made) throw unusual;
  keys[sum & (KEYS - 1)] = made;
  at = position + 1;
  return made;
}

/** One in quotes, or with a space before the colon, or that begins like a number. */
function otherKey(): string | undefined {
  const found = keyAt(KEY, text, at);
  if (found !== undefined) at = end;
  return found;
}

function isItem(): boolean {
  return codes[at] === DASH && isGap(codes[at + 1] as number);
}

function lineEnd(from: number): number {
  const found = text.indexOf('\n', from);
  return found < 0 ? text.length : found;
}

/** The end of a line in which nothing but a comment may follow. */
function restOfLine(from: number): number {
  let position = from;
  while (codes[position] === SPACE) position++;
  if (codes[position] === HASH && codes[position - 1] === SPACE) return lineEnd(position);
  if (codes[position] !== LINE) throw unusual;
  return position;
}

/** From the start of a line to the first word that is there, in this line or a later one. */
function toContent(from: number): void {
  let start = from;
  for (;;) {
    let content = start;
    while (codes[content] === SPACE) content++;
    const code = codes[content] as number;
    if (code === LINE) start = content + 1;
    else if (code === HASH) start = lineEnd(content) + 1;
    else {
      at = content;
      indent = code === END ? -1 : content - start;
      return;
    }
  }
}
