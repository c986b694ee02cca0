/**
 * Cuts the items out of a list while it is still coming in, so that a list of any length needs the memory of one item,
 * is parsed while the server still writes, and managedFields (up to half of the bytes) need not be parsed at all.
 *
 * It follows depth and strings byte by byte and leaves all else to JSON.parse: a list that is not well-formed fails there.
 */
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

export interface ItemOptions {
  maximumItemBytes: number;
  omitManagedFields: boolean;
  /** The JSON of one item. */
  onItem: (json: string) => void;
}

export class ItemSplitter {
  readonly #options: ItemOptions;
  // One stretch of memory that every chunk is copied to the end of, so that an item is always in one piece.
  #buffer = Buffer.allocUnsafe(256 * 1024);
  #end = 0;
  #position = 0;
  /** Bytes before this are done with. */
  #kept = 0;
  #depth = 0;
  #inString = false;
  #inItems = false;
  #inMetadata = false;
  /** Where the last string at a depth that matters began and ended. */
  #stringStart = 0;
  #stringEnd = 0;
  #itemStart = -1;
  #cutStart = -1;
  #cutEnd = -1;
  #notAscii = 0;
  /** The list without its items. */
  #envelope = '';

  constructor(options: ItemOptions) {
    this.#options = options;
  }

  push(chunk: Buffer): void {
    this.#makeRoom(chunk.length);
    chunk.copy(this.#buffer, this.#end);
    this.#end += chunk.length;
    this.#scan();
  }

  /** What is left of the list when its items are taken out. Throws a SyntaxError where the list is not whole. */
  finish(): string {
    this.#envelope += this.#buffer.toString('utf8', this.#kept, this.#end);
    return this.#envelope;
  }

  #scan(): void {
    // Everything that is touched for each byte is local: a field costs several times as much.
    const buffer = this.#buffer;
    const end = this.#end;
    let position = this.#position;
    let depth = this.#depth;
    let inString = this.#inString;
    while (position < end) {
      if (inString) {
        let bits = 0;
        for (let byte = buffer[position] as number; byte !== quote; byte = buffer[position] as number) {
          bits |= byte;
          // May step past the end, over what a backslash at the end of this chunk escapes in the next.
          position += byte === backslash ? 2 : 1;
          if (position >= end) break;
        }
        this.#notAscii |= bits & 0x80;
        if (position >= end) break;
        inString = false;
        position += 1;
        if (depth <= insideMetadata) this.#stringEnd = position;
        continue;
      }
      const byte = buffer[position] as number;
      if (byte === quote) {
        inString = true;
        if (depth <= insideMetadata) this.#stringStart = position;
      } else if (byte === openBrace) {
        depth += 1;
        if (depth === insideItem && this.#inItems) this.#itemStart = position;
      } else if (byte === closeBrace) {
        depth -= 1;
        if (depth === insideItems && this.#inItems) this.#emit(position + 1);
      } else if (byte === openBracket) {
        depth += 1;
        if (depth === insideItems && this.#lastStringIs(itemsKey)) this.#enterItems(position + 1);
        else if (depth === insideManagedFields && this.#inMetadata && this.#lastStringIs(managedFieldsKey)) {
          this.#cutStart = this.#stringStart;
        }
      } else if (byte === closeBracket) {
        depth -= 1;
        if (depth === insideMetadata && this.#cutStart !== -1 && this.#cutEnd === -1) this.#cutEnd = position + 1;
        else if (depth === insideList && this.#inItems) this.#leaveItems(position);
      } else if (byte === colon && depth === insideItem) {
        this.#inMetadata = this.#lastStringIs(metadataKey);
      }
      position += 1;
    }
    this.#position = position;
    this.#depth = depth;
    this.#inString = inString;
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

  #emit(end: number): void {
    // Nearly all of Kubernetes is ASCII, and that is decoded faster when one knows.
    const encoding = this.#notAscii === 0 ? 'latin1' : 'utf8';
    const start = this.#itemStart;
    let json: string;
    if (this.#cutStart === -1 || !this.#options.omitManagedFields) {
      json = this.#buffer.toString(encoding, start, end);
    } else {
      // One comma goes with it: the one behind, or before where it is the last. Otherwise it stays in (spaced-out JSON).
      let from = this.#cutStart;
      let to = this.#cutEnd;
      if (this.#buffer[to] === comma) to += 1;
      else if (this.#buffer[to] === closeBrace && this.#buffer[from - 1] === comma) from -= 1;
      else to = from;
      json = this.#buffer.toString(encoding, start, from) + this.#buffer.toString(encoding, to, end);
    }
    this.#itemStart = -1;
    this.#cutStart = -1;
    this.#cutEnd = -1;
    this.#inMetadata = false;
    this.#notAscii = 0;
    this.#kept = end;
    this.#options.onItem(json);
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
    const needed = (kept + size) * 2;
    const target = needed > this.#buffer.length ? Buffer.allocUnsafe(needed) : this.#buffer;
    this.#buffer.copy(target, 0, this.#kept, this.#end);
    this.#buffer = target;
    const shift = this.#kept;
    this.#kept = 0;
    this.#end -= shift;
    this.#position -= shift;
    this.#stringStart -= shift;
    this.#stringEnd -= shift;
    if (this.#itemStart !== -1) this.#itemStart -= shift;
    if (this.#cutStart !== -1) this.#cutStart -= shift;
    if (this.#cutEnd !== -1) this.#cutEnd -= shift;
  }
}
