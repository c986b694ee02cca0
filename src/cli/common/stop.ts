/** When to stop: a signal, or the end of the process that started us. */

/** Resolves with the reason, once. A second Ctrl-C while stopping is not a second stop: it would leave things behind. */
export function untilStopped(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve(signal));
    // `npm start`, and `kidp` on an older Node, hand over to this process (bin/run-on-node.js) with a channel; it closes when that process
    // is gone, even by kill -9.
    if (process.channel) {
      process.channel.unref();
      process.once('disconnect', () => resolve('the process that started it has ended'));
    }
  });
}
