/**
 * Kubeconfigs for programs such as Helm: a file with a temporary token, in a directory that only we can read, for as long as the program
 * runs. What a process left behind that was killed is removed by the next one, when its tokens have long ended.
 */
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConnectionBudget } from '../../runtime/index.ts';

export interface KubeconfigFiles {
  use<Result>(content: () => Promise<string>, use: (path: string) => Promise<Result>): Promise<Result>;
  stop(): Promise<void>;
}

const prefix = 'kidp-access-';
const leftBehindMilliseconds = 4 * 3_600_000;

/** `programs`: how many may be at work at once; more wait. Each has connections of its own. */
export function kubeconfigFiles(programs: number, parent: string = tmpdir()): KubeconfigFiles {
  const places = new ConnectionBudget(programs);
  let directory: Promise<string> | undefined;
  let count = 0;
  const open = async (): Promise<string> => {
    await sweep(parent);
    return mkdtemp(join(parent, prefix));
  };
  return {
    async use(content, use) {
      await new Promise<void>((resolve) => places.take(resolve));
      try {
        directory ??= open();
        count += 1;
        // Before the directory is waited for: others count on meanwhile.
        const name = `${count}.json`;
        const path = join(await directory, name);
        try {
          await writeFile(path, await content(), { mode: 0o600, flag: 'wx' });
          return await use(path);
        } finally {
          await rm(path, { force: true });
        }
      } finally {
        places.release();
      }
    },
    async stop() {
      if (directory !== undefined) await rm(await directory, { recursive: true, force: true });
    },
  };
}

async function sweep(parent: string): Promise<void> {
  const names = (await readdir(parent)).filter((name) => name.startsWith(prefix));
  for (const name of names) {
    const path = join(parent, name);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined || found.uid !== process.getuid?.()) continue;
    if (Date.now() - found.mtimeMs > leftBehindMilliseconds) await rm(path, { recursive: true, force: true });
  }
}
