/** The reasons to stop: a signal, or the end of the parent process. */

/** `untilStopped` resolves once, with the reason. A second Ctrl-C is ignored, because aborting the cleanup would leave things behind. */
export function untilStopped(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve(signal));
    // `npm start`, and `kidp` on an older Node, start this process with a channel (bin/run-on-node.js). It closes when the parent is gone,
    // even after kill -9.
    if (process.channel) {
      process.channel.unref();
      process.once('disconnect', () => resolve('parent process exited'));
    }
  });
}
