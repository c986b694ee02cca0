/** npm packages that the work tree does not install, because only a release or a test of it needs them. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory } from '../../src/controlplane/index.ts';
import pins from './pins.json' with { type: 'json' };

const run = promisify(execFile);

/** A package with its version, as in pins.json. */
export type Pinned = keyof typeof pins;

/** `pinnedPackage` returns the folder of a package. It is downloaded once, and unpacked only if it has the integrity of pins.json. */
export async function pinnedPackage(name: Pinned): Promise<string> {
  const cache = join(cacheDirectory(process.env), 'npm');
  const place = join(cache, `${name}-${createHash('sha256').update(pins[name]).digest('hex').slice(0, 12)}`);
  if (existsSync(place)) return place;
  await mkdir(cache, { recursive: true });
  const temporary = await mkdtemp(join(cache, 'download-'));
  try {
    await run('npm', ['pack', name, '--pack-destination', temporary, '--ignore-scripts'], { cwd: temporary });
    const [archive = ''] = await readdir(temporary);
    const found = `sha512-${createHash('sha512')
      .update(await readFile(join(temporary, archive)))
      .digest('base64')}`;
    if (found !== pins[name]) throw new Error(`${name} has the integrity ${found}, and pins.json has ${pins[name]}`);
    await run('tar', ['--extract', '--file', join(temporary, archive), '--directory', temporary]);
    await rename(join(temporary, 'package'), place).catch((error: NodeJS.ErrnoException) => {
      // Another process was faster.
      if (!existsSync(place)) throw error;
    });
    return place;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** `pinnedNode` returns the program of a package `node-…`. */
export const pinnedNode = async (name: Exclude<Pinned, `postject@${string}`>): Promise<string> =>
  join(await pinnedPackage(name), 'bin', 'node');
