/** npm packages that are fetched for an architecture of the image, verified against the integrity they are pinned by. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheDirectory, type ImageArchitecture, makeOnce, type Progress } from '../../src/controlplane/index.ts';
import pins from './pins.json' with { type: 'json' };

interface NpmPackage {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

const run = promisify(execFile);

/** The package with Node, one of those that the package `node` installs. */
export const nodePackage = (architecture: ImageArchitecture): NpmPackage => ({
  name: `node-linux-${architecture === 'amd64' ? 'x64' : 'arm64'}`,
  version: pins.node.version,
  integrity: pins.node.integrity[architecture],
});

/** Returns the folder of a package in the cache. */
export async function npmPackage(
  { name, version, integrity }: NpmPackage,
  onProgress: (progress: Progress) => void,
): Promise<string> {
  const asset = name.replace('/', '-').replace('@', '');
  const folder = await makeOnce({
    asset,
    version,
    cache: join(cacheDirectory(process.env), 'assets'),
    key: `${asset}-${version}-${createHash('sha256').update(integrity).digest('hex').slice(0, 12)}`,
    onProgress,
    async make({ finished, temporary }, report) {
      report('download', 0, 1);
      await mkdir(join(temporary, 'archive'));
      await run('npm', ['pack', `${name}@${version}`, '--pack-destination', join(temporary, 'archive')], {
        cwd: temporary,
      });
      const [archive = ''] = await readdir(join(temporary, 'archive'));
      const file = join(temporary, 'archive', archive);
      const found = `sha512-${createHash('sha512')
        .update(await readFile(file))
        .digest('base64')}`;
      if (found !== integrity) {
        throw new Error(`${name}@${version} was downloaded with the integrity ${found}, and is pinned to ${integrity}`);
      }
      await run('tar', ['--extract', '--file', file, '--directory', temporary]);
      await rename(join(temporary, 'package'), join(finished, 'package'));
    },
  });
  return join(folder, 'package');
}
