/**
 * Decodes the text of a review and leaves `managedFields` as text until they are read. They are half of what an API
 * server sends, hardly any rule reads them, and decoding them takes longer than evaluating the rest.
 *
 * They are located by name only and replaced by random markers. If a marker is not found under `metadata` of the object
 * afterwards, the whole text is decoded unchanged.
 */
import { randomUUID } from 'node:crypto';
import { decodeJson } from '../../cel/index.ts';

const KEY = '"managedFields":[';
/** Shorter lists are not worth the search for their end. */
const SHORTEST = 200;

/** The markers for the new and the old object. */
const marks: readonly unknown[] = [randomUUID(), randomUUID()];

/** `decodeLeavingManagedFields` throws the same errors as `decodeJson`. */
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
    // Decoding the whole text reports the right position.
    return decodeJson(text);
  }
  return putBack(review, lists, text) ? review : decodeJson(text);
}

interface Part {
  readonly from: number;
  readonly to: number;
}

/** Finds the lists with that name in any object. */
function listsIn(text: string): readonly Part[] {
  const found: Part[] = [];
  for (let at = text.indexOf(KEY); at >= 0 && found.length < marks.length; ) {
    const from = at + KEY.length - 1;
    // A key follows a comma or a brace; after any other character the quotation mark ends a string.
    const isKey = text[at - 1] === ',' || text[at - 1] === '{';
    const to = isKey ? endOf(text, from) : from;
    if (to - from >= SHORTEST) found.push({ from, to });
    at = text.indexOf(KEY, to);
  }
  return found;
}

/** Returns the position after the bracket that closes the one at `from`, or the end of the text. */
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

/** Replaces the markers with lazy properties. It returns false if a marker is in an unexpected place. */
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

/**
 * The text is kept on the object itself: a WeakMap for objects that live as long as a request costs more than it saves.
 */
const TEXT = Symbol('managedFields');

/** One descriptor for all objects, so that V8 sees objects of the same shape. */
const LATER: PropertyDescriptor & ThisType<{ readonly [TEXT]: string }> = {
  enumerable: true,
  configurable: true,
  get() {
    const value = decodeJson(this[TEXT]);
    Object.defineProperty(this, 'managedFields', { value, enumerable: true, configurable: true, writable: true });
    return value;
  },
};
