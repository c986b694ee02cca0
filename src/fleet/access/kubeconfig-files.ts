/**
 * Kubeconfigs for programs such as Helm: a file with a temporary token, in a directory that only we can read, for as long as the program
 * runs.
 */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConnectionBudget } from '../../runtime/index.ts';
import { scratchFolder, swept } from '../scratch/index.ts';

export interface KubeconfigFiles {
  use<Result>(content: () => Promise<string>, use: (path: string) => Promise<Result>): Promise<Result>;
  stop(): Promise<void>;
}

/** `programs`: how many may be at work at once; more wait. Each has connections of its own. */
export function kubeconfigFiles(programs: number, parent?: string): KubeconfigFiles {
  const places = new ConnectionBudget(programs);
  let directory: Promise<string> | undefined;
  let count = 0;
  // At once: what was left behind must not lie there until something is installed again.
  void swept(parent);
  return {
    async use(content, use) {
      await new Promise<void>((resolve) => places.take(resolve));
      try {
        directory ??= scratchFolder(parent);
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
