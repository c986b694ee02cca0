/**
 * The text of a review → its values, with `managedFields` left as text until somebody reads them. They are half of what an API server
 * sends, nearly no rule reads them, and to make objects of them takes longer than to judge the rest.
 *
 * They are found by their name alone. Whether that was the right place is seen afterwards: each is replaced by a mark that nobody
 * else can write, and where a mark is not found under `metadata` of the object, the whole text is decoded as it is.
 */
import { randomUUID } from 'node:crypto';
import { decodeJson } from '../../cel/index.ts';

const KEY = '"managedFields":[';
/** Shorter ones are not worth the search for their end. */
const SHORTEST = 200;

/** For the new object and the old one. */
const marks: readonly unknown[] = [randomUUID(), randomUUID()];

/** Throws as `decodeJson` does. */
export function decodeLeavingManagedFields(text: string): unknown {
  const lists = listsIn(text);
  if (lists.length === 0) return decodeJson(text);
  let shorter = '';
  let end = 0;
  for (const [index, list] of lists.entries()) {
    shorter += `${text.slice(end, list.from)}"${marks[index]}"`;
    end = list.to;
  }
  let review: unknown;
  try {
    review = decodeJson(shorter + text.slice(end));
  } catch {
    // The whole text says where.
    return decodeJson(text);
  }
  return putBack(review, lists, text) ? review : decodeJson(text);
}

interface Part {
  readonly from: number;
  readonly to: number;
}

/** Where the lists of that name are, in whichever objects. */
function listsIn(text: string): readonly Part[] {
  const found: Part[] = [];
  for (let at = text.indexOf(KEY); at >= 0 && found.length < marks.length; ) {
    const from = at + KEY.length - 1;
    // A key follows one of these; after anything else the quotation mark is the end of a text.
    const isKey = text[at - 1] === ',' || text[at - 1] === '{';
    const to = isKey ? endOf(text, from) : from;
    if (to - from >= SHORTEST) found.push({ from, to });
    at = text.indexOf(KEY, to);
  }
  return found;
}

/** Behind the bracket that closes the one at `from`; the end of the text where none does. */
function endOf(text: string, from: number): number {
  let depth = 0;
  let quoted = false;
  for (let index = from; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (quoted) {
      if (code === BACKSLASH) index++;
      else if (code === QUOTE) quoted = false;
    } else if (code === QUOTE) quoted = true;
    else if (code === OPEN) depth++;
    else if (code === CLOSE && --depth === 0) return index + 1;
  }
  return text.length;
}

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x5b, 0x5d];

/** Whether every mark was where such a list belongs: there it is found now by whoever reads it. */
function putBack(review: unknown, lists: readonly Part[], text: string): boolean {
  const request = fieldOf(review, 'request');
  let found = 0;
  for (const name of ['object', 'oldObject']) {
    const metadata = fieldOf(fieldOf(request, name), 'metadata');
    const list = lists[marks.indexOf(fieldOf(metadata, 'managedFields'))];
    if (list === undefined) continue;
    found += 1;
    Object.defineProperty(metadata, TEXT, { value: text.slice(list.from, list.to) });
    Object.defineProperty(metadata, 'managedFields', LATER);
  }
  return found === lists.length;
}

const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;

/** With the object itself, where nobody looks: a WeakMap of what lives as long as a request costs more than it spares. */
const TEXT = Symbol('managedFields');

/** One for all, so that V8 sees objects of the same shape. */
const LATER: PropertyDescriptor & ThisType<{ readonly [TEXT]: string }> = {
  enumerable: true,
  configurable: true,
  get() {
    const value = decodeJson(this[TEXT]);
    Object.defineProperty(this, 'managedFields', { value, enumerable: true, configurable: true, writable: true });
    return value;
  },
};
