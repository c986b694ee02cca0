/**
 * Splits a stream of bytes into lines. It works on bytes, so that a chunk may end inside a character, and joins the
 * parts of a line once it is complete, so that the cost of an object in a thousand chunks is linear in its size.
 */
const newline = 0x0a;

interface LineSplitter {
  /** Calls `onLine` for each line that this chunk completes. It does not retain the chunk. */
  push(chunk: Buffer): void;
  /** The number of buffered bytes of an incomplete line. */
  readonly pending: number;
}

export function splitLines(maximumBytes: number, onLine: (line: string) => void): LineSplitter {
  let pieces: Buffer[] = [];
  let held = 0;

  const hold = (piece: Buffer) => {
    if (piece.length === 0) return;
    held += piece.length;
    if (held > maximumBytes) {
      const size = held;
      pieces = [];
      held = 0;
      throw new LineTooLong(size, maximumBytes);
    }
    pieces.push(Buffer.from(piece));
  };

  return {
    get pending() {
      return held;
    },
    push(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
        if (held === 0) {
          if (end - start > maximumBytes) throw new LineTooLong(end - start, maximumBytes);
          if (end > start) onLine(chunk.toString('utf8', start, end));
        } else {
          hold(chunk.subarray(start, end));
          const line = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces, held);
          pieces = [];
          held = 0;
          onLine(line.toString('utf8'));
        }
        start = end + 1;
      }
      if (start < chunk.length) hold(start === 0 ? chunk : chunk.subarray(start));
    },
  };
}

export class LineTooLong extends Error {
  constructor(size: number, maximum: number) {
    super(`a line of at least ${size} bytes is longer than the ${maximum} allowed`);
    this.name = 'LineTooLong';
  }
}
