/**
 * Cuts the items out of a list while it is still coming in, so that a list of any length needs the memory of a few items,
 * is parsed while the server still writes, and managedFields (up to half of the bytes) need not be parsed at all.
 *
 * Two ways to find where an item ends. The scanner follows depth and strings byte by byte. The leap is for what the API server
 * writes, items that all begin alike: it looks for the last such beginning with the search that Node has in C++, and asks
 * JSON.parse whether the text up to there is whole items. That is exact, because no list of objects is the beginning of another;
 * where the answer is no, the scanner takes those items. In a process that has just started, as a controller has when it
 * lists, the scanner would take as long as parsing does.
 */
import { isAscii } from 'node:buffer';

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/** Depths at which the parts of a list stand: `{ "items": [ { "metadata": { "managedFields": [ … ] } } ] }`. */
const insideList = 1;
const insideItems = 2;
const insideItem = 3;
const insideMetadata = 4;
const insideManagedFields = 5;

const itemsKey = Buffer.from('"items"');
const metadataKey = Buffer.from('"metadata"');
const managedFieldsKey = Buffer.from('"managedFields"');
const metadataStart = Buffer.from('"metadata":{');
const managedFieldsStart = Buffer.from('"managedFields":[');

/** Stands in the text for managedFields that were cut out. The server never writes it, so that it shows where the cut was. */
const mark = false;
const markedText = `"managedFields":${mark}`;
const markedField = Buffer.from(markedText);

/** An item that is still not whole after so many bytes is left to the scanner, which need not look at them again. */
const longestLeap = 64 * 1024;
/**
 * So many bytes are parsed at once, if there are more: a text of this length still fits into the memory that V8 has at hand for
 * what is young; for a longer one it asks the system, and gives it back right after.
 */
const batchBytes = 112 * 1024;
/**
 * Most lists are short, and memory for a long one costs more than all else that is done with them: more of it is taken only once it is needed.
 * So much still comes from what the process has at hand.
 */
const firstBytes = 32 * 1024;
const usualBytes = 256 * 1024;
/** Lists whose items often hold what looks like the beginning of another, or of what is cut out, are not for leaping. */
const mostMisses = 8;

interface ItemOptions<T> {
  maximumItemBytes: number;
  /** Metadata then has no managedFields, or undefined. */
  omitManagedFields: boolean;
  onItem: (item: T) => void;
}

export class ItemSplitter<T> {
  readonly #options: ItemOptions<T>;
  // One stretch of memory that every chunk is copied to the end of, so that an item is always in one piece.
  #buffer = Buffer.allocUnsafe(firstBytes);
  #end = 0;
  /** How far the scanner is. */
  #position = 0;
  /** Bytes before this are done with. */
  #kept = 0;
  #depth = 0;
  #withinString = false;
  #inItems = false;
  #inMetadata = false;
  /** Where the last string at a depth that matters began and ended. */
  #stringStart = 0;
  #stringEnd = 0;
  #itemStart = -1;
  #cutStart = -1;
  #cutEnd = -1;
  /** Where the last chunk with anything but ASCII ends. */
  #unicodeEnd = 0;
  /** The list without its items. */
  #envelope = '';
  /** What stands between two items, learnt from the first. */
  #delimiter: Buffer | undefined;
  #mayLeap = true;
  /** At the end of an item, waiting for the end of the next. */
  #leaping = false;
  #misses = 0;
  /** Up to here the scanner goes, after a miss. */
  #missEnd = 0;
  /** The text of several items without their managedFields. */
  #scratch = Buffer.alloc(0);

  constructor(options: ItemOptions<T>) {
    this.#options = options;
  }

