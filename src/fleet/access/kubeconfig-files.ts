/**
 * Kubeconfigs for programs such as Helm: a file with a temporary token, in a directory that only we can read, for as long as the program
 * runs.
 */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { scratchFolder, sweptOnce } from '../scratch/index.ts';

interface KubeconfigFiles {
  use<Result>(content: () => Promise<string>, use: (path: string) => Promise<Result>): Promise<Result>;
  stop(): Promise<void>;
}

export function kubeconfigFiles(parent?: string): KubeconfigFiles {
  let directory: Promise<string> | undefined;
  let count = 0;
  // At once: what was left behind must not lie there until something is installed again.
  void sweptOnce(parent);
  return {
    async use(content, use) {
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
    },
    async stop() {
      if (directory !== undefined) await rm(await directory, { recursive: true, force: true });
    },
  };
}
