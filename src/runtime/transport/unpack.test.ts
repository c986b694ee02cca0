import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { unpack, unpackWhole } from './unpack.ts';

const text = Buffer.from(randomBytes(200_000).toString('hex'));
const packed = gzipSync(text);

/**
 * Writes the bytes in pieces like a socket, respecting the result of `write`. Resolves to the output or rejects with
 * the error.
 */
function run(bytes: Buffer, pieceSize: number, take: (chunk: Buffer) => void = () => {}): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let position = 0;
    const feed = () => {
      while (position < bytes.length) {
        const piece = bytes.subarray(position, position + pieceSize);
        position += piece.length;
        if (!unpacker.write(piece)) return;
      }
      unpacker.end();
    };
    const unpacker = unpack({
      sink: (chunk) => {
        take(chunk);
        chunks.push(Buffer.from(chunk));
      },
      onDrain: feed,
      onEnd: () => resolve(Buffer.concat(chunks)),
      onError: reject,
    });
    feed();
  });
}

describe('decompressing a body while it is received', () => {
  for (const { reason, pieceSize } of [
    { reason: 'in small pieces', pieceSize: 700 },
    { reason: 'in one piece', pieceSize: packed.length },
  ]) {
    it(`returns every byte, in order, and then the end: ${reason}`, async () => {
      expect((await run(packed, pieceSize)).equals(text)).toBe(true);
    });
  }

  it('pauses if more arrives than is decompressed', async () => {
    const large = Buffer.from(randomBytes(3_000_000).toString('hex'));
    expect((await run(gzipSync(large), 300_000)).equals(large)).toBe(true);
  });

  it('fails on an incomplete body', async () => {
    await expect(run(packed.subarray(0, packed.length / 2), 700)).rejects.toThrow('unexpected end of file');
  });

  it('fails on a body that is not compressed', async () => {
    await expect(run(text, 700)).rejects.toThrow('incorrect header check');
  });

  it('reports an error of the reader once, and stops reading', async () => {
    let calls = 0;
    const failing = run(packed, 700, () => {
      calls += 1;
      throw new RangeError('too large');
    });
    await expect(failing).rejects.toThrow('too large');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(calls).toBe(1);
  });

  it('passes on nothing after it was abandoned', async () => {
    const unheard: string[] = [];
    const unpacker = unpack({
      sink: () => unheard.push('chunk'),
      onDrain: () => {},
      onEnd: () => unheard.push('end'),
      onError: () => unheard.push('error'),
    });
    unpacker.write(packed);
    unpacker.abandon();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(unheard).toEqual([]);
  });
});

describe('decompressing a complete body', () => {
  it('returns it', () => {
    expect(unpackWhole(packed, text.length).equals(text)).toBe(true);
  });

  it('limits the decompressed size', () => {
    expect(() => unpackWhole(gzipSync(Buffer.alloc(1_000_000)), 1_000)).toThrow(RangeError);
  });
});
