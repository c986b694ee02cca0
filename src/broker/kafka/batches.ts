/**
 * Bounds what a fetched record batch takes in memory. A producer chooses how a batch is compressed, and the broker checks only its compressed
 * size: a megabyte of it can hold a gigabyte, and an uncompressed one hundreds of thousands of headers. A batch beyond the limits is replaced
 * by one record that says so, so that the consumer goes on behind it.
 */
import { randomUUID } from 'node:crypto';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';

const mebibyte = 1024 * 1024;
/** The limit of a batch, uncompressed. Producers aim at batches of at most 1 MiB, compressed. */
export const mostBatchBytes = 16 * mebibyte;
/** The limit of all batches of one response, uncompressed; the others are fetched again. */
const mostResponseBytes = 32 * mebibyte;
/** Records and headers, of a batch and of a response. Each becomes an object. */
const mostElements = 200_000;

const tooLarge = `the batch is larger than ${mostBatchBytes / mebibyte} MiB`;

/** The header of the record that replaces a batch. Nobody else can guess its name; its value is the reason. */
export const refusedHeader = `kidp-refused-${randomUUID()}`;

class TooLarge extends Error {
  constructor() {
    super(tooLarge);
    this.name = 'TooLarge';
  }
}

interface Codec {
  readonly bitmask: number;
  readonly decompressSync: (data: Buffer) => Buffer;
}

export type Codecs = Readonly<Record<string, Codec>>;

const bounded = new WeakSet<Codecs>();

/** Replaces the decompressors of the Kafka client by ones that stop at `mostBatchBytes`, for whatever reads a batch. */
export function boundCodecs(codecs: Codecs): void {
  if (bounded.has(codecs)) return;
  bounded.add(codecs);
  const replace = (name: string, decompress: (data: Buffer, original: Codec['decompressSync']) => Buffer) => {
    const codec = codecs[name] as { decompressSync: Codec['decompressSync'] };
    const original = codec.decompressSync;
    codec.decompressSync = (data) => decompress(data, original);
  };
  replace('gzip', (data) => stoppingAtLimit(() => gunzipSync(data, { maxOutputLength: mostBatchBytes })));
  replace('zstd', (data) => stoppingAtLimit(() => zstdDecompressSync(data, { maxOutputLength: mostBatchBytes })));
  // These two have no limit of their own, so the size is read first.
  replace('snappy', (data, original) => original(requireSize(data, snappySize(data))));
  replace('lz4', (data, original) => original(requireSize(data, lz4Size(data))));
}

function stoppingAtLimit(decompress: () => Buffer): Buffer {
  try {
    return decompress();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw new TooLarge();
    throw error;
  }
}

function requireSize(data: Buffer, size: number): Buffer {
  if (size > mostBatchBytes) throw new TooLarge();
  return data;
}

/** A block of Snappy starts with its uncompressed size; the framing of Java producers has several blocks. */
function snappySize(data: Buffer): number {
  const framing = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0]);
  if (!data.subarray(0, 8).equals(framing)) return new Cursor(data, 0).unsigned();
  let size = 0;
  for (let at = 16; at + 4 < data.length && size <= mostBatchBytes; at += 4 + data.readUInt32BE(at))
    size += new Cursor(data, at + 4).unsigned();
  return size;
}

/** The sum over the sequences of all blocks: a frame may, but need not, say its uncompressed size, and nobody checks it. */
function lz4Size(data: Buffer): number {
  let size = 0;
  for (let at = 0; at + 7 <= data.length; ) {
    const magic = data.readUInt32LE(at);
    if (magic >>> 4 === 0x184d2a5) {
      at += 8 + data.readUInt32LE(at + 4);
      continue;
    }
    if (magic !== 0x184d2204) break;
    const flags = data[at + 4] ?? 0;
    at += 7 + ((flags & 0x08) === 0 ? 0 : 8) + ((flags & 0x01) === 0 ? 0 : 4);
    while (at + 4 <= data.length) {
      const header = data.readUInt32LE(at);
      at += 4;
      if (header === 0) break;
      const end = at + (header & 0x7fff_ffff);
      size +=
        header >>> 31 === 1 ? end - at : lz4BlockSize(data, at, Math.min(end, data.length), mostBatchBytes - size);
      if (size > mostBatchBytes) return size;
      at = end + ((flags & 0x10) === 0 ? 0 : 4);
    }
    at += (flags & 0x04) === 0 ? 0 : 4;
  }
  return size;
}

/** A sequence has literals and then a match: the token has both lengths, each continued in further bytes. */
function lz4BlockSize(data: Buffer, from: number, end: number, most: number): number {
  let size = 0;
  let at = from;
  const length = (start: number): number => {
    if (start < 15) return start;
    let sum = start;
    for (let byte = 255; byte === 255 && at < end; at++) {
      byte = data[at] ?? 0;
      sum += byte;
    }
    return sum;
  };
  while (at < end && size <= most) {
    const token = data[at++] ?? 0;
    const literals = length(token >> 4);
    at += literals;
    size += literals;
    if (at >= end) break;
    at += 2;
    size += 4 + length(token & 15);
  }
  return size;
}

