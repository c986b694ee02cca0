/** Cleanup after this process, also after kill -9: the processes it started are killed and its temporary directory is removed. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reaper } from '../src/controlplane/index.ts';

/**
 * `cleanUpOnExit` must be called before anything is started. The reaper finds processes by an environment variable that all of them inherit
 * (on Linux, where environments can be read). Temporary files go into one directory.
 */
export async function cleanUpOnExit(): Promise<void> {
  const { environment, notify } = reaper();
  const temporary = join(tmpdir(), `kidp-test-${randomBytes(6).toString('hex')}`);
  await notify({ directory: temporary });
  mkdirSync(temporary, { mode: 0o700 });
  Object.assign(process.env, environment, { TMPDIR: temporary });
  // `npm test` starts this process with an IPC channel (bin/run-on-node.js); the channel closes when npm is gone.
  if (process.channel) {
    process.channel.unref();
    process.once('disconnect', () => process.exit(1));
  }
}
