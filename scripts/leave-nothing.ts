/** Whichever way this process ends, kill -9 among them, nothing of what it has started stays: no process, no temporary directory. */
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reaper } from '../src/controlplane/index.ts';

/**
 * To be called before anything is started. Processes are known by their environment, which all of them inherit (where the system shows it:
 * Linux); temporary files go into one directory.
 */
export async function leaveNothingBehind(): Promise<void> {
  const { environment, tell } = reaper();
  const temporary = join(tmpdir(), `kidp-test-${randomBytes(6).toString('hex')}`);
  await tell({ directory: temporary });
  mkdirSync(temporary, { mode: 0o700 });
  Object.assign(process.env, environment, { TMPDIR: temporary });
  // `npm test` hands over to this process with a channel (bin/hand-over.js); it closes when that process is gone.
  if (process.channel) {
    process.channel.unref();
    process.once('disconnect', () => process.exit(1));
  }
}
