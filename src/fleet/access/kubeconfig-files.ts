/**
 * Kubeconfig files for child processes such as Helm: a file with a temporary token in a private directory, deleted when
 * the process ends.
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
  // Leftovers of crashed processes are removed at once, not only at the next install.
  void sweptOnce(parent);
  return {
    async use(content, use) {
      directory ??= scratchFolder(parent);
      count += 1;
      // The name is assigned before waiting for the directory, because concurrent calls count on.
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