  /** Throws a SyntaxError for what is not JSON and a RangeError for an item that is too large. */
  push(chunk: Buffer): void {
    this.#makeRoom(chunk.length);
    chunk.copy(this.#buffer, this.#end);
    this.#end += chunk.length;
    if (!isAscii(chunk)) this.#unicodeEnd = this.#end;
    if (this.#leaping) this.#leap();
    if (!this.#leaping) this.#scan();
  }

  /** What is left of the list when its items are taken out; not JSON where the list is not whole. */
  finish(): string {
    // Nothing more to wait for.
    this.#stopLeaping();
    this.#scan();
    this.#envelope += this.#buffer.toString('utf8', this.#kept, this.#end);
    return this.#envelope;
  }

  #scan(): void {
    // Everything that is touched for each byte is local: a field costs several times as much.
    const buffer = this.#buffer;
    const end = this.#end;
    let position = this.#position;
    let depth = this.#depth;
    let withinString = this.#withinString;
    while (position < end) {
      if (withinString) {
        for (let byte = buffer[position] as number; byte !== quote; byte = buffer[position] as number) {
          // May step past the end, over what a backslash at the end of this chunk escapes in the next.
          position += byte === backslash ? 2 : 1;
          if (position >= end) break;
        }
        if (position >= end) break;
        withinString = false;
        position += 1;
        if (depth <= insideMetadata) this.#stringEnd = position;
        continue;
      }
      const byte = buffer[position] as number;
      position += 1;
      if (byte === quote) {
        withinString = true;
        if (depth <= insideMetadata) this.#stringStart = position - 1;
      } else if (byte === openBrace) {
        depth += 1;
        if (depth === insideItem && this.#inItems) this.#itemStart = position - 1;
      } else if (byte === closeBrace) {
        depth -= 1;
        if (depth === insideItems && this.#inItems) {
          this.#emit(position);
          this.#leap();
          position = this.#kept;
          if (this.#leaping) break;
        }
      } else if (byte === openBracket) {
        depth += 1;
        if (depth === insideItems && this.#lastStringIs(itemsKey)) this.#enterItems(position);
        else if (depth === insideManagedFields && this.#inMetadata && this.#lastStringIs(managedFieldsKey)) {
          this.#cutStart = this.#stringStart;
        }
      } else if (byte === closeBracket) {
        depth -= 1;
        if (depth === insideMetadata && this.#cutStart !== -1 && this.#cutEnd === -1) this.#cutEnd = position;
        else if (depth === insideList && this.#inItems) this.#leaveItems(position - 1);
      } else if (byte === colon && depth === insideItem) {
        this.#inMetadata = this.#lastStringIs(metadataKey);
      }
    }
    this.#position = position;
    this.#depth = depth;
    this.#withinString = withinString;
  }

  #leaveItems(position: number): void {
    this.#inItems = false;
    this.#kept = position;
  }

  #enterItems(position: number): void {
    this.#inItems = true;
    this.#envelope = this.#buffer.toString('utf8', this.#kept, position);
    this.#kept = position;
  }

  /** The scanner found the end of an item. */
  #emit(end: number): void {
    const start = this.#itemStart;
    const isCut = this.#cutStart !== -1 && this.#options.omitManagedFields;
    const item = JSON.parse(
      isCut ? this.#textWithout(start, this.#cutStart, this.#cutEnd, end) : this.#text(start, end),
    );
    if (isCut) item.metadata.managedFields = undefined;
    if (this.#delimiter === undefined && this.#mayLeap) this.#delimiter = this.#learn(start, end);
    this.#itemStart = -1;
    this.#cutStart = -1;
    this.#cutEnd = -1;
    this.#inMetadata = false;
    this.#kept = end;
    this.#options.onItem(item);
  }

  /** From `{"apiVersion":"v1","kind":"ConfigMap","metadata":{`, or without what a list of a built-in kind leaves out. */
  #learn(start: number, end: number): Buffer | undefined {
    const found = this.#buffer.subarray(start, Math.min(end, start + 1024)).indexOf(metadataStart);
    if (found === -1) return undefined;
    return Buffer.concat([Buffer.from('},'), this.#buffer.subarray(start, start + found + metadataStart.length)]);
  }

  /**
   * From the end of an item, takes those that follow. Leaves `#leaping` set where it waits for more bytes, and the scanner's
   * position at the end of the last item.
   */
  #leap(): void {
    const delimiter = this.#kept < this.#missEnd ? undefined : this.#delimiter;
    this.#leaping = delimiter !== undefined && this.#hop(delimiter, this.#buffer.subarray(0, this.#end));
    this.#position = this.#kept;
  }

  /** Whether to wait for more. */
  #hop(delimiter: Buffer, bytes: Buffer): boolean {
    for (;;) {
      const start = this.#kept + 1;
      if (start >= bytes.length) return true;
      if (bytes[start - 1] !== comma || bytes[start] !== openBrace) return false;
      let end = bytes.lastIndexOf(delimiter, start + batchBytes) + 1;
      if (end <= start) end = bytes.lastIndexOf(delimiter) + 1;
      if (end <= start) return bytes.length - start < longestLeap;
      const items = this.#itemsBetween(bytes, start, end);
      if (items === undefined) {
        this.#misses += 1;
        this.#missEnd = end;
        if (this.#misses === mostMisses) this.#stopLeaping();
        return false;
      }
      this.#kept = end;
      for (const item of items) this.#options.onItem(item);
    }
  }

  /** The items, or undefined where the text is not exactly so many. */
  #itemsBetween(bytes: Buffer, start: number, end: number): T[] | undefined {
    if (this.#options.omitManagedFields) return this.#itemsWithout(bytes, start, end);
    return parsed<T[]>(`[${this.#text(start, end)}]`);
  }

  /**
   * Each cut ends with the first `]`. Had that been one inside the managedFields, the brackets of what remains would not match,
   * and had it been in a string, the quotes would not: neither parses. Had they been the managedFields of an object inside
   * an item, the mark would not be in the item's metadata.
   */
  #itemsWithout(bytes: Buffer, start: number, end: number): T[] | undefined {
    if (this.#scratch.length < 2 * (end - start) + 2) this.#scratch = Buffer.allocUnsafe(4 * (end - start) + 2);
    const scratch = this.#scratch;
    scratch[0] = openBracket;
    let length = 1;
    let cuts = 0;
    let from = start;
    for (;;) {
      const found = bytes.indexOf(managedFieldsStart, from);
      if (found === -1 || found >= end) break;
      length += bytes.copy(scratch, length, from, found);
      length += markedField.copy(scratch, length);
      from = bytes.indexOf(closeBracket, found) + 1;
      if (from === 0 || from > end) return undefined;
      cuts += 1;
    }
    length += bytes.copy(scratch, length, from, end);
    scratch[length] = closeBracket;
    const items = parsed<{ metadata?: { managedFields?: unknown } }[]>(
      scratch.toString(start < this.#unicodeEnd ? 'utf8' : 'latin1', 0, length + 1),
    );
    if (items === undefined) return undefined;
    for (const { metadata } of items) {
      if (metadata?.managedFields !== mark) continue;
      metadata.managedFields = undefined;
      cuts -= 1;
    }
    return cuts === 0 ? (items as T[]) : undefined;
  }

  #stopLeaping(): void {
    this.#mayLeap = false;
    this.#delimiter = undefined;
    this.#leaping = false;
  }

  #text(start: number, end: number): string {
    // Nearly all of Kubernetes is ASCII, and that is decoded faster when one knows.
    return this.#buffer.toString(start < this.#unicodeEnd ? 'utf8' : 'latin1', start, end);
  }

  #textWithout(start: number, cutStart: number, cutEnd: number, end: number): string {
    return this.#text(start, cutStart) + markedText + this.#text(cutEnd, end);
  }

  #lastStringIs(key: Buffer): boolean {
    const { length } = key;
    if (this.#stringEnd - this.#stringStart !== length) return false;
    for (let index = 0; index < length; index += 1) {
      if (this.#buffer[this.#stringStart + index] !== key[index]) return false;
    }
    return true;
  }

  #makeRoom(size: number): void {
    if (this.#end + size <= this.#buffer.length) return;
    const kept = this.#end - this.#kept;
    if (kept > this.#options.maximumItemBytes) {
      throw new RangeError(`an item of more than ${this.#options.maximumItemBytes} bytes`);
    }
    // Twice what is needed, so that what is moved stays below what is read.
    const needed = Math.max(usualBytes, (kept + size) * 2);
    const target = needed > this.#buffer.length ? Buffer.allocUnsafe(needed) : this.#buffer;
    this.#buffer.copy(target, 0, this.#kept, this.#end);
    this.#buffer = target;
    const shift = this.#kept;
    this.#kept = 0;
    this.#end -= shift;
    this.#position -= shift;
    this.#stringStart -= shift;
    this.#stringEnd -= shift;
    this.#unicodeEnd -= shift;
    this.#missEnd -= shift;
    if (this.#itemStart !== -1) this.#itemStart -= shift;
    if (this.#cutStart !== -1) this.#cutStart -= shift;
    if (this.#cutEnd !== -1) this.#cutEnd -= shift;
  }
}

function parsed<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T;
  } catch {
    return undefined;
  }
}
