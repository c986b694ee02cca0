import { compressionsAlgorithms, createRecordsBatch, Reader, readRecordsBatches } from '@platformatic/kafka';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundBatches, boundCodecs, type Codecs, mostBatchBytes, refusedHeader, responseBudget } from './batches.ts';

const codecs = compressionsAlgorithms as unknown as Codecs;
boundCodecs(codecs);

type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
interface Sent {
  readonly value: Buffer;
  readonly headers?: Map<Buffer, Buffer>;
}
const batchOf = (messages: readonly Sent[], compression: Compression, firstOffset = 0n): Buffer => {
  const sent = messages.map((message) => ({ topic: 'a', ...message }));
  const { buffer } = createRecordsBatch(sent as never, { compression } as never);
  const batch = Buffer.from(buffer);
  batch.writeBigInt64BE(firstOffset);
  return batch;
};
const read = (batches: Buffer) =>
  readRecordsBatches(Reader.from(boundBatches(batches, codecs, responseBudget()))).flatMap((batch) =>
    batch.records.map(({ value, headers, offsetDelta }) => ({
      offset: Number(batch.firstOffset) + offsetDelta,
      value: value?.toString() ?? null,
      refused: (headers as unknown as [Buffer, Buffer][])
        .find(([name]) => String(name) === refusedHeader)?.[1]
        .toString(),
    })),
  );
const values = (count: number) => Array.from({ length: count }, (_, index) => ({ value: Buffer.from(`v${index}`) }));
const zeros = (bytes: number) => ({ value: Buffer.alloc(bytes) });
const compressed = ['gzip', 'snappy', 'lz4', 'zstd'] as const;
const tooLarge = 'the batch is larger than 16 MiB';

describe.each(compressed)('%s', (codec) => {
  test('a batch is read as it was sent', () => {
    expect(read(batchOf(values(20), codec, 5n))).toEqual(
      values(20).map(({ value }, index) => ({ offset: 5 + index, value: String(value), refused: undefined })),
    );
  });

  test('the next batch follows', () => {
    const batches = Buffer.concat([batchOf(values(2), codec), batchOf(values(1), codec, 2n)]);
    expect(read(batches).map(({ offset }) => offset)).toEqual([0, 1, 2]);
  });

  test('a batch that is larger than the limit is replaced by a record at its last offset', () => {
    const bomb = batchOf([...values(2), zeros(mostBatchBytes)], codec, 7n);
    expect(read(Buffer.concat([bomb, batchOf(values(1), codec, 10n)]))).toEqual([
      { offset: 9, value: null, refused: tooLarge },
      { offset: 10, value: 'v0', refused: undefined },
    ]);
  });

  test('the client itself stops at the limit too', () => {
    expect(() => readRecordsBatches(Reader.from(batchOf([zeros(mostBatchBytes)], codec)))).toThrow(tooLarge);
    expect(readRecordsBatches(Reader.from(batchOf([zeros(mostBatchBytes - 100)], codec)))).toHaveLength(1);
  });

  test('what exceeds the limit of a response is left for the next one', () => {
    const nine = () => zeros(9 * 1024 * 1024);
    const batches = [0n, 1n, 2n, 3n].map((offset) => batchOf([nine()], codec, offset));
    expect(read(Buffer.concat(batches)).map(({ offset }) => offset)).toEqual([0, 1, 2]);
  });
});

test.each([
  { reason: 'blocks of 64 KiB', header: [0x60, 0x40], most: 64 * 1024 },
  {
    reason: 'a size in the header that is not true',
    header: [0x68, 0x70, 1, 0, 0, 0, 0, 0, 0, 0],
    most: 4 * 1024 * 1024,
  },
])('lz4: the size of a frame is counted, with $reason', ({ header, most }) => {
  // A literal, a match that is as long as the block, and five literals.
  const rest = most - 1 - 19 - 5;
  const length = [...Array<number>(Math.floor(rest / 255)).fill(255), rest % 255];
  const block = Buffer.from([0x1f, 0, 1, 0, ...length, 0x50, 1, 2, 3, 4, 5]);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(block.length);
  const count = Math.ceil((mostBatchBytes + 1) / most);
  const blocks = Array.from({ length: count }, () => [size, block]).flat();
  const frame = Buffer.concat([Buffer.from([0x04, 0x22, 0x4d, 0x18, ...header, 0]), ...blocks, Buffer.alloc(4)]);
  expect(() => codecs.lz4?.decompressSync(frame)).toThrow(tooLarge);
});

test('snappy: the blocks of Java producers are counted together', () => {
  const framed = (sizes: readonly number[]) =>
    Buffer.concat([
      Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]),
      ...sizes.flatMap((size) => {
        const block = compressionsAlgorithms.snappy.compressSync(Buffer.alloc(size));
        const length = Buffer.alloc(4);
        length.writeUInt32BE(block.length);
        return [length, block];
      }),
    ]);
  const half = mostBatchBytes / 2;
  expect(codecs.snappy?.decompressSync(framed([half, half]))).toHaveLength(mostBatchBytes);
  expect(() => codecs.snappy?.decompressSync(framed([half, half, 1]))).toThrow(tooLarge);
});

test.each(['none', 'gzip'] as const)('%s: a record with too many headers is replaced', (compression) => {
  const headers = new Map(Array.from({ length: 200_001 }, () => [Buffer.alloc(0), Buffer.alloc(0)]));
  const batch = batchOf([{ value: Buffer.from('a'), headers }], compression);
  expect(read(batch)).toEqual([
    { offset: 0, value: null, refused: 'the batch has more than 200000 records and headers' },
  ]);
});

test('uncompressed batches are returned as they are, also a last one that is incomplete', () => {
  const batches = Buffer.concat([batchOf(values(3), 'none'), batchOf(values(3), 'none', 3n).subarray(0, 70)]);
  expect(boundBatches(batches, codecs, responseBudget())).toEqual(batches);
});

test('damaged batches end in an error or are left to the client', () => {
  const batch = fc.constantFrom<Compression>('none', ...compressed).map((codec) => batchOf(values(5), codec));
  const change = fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(batch, change, (bytes, changes) => {
      for (const [at, byte] of changes) if (at < bytes.length) bytes[at] = byte;
      try {
        boundBatches(bytes, codecs, responseBudget());
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    }),
  );
});
