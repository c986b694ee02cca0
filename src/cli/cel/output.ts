/** Writes output for another program, which may read slowly or stop reading. */
import { escapeUnsafe } from '../../runtime/internal.ts';

/** `hand` resolves when `text` is written; to false if the reader has closed the pipe (`| head`), which is no failure. */
export function hand(out: NodeJS.WritableStream, text: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    // The promise rejects on a failure; without a listener, the error event would end the process.
    if (out.listenerCount('error') === 0) out.on('error', () => undefined);
    out.write(escapeUnsafe(text), (error) => {
      if (!error) resolve(true);
      else if ((error as NodeJS.ErrnoException).code === 'EPIPE') resolve(false);
      else reject(error);
    });
  });
}
