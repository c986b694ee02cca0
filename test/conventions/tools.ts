/** Runs the development tools over the whole repository in parallel to other tests. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '..', '..');

/**
 * What a tool says where it is not content, and nothing where it is. TypeScript is given room, for it to collect less garbage, and one
 * thread: several check much of the same, and the other cores are busy with other tests.
 */
export function complaintsOf(tool: 'biome' | 'tsc', words: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const options = { cwd: root, env: { ...process.env, GOGC: '400' }, maxBuffer: 64 * 1024 * 1024 };
    execFile(join(root, 'node_modules', '.bin', tool), words, options, (error, stdout, stderr) =>
      resolve(error === null ? '' : `${error.message}\n${stdout}${stderr}`),
    );
  });
}
