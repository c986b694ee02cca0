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
const [LINE, SPACE, HASH, DASH, COLON, BAR] = [...'\n #-:|'].map((each) => each.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
  number,
  number,
];

/** What a character may be, as bits. */
const IN_KEY = 1;
/** Keys that begin with a letter are nearly all; the others may be numbers, or no keys at all. */
const OPENS_KEY = 2;
/** No plain word begins with it, or not where a space or the end of the line follows. */
const INDICATOR = 4;
const OPENS_ITEM = 8;
const QUOTE = 16;
const BRACKET = 32;
/** A plain word may end here. */
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
  toContent(text.startsWith('---') ? afterLine(3) : 0);
  if (indent < 0) return null;
  const isFlow = (meaningOf(codes[at] as number) & BRACKET) !== 0;
  const value = isFlow ? rootFlow() : block();
  if (indent >= 0) throw unusual;
  return value;
}

function rootFlow(): unknown {
  const value = flowAt(text, at, true, 1);
  toContent(afterLine(end));
  return value;
}

function block(): unknown {
  if (++depth > MAX_DEPTH) throw unusual;
  const value = isItem(at) ? list(indent) : map(indent, key());
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
    if (indent !== column || isItem(at)) break;
    name = key();
  }
  // Fewer where a key came twice.
  if (indent >= column || Object.keys(made).length !== count) throw unusual;
  return made;
}

function list(column: number): unknown[] {
  const made: unknown[] = [];
  while (indent === column && isItem(at)) made.push(item(column));
  if (indent > column) throw unusual;
  return made;
}

function item(column: number): unknown {
  const dash = at;
  at = afterSpaces(dash + 1);
  const inner = column + at - dash;
  if (isItem(at)) {
    indent = inner;
    return block();
  }
  const name = key();
  if (name === undefined) {
    at = dash + 1;
    return value(column, false);
  }
  if (++depth > MAX_DEPTH) throw unusual;
  const made = map(inner, name);
  depth--;
  return made;
}

/** After the colon of a key or the dash of an item, in a collection that begins at `column`. */
function value(column: number, ofKey: boolean): unknown {
  const start = afterSpaces(at);
  const code = codes[start] as number;
  if (code === LINE) {
    toContent(start + 1);
    return below(column, ofKey);
  }
  const isWord = (meaningOf(code) & INDICATOR) === 0;
  const found = isWord ? plain(start) : marked(start, column, ofKey);
  // What goes on in the next line is no single word.
  if (indent > column) throw unusual;
  return found;
}

/** In the lines after. */
function below(column: number, ofKey: boolean): unknown {
  if (indent > column) return block();
  return ofKey && indent === column && isItem(at) ? list(column) : null;
}

/** To the end of the line, or to a comment. */
function plain(start: number): unknown {
  const all = codes;
  // A dash or a question mark that nothing follows makes it something else.
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
    // A colon that nothing follows makes it a key.
    if (isColon && isFollowedByGap) throw unusual;
  }
  let stop = position;
  while (all[stop - 1] === SPACE) stop--;
  toContent(all[position] === LINE ? position + 1 : afterLine(position));
  return wordValue(text.slice(start, stop));
}

/** What begins with an indicator: a comment, lines of text, quotes or brackets. */
function marked(start: number, column: number, ofKey: boolean): unknown {
  const code = codes[start] as number;
  if (code === HASH) {
    toContent(afterLine(start));
    return below(column, ofKey);
  }
  if (code === BAR) return literal(start, column);
  const meaning = meaningOf(code);
  if ((meaning & (QUOTE | BRACKET)) === 0) throw unusual;
  const found = (meaning & QUOTE) === 0 ? flowAt(text, start, false, depth + 1) : quotedAt(text, start);
  toContent(afterLine(end));
  return found;
}

/** Lines of text as they are, from the next line on. */
function literal(bar: number, column: number): string {
  LITERAL.lastIndex = bar;
  const header = LITERAL.exec(text);
  if (header === null) throw unusual;
  const lines: string[] = [];
  let margin = -1;
  let start = LITERAL.lastIndex + 1;
  while (codes[start] !== END) {
    const stop = lineEnd(start);
    const content = afterSpaces(start);
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
  const all = codes;
  const start = at;
  if ((meaningOf(all[start] as number) & OPENS_KEY) === 0) return otherKey();
  let position = start;
  let sum = 0;
  for (let code = all[start] as number; (meaningOf(code) & IN_KEY) !== 0; code = all[position] as number) {
    sum = (sum * 31 + code) | 0;
    position++;
  }
  if (all[position] !== COLON) return all[position] === SPACE ? otherKey() : undefined;
  if (!isGap(all[position + 1] as number)) return undefined;
  at = position + 1;
  const place = sum & (KEYS - 1);
  const known = keys[place];
  if (known !== undefined && known.length === position - start && text.startsWith(known, start)) return known;
  const made = text.slice(start, position);
  // A word that means a truth is a key of another name.
  if (plainScalar(made) !== made) throw unusual;
  keys[place] = made;
  return made;
}

/** One in quotes, or with a space before the colon, or that begins like a number. */
function otherKey(): string | undefined {
  const found = keyAt(KEY, text, at);
  if (found !== undefined) at = end;
  return found;
}

function isItem(position: number): boolean {
  return codes[position] === DASH && isGap(codes[position + 1] as number);
}

function isGap(code: number): boolean {
  return (meaningOf(code) & GAP) !== 0;
}

function afterSpaces(from: number): number {
  const all = codes;
  let position = from;
  while (all[position] === SPACE) position++;
  return position;
}

function lineEnd(from: number): number {
  const found = text.indexOf('\n', from);
  return found < 0 ? text.length : found;
}

/** Where the next line begins; nothing but a comment may follow in this one. */
function afterLine(from: number): number {
  const position = afterSpaces(from);
  if (codes[position] === HASH && codes[position - 1] === SPACE) return lineEnd(position) + 1;
  if (codes[position] !== LINE) throw unusual;
  return position + 1;
}

/** From the start of a line to the first word that is there, in this line or a later one. */
function toContent(from: number): void {
  let start = from;
  for (;;) {
    const content = afterSpaces(start);
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
