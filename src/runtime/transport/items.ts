/**
 * Extracts the items of a list while it is received, so that a list of any length needs the memory of a few items, is
 * parsed while the server still writes, and managedFields (up to half of the bytes) need not be parsed.
 *
 * There are two ways to find the end of an item. The scanner tracks depth and strings byte by byte. The leap relies on
 * the output of the API server, in which all items start alike: it searches for the last such start with the native
 * search of Node, and checks with JSON.parse whether the text up to there consists of complete items. That is exact,
 * because no list of objects is a prefix of another. If the check fails, the scanner takes those items. In a process
 * that has just started, as a controller has when it lists, the scanner would take as long as parsing.
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

/** The depths of the parts of a list: `{ "items": [ { "metadata": { "managedFields": [ … ] } } ] }`. */
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

/**
 * Replaces removed managedFields in the text. The server never writes this value, so it identifies the removed parts.
 */
const mark = false;
const markedText = `"managedFields":${mark}`;
const markedField = Buffer.from(markedText);

/** An item that is incomplete after this many bytes is left to the scanner, which does not read them again. */
const longestLeap = 64 * 1024;
/**
 * The number of bytes that are parsed at once, if there are more. A text of this length fits into the young generation
 * of V8; for a longer text V8 allocates system memory and frees it right afterwards.
 */
const batchBytes = 112 * 1024;
/**
 * The initial size of the buffer. Most lists are short, and allocating memory for a long one would dominate their cost,
 * so the buffer grows on demand. Memory of this size is still allocated from the heap of the process.
 */
const firstBytes = 32 * 1024;
const usualBytes = 256 * 1024;
/**
 * Leaping is disabled for lists whose items often contain text that looks like the start of an item or of
 * managedFields.
 */
const mostMisses = 8;

interface ItemOptions<T> {
  maximumItemBytes: number;
  /** Omits managedFields: metadata then has no such field, or undefined. */
  omitManagedFields: boolean;
  onItem: (item: T) => void;
}

export class ItemSplitter<T> {
  readonly #options: ItemOptions<T>;
  // One buffer to which every chunk is appended, so that an item is always contiguous.
  #buffer = Buffer.allocUnsafe(firstBytes);
  #end = 0;
  /** The position of the scanner. */
  #position = 0;
  /** The start of the bytes that are still needed. */
  #kept = 0;
  #depth = 0;
  #withinString = false;
  #inItems = false;
  #inMetadata = false;
  /** The start and end of the last string at a relevant depth. */
  #stringStart = 0;
  #stringEnd = 0;
  #itemStart = -1;
  #cutStart = -1;
  #cutEnd = -1;
  /** The end of the last chunk with non-ASCII bytes. */
  #unicodeEnd = 0;
  /** The list without its items. */
  #envelope = '';
  /** The text between two items, learned from the first ones. */
  #delimiter: Buffer | undefined;
  #mayLeap = true;
  /** Whether it is at the end of an item and waits for the end of the next. */
  #leaping = false;
  #misses = 0;
  /** The position up to which the scanner runs after a miss. */
  #missEnd = 0;
  /** The text of several items without their managedFields. */
  #scratch = Buffer.alloc(0);

  constructor(options: ItemOptions<T>) {
    this.#options = options;
  }

  /** Throws a SyntaxError for invalid JSON and a RangeError for an item that is too large. */
  push(chunk: Buffer): void {
    this.#makeRoom(chunk.length);
    chunk.copy(this.#buffer, this.#end);
    this.#end += chunk.length;
    if (!isAscii(chunk)) this.#unicodeEnd = this.#end;
    if (this.#leaping) this.#leap();
    if (!this.#leaping) this.#scan();
  }

  /** Returns the list without its items. The result is not valid JSON if the list is incomplete. */
  finish(): string {
    // No more bytes will be received.
    this.#stopLeaping();
    this.#scan();
    this.#envelope += this.#buffer.toString('utf8', this.#kept, this.#end);
    return this.#envelope;
  }

  #scan(): void {
    // Local variables for everything in the inner loop: a private field costs several times as much.
    const buffer = this.#buffer;
    const end = this.#end;
    let position = this.#position;
    let depth = this.#depth;
    let withinString = this.#withinString;
    while (position < end) {
      if (withinString) {
        for (let byte = buffer[position] as number; byte !== quote; byte = buffer[position] as number) {
          // This may skip beyond the end of the chunk: a backslash at the end escapes the first byte of the next chunk.
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

  /** Emits the item whose end the scanner has found. */
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

  /**
   * Learns the delimiter `{"apiVersion":"v1","kind":"ConfigMap","metadata":{`, or the shorter one in a list of a
   * built-in kind.
   */
  #learn(start: number, end: number): Buffer | undefined {
    const found = this.#buffer.subarray(start, Math.min(end, start + 1024)).indexOf(metadataStart);
    if (found === -1) return undefined;
    return Buffer.concat([Buffer.from('},'), this.#buffer.subarray(start, start + found + metadataStart.length)]);
  }

  /**
   * Takes the items that follow the end of an item. It leaves `#leaping` set while it waits for more bytes, and the
   * position of the scanner at the end of the last item.
   */
  #leap(): void {
    const delimiter = this.#kept < this.#missEnd ? undefined : this.#delimiter;
    this.#leaping = delimiter !== undefined && this.#hop(delimiter, this.#buffer.subarray(0, this.#end));
    this.#position = this.#kept;
  }

  /** Returns whether to wait for more bytes. */
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

  /** Returns the items, or undefined if the text is not exactly a sequence of items. */
  #itemsBetween(bytes: Buffer, start: number, end: number): T[] | undefined {
    if (this.#options.omitManagedFields) return this.#itemsWithout(bytes, start, end);
    return parsed<T[]>(`[${this.#text(start, end)}]`);
  }

  /**
   * Each removed part ends with the first `]`. If that bracket were inside the managedFields, the remaining brackets
   * would not match, and if it were in a string, the quotes would not: neither parses. If the managedFields belonged to
   * an object inside an item, the mark would not be in the metadata of the item.
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
    // Nearly all text in Kubernetes is ASCII, which decodes faster as latin1.
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
    // Twice the needed size, so that fewer bytes are moved than are read.
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
