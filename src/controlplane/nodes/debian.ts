/** Root file systems of Debian packages, for images that are made without a container engine. */
import { join } from 'node:path';
import { cacheDirectory } from '../cache.ts';
import { makeOnce } from '../once.ts';
import type { Progress } from '../progress.ts';
import type { ImageArchitecture } from './archive.ts';
import { demand } from './run.ts';

interface RootFileSystem {
  readonly packages: readonly string[];
  readonly architecture: ImageArchitecture;
  /** Another revision makes another file. */
  readonly revision?: string;
  readonly onlyCached?: boolean;
  readonly onProgress?: (progress: Progress) => void;
}

const suite = 'bookworm';
/** Device nodes belong to the runtime, names and mirrors to the machine that made this, and package lists to nobody. */
const excluded = [
  './dev/?*',
  './etc/apt',
  './etc/hostname',
  './etc/resolv.conf',
  './etc/fstab',
  './var/cache/apt',
  './var/lib/apt',
];

/**
 * Returns the path of a tar file with these packages and what they depend on, as `mmdebstrap` extracts them: no script of a package runs.
 * It is made once and kept in the cache.
 */
export async function rootFileSystem({
  packages,
  architecture,
  revision = '1',
  onlyCached,
  onProgress = () => undefined,
}: RootFileSystem): Promise<string> {
  const names = [...packages].sort().join('+');
  const folder = await makeOnce({
    asset: `debian-${names}`,
    version: suite,
    cache: join(cacheDirectory(process.env), 'assets'),
    key: `debian-${suite}-${architecture}-${names}-${revision}`,
    onProgress,
    onlyCached,
    async make({ finished, temporary }, report) {
      report('prepare', 0, 1);
      const root = join(temporary, 'root');
      const include = `--include=${packages.join(',')}`;
      await demand('mmdebstrap', [
        '--quiet',
        '--variant=extract',
        `--architectures=${architecture}`,
        include,
        suite,
        root,
      ]);
      await demand('tar', [
        ...['--create', '--file', join(finished, 'root.tar'), '--directory', root, '--format=ustar'],
        ...['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'],
        ...excluded.map((path) => `--exclude=${path}`),
        '.',
      ]);
      await demand('rm', ['-rf', root]);
    },
  });
  return join(folder, 'root.tar');
}