/** What a response may still take. */
interface Budget {
  bytes: number;
  elements: number;
}

export const responseBudget = (): Budget => ({ bytes: mostResponseBytes, elements: mostElements });

// The fields of a batch, as places in it.
const lengthAt = 8;
const magicAt = 16;
const attributesAt = 21;
const lastOffsetDeltaAt = 23;
const countAt = 57;
const headBytes = 61;
/** The length counts what follows it. */
const beforeLength = 12;
const codecMask = 0b111;

/**
 * `boundBatches` returns the batches of a partition uncompressed and within the limits. Batches that exceed the budget of the response are
 * left out: the consumer fetches them next.
 */
export function boundBatches(batches: Buffer, codecs: Codecs, budget: Budget): Buffer {
  const bounded: Buffer[] = [];
  for (let at = 0; at + headBytes <= batches.length; ) {
    const end = at + beforeLength + batches.readInt32BE(at + lengthAt);
    // The last batch may be incomplete, and so may a malformed one: the client then stops or fails.
    if (end > batches.length || end < at + headBytes || batches[at + magicAt] !== 2) {
      bounded.push(batches.subarray(at));
      break;
    }
    const { batch, elements } = boundBatch(batches.subarray(at, end), codecs);
    const isFirst = budget.bytes === mostResponseBytes;
    if (!isFirst && (batch.length > budget.bytes || elements > budget.elements)) break;
    budget.bytes -= batch.length;
    budget.elements -= elements;
    bounded.push(batch);
    at = end;
  }
  return Buffer.concat(bounded);
}

function boundBatch(batch: Buffer, codecs: Codecs): { readonly batch: Buffer; readonly elements: number } {
  const attributes = batch.readInt16BE(attributesAt);
  const codec = Object.values(codecs).find(({ bitmask }) => bitmask === (attributes & codecMask));
  let records = batch.subarray(headBytes);
  if ((attributes & codecMask) !== 0) {
    // The client reports an unknown codec.
    if (codec === undefined) return { batch, elements: 0 };
    try {
      records = codec.decompressSync(records);
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error;
      return { batch: refusal(batch, tooLarge), elements: 2 };
    }
  }
  const elements = elementsIn(records, batch.readInt32BE(countAt));
  if (elements > mostElements) {
    return { batch: refusal(batch, `the batch has more than ${mostElements} records and headers`), elements: 2 };
  }
  return { batch: withRecords(batch, records), elements };
}

/** Counts records and headers as the client reads them, and stops above the limit. */
function elementsIn(records: Buffer, count: number): number {
  const cursor = new Cursor(records, 0);
  let elements = 0;
  for (let index = 0; index < count && !cursor.isAtEnd() && elements <= mostElements; index++) {
    elements += 1;
    cursor.unsigned();
    cursor.at += 1;
    cursor.unsigned();
    cursor.unsigned();
    cursor.skip();
    cursor.skip();
    for (let headers = cursor.signed(); headers > 0 && !cursor.isAtEnd() && elements <= mostElements; headers--) {
      elements += 1;
      cursor.skip();
      cursor.skip();
    }
  }
  return elements;
}

function withRecords(batch: Buffer, records: Buffer): Buffer {
  const attributes = batch.readInt16BE(attributesAt);
  if ((attributes & codecMask) === 0) return batch;
  const head = Buffer.from(batch.subarray(0, headBytes));
  head.writeInt32BE(headBytes - beforeLength + records.length, lengthAt);
  head.writeInt16BE(attributes & ~codecMask, attributesAt);
  return Buffer.concat([head, records]);
}

/** The batch with a single record in place of its own, at its last offset. */
function refusal(batch: Buffer, reason: string): Buffer {
  const head = Buffer.from(batch.subarray(0, headBytes));
  const noBytes = varint(-1);
  const record = Buffer.concat([
    // No attributes, and the time of the first record.
    Buffer.from([0, 0]),
    varint(batch.readInt32BE(lastOffsetDeltaAt)),
    noBytes,
    noBytes,
    varint(1),
    ...[refusedHeader, reason].flatMap((text) => [varint(Buffer.byteLength(text)), Buffer.from(text)]),
  ]);
  head.writeInt32BE(1, countAt);
  head.writeInt16BE(batch.readInt16BE(attributesAt) | codecMask, attributesAt);
  return withRecords(head, Buffer.concat([varint(record.length), record]));
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value >= 0 ? value * 2 : -value * 2 - 1;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** Reads numbers of variable length. Behind the end everything is zero. */
class Cursor {
  readonly #bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  isAtEnd = (): boolean => this.at >= this.#bytes.length;

  unsigned(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.#bytes[this.at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80 || factor > Number.MAX_SAFE_INTEGER) return value;
    }
  }

  signed(): number {
    const value = this.unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Skips bytes with their length before them; -1 is the length of none. */
  skip(): void {
    const length = this.signed();
    this.at += Math.max(0, length);
  }
}
