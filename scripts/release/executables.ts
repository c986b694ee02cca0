/**
 * Single executables of the command line: the bundle in a copy of Node (https://nodejs.org/api/single-executable-applications.html).
 * They contain no server.
 */
import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { commonOptions } from '../package/build.ts';
import { pinnedNode, pinnedPackage } from './pinned.ts';

const run = promisify(execFile);

export type ExecutableArchitecture = 'x64' | 'arm64';

/** Where a copy of Node looks for its program; the number is Node's. */
const resource = 'NODE_SEA_BLOB';
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

interface Postject {
  inject(file: string, resource: string, content: Buffer, options: { sentinelFuse: string }): Promise<void>;
}

/** `buildExecutable` writes the executable for Linux to the file. */
export async function buildExecutable(architecture: ExecutableArchitecture, file: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kidp-executable-'));
  try {
    const node = await pinnedNode(`node-linux-${architecture}@24.21.0`);
    const [main, settings, output] = ['cli.cjs', 'settings.json', 'program.blob'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    await bundleAsOneFile(main);
    // Compiled code is only of use to the machine that compiled it.
    const useCodeCache = process.platform === 'linux' && process.arch === architecture;
    await writeFile(settings, JSON.stringify({ main, output, disableExperimentalSEAWarning: true, useCodeCache }));
    await run(useCodeCache ? node : process.execPath, ['--experimental-sea-config', settings], { cwd: folder });
    await copyFile(node, file);
    await chmod(file, 0o755);
    const postject = await pinnedPackage('postject@1.0.0-alpha.6');
    const { inject } = createRequire(import.meta.url)(join(postject, 'dist', 'api.js')) as Postject;
    await inject(file, resource, await readFile(output), { sentinelFuse: fuse });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function bundleAsOneFile(outfile: string): Promise<void> {
  await build({
    ...commonOptions,
    entryPoints: ['src/cli/main.ts'],
    format: 'cjs',
    outfile,
    // Only servers read files and start threads beside their code.
    define: { 'import.meta.url': '"file:///"' },
  });
}
