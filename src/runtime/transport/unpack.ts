/**
 * Decompresses a body while it is received. Long lists are compressed because that is cheaper for both sides, measured
 * on 10,000 objects of 2 KB: the server compresses in the time that it would need to encrypt and send fifteen times the
 * bytes, and the client reads 900 chunks instead of 14,000. zlib runs on its own thread. Its output is passed on in a
 * separate turn of the event loop, so that zlib decompresses the next piece while the current one is parsed.
 */
import { createGunzip, gunzipSync } from 'node:zlib';
import type { HeaderValues } from './exchange.ts';

/** The number of compressed bytes that may be buffered before the socket is paused. */
const mostWaiting = 1024 * 1024;
/**
 * The number of compressed bytes that justifies a switch to the thread and back; a list is received in chunks of 4 KB.
 */
const pieceBytes = 16 * 1024;

export interface Unpacker {
  /** Does not retain the chunk. Returns false if the caller must wait for `onDrain`. */
  write(chunk: Buffer): boolean;
  /** Ends the input; `onEnd` follows. */
  end(): void;
  /** Discards the rest: nothing more is passed on. */
  abandon(): void;
}

interface UnpackOptions {
  sink: (chunk: Buffer) => void;
  onDrain: () => void;
  onEnd: () => void;
  /** Called with an error of zlib or of the sink. */
  onError: (error: Error) => void;
}

export function isPacked(headers: HeaderValues): boolean {
  return headers['content-encoding'] === 'gzip';
}

export function unpackWhole(body: Buffer, maximumBytes: number): Buffer {
  return gunzipSync(body, { maxOutputLength: maximumBytes });
}

export function unpack({ sink, onDrain, onEnd, onError }: UnpackOptions): Unpacker {
  const gunzip = createGunzip({ chunkSize: 256 * 1024 });
  // Two buffers: one is filled while zlib reads the other.
  let packed = Buffer.allocUnsafe(4 * pieceBytes);
  let spare = Buffer.allocUnsafe(4 * pieceBytes);
  let waiting = 0;
  let isWaitedFor = false;
  let working = false;
  let ending = false;
  let unpacked: Buffer[] = [];
  let turn: NodeJS.Immediate | undefined;
  let ended = false;
  let abandoned = false;

  const abandon = () => {
    abandoned = true;
    clearImmediate(turn);
    waiting = 0;
    unpacked = [];
    gunzip.destroy();
  };
  const fail = (error: unknown) => {
    if (abandoned) return;
    abandon();
    onError(error as Error);
  };
  const handOn = () => {
    turn = undefined;
    const chunks = unpacked;
    unpacked = [];
    try {
      for (const chunk of chunks) if (!abandoned) sink(chunk);
    } catch (error) {
      fail(error);
    }
    if (ended && !abandoned) onEnd();
  };
  const later = () => {
    if (!abandoned) turn ??= setImmediate(handOn);
  };

  // The next piece is everything that was received in the meantime: each piece costs a switch to the thread and back.
  const work = () => {
    if (working || abandoned) return;
    if (waiting === 0) {
      if (ending) gunzip.end();
      return;
    }
    if (waiting < pieceBytes && !ending) return;
    const piece = packed.subarray(0, waiting);
    [packed, spare] = [spare, packed];
    waiting = 0;
    working = true;
    gunzip.write(piece, () => {
      working = false;
      work();
    });
    if (!isWaitedFor) return;
    isWaitedFor = false;
    onDrain();
  };

  gunzip.on('data', (chunk: Buffer) => {
    unpacked.push(chunk);
    later();
  });
  gunzip.on('end', () => {
    ended = true;
    later();
  });
  gunzip.on('error', fail);
  return {
    write(chunk) {
      if (waiting + chunk.length > packed.length) {
        const larger = Buffer.allocUnsafe(2 * (waiting + chunk.length));
        packed.copy(larger, 0, 0, waiting);
        packed = larger;
      }
      chunk.copy(packed, waiting);
      waiting += chunk.length;
      work();
      isWaitedFor = waiting >= mostWaiting;
      return !isWaitedFor;
    },
    end() {
      ending = true;
      work();
    },
    abandon,
  };
}
