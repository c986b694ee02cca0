/** The streams that a command reads and writes; tests pass their own. */
export interface Streams {
  in: NodeJS.ReadableStream;
  out: { write(text: string): unknown; readonly isTTY?: boolean };
  err: { write(text: string): unknown; readonly isTTY?: boolean };
}

export const terminal: Streams = { out: process.stdout, err: process.stderr, in: process.stdin };
