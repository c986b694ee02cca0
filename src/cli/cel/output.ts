/** Answers that go to another program, which may be slow to take them or may have seen enough. */

/** Resolves when `text` has been taken; false when the reader has gone (`| head`), which is no failure of ours. */
export function hand(out: NodeJS.WritableStream, text: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    // The promise rejects on a failure; without a listener, the error event would end the process.
    if (out.listenerCount('error') === 0) out.on('error', () => undefined);
    out.write(text, (error) => {
      if (!error) resolve(true);
      else if ((error as NodeJS.ErrnoException).code === 'EPIPE') resolve(false);
      else reject(error);
    });
  });
}
