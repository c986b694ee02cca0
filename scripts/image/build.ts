/**
 * Builds the image of kidp without a container engine: libraries and certificates of Debian, Node, Helm, and the built package with its
 * production dependencies, each a layer. Equal sources give an equal digest: nothing depends on the time, the user or the machine.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Architecture,
  compressedLayer,
  ensureAssets,
  type ImageArchitecture,
  type ImageContent,
  type ImageLayer,
  type Progress,
  type TarEntry,
  tar,
} from '../../src/controlplane/index.ts';
import { root } from '../../test/conventions/tools.ts';
import { layOutPackage } from '../../test/support/package.ts';
import { baseLayer, type DebianPackage } from './base.ts';
import { productionPackages } from './dependencies.ts';
import { nodePackage, npmPackage } from './npm-package.ts';

export interface BuiltImage {
  readonly content: ImageContent;
  readonly packages: readonly DebianPackage[];
  readonly helm: string;
}

/** Builds the image for one architecture. `kidp` is the layer of `packageLayer`, which is the same for all. */
export async function buildImage(
  architecture: ImageArchitecture,
  kidp: ImageLayer,
  onProgress: (progress: Progress) => void,
): Promise<BuiltImage> {
  const base = await baseLayer(architecture, onProgress);
  const node = await npmPackage(nodePackage(architecture), onProgress);
  const { helm } = await ensureAssets(['helm'], { onProgress, ...crossBuild(architecture) });
  const executable = async (path: string, file: string): Promise<TarEntry> => ({
    path,
    content: await readFile(file),
    mode: 0o755,
  });
  const nodeEntries: TarEntry[] = [
    { path: 'nodejs', directory: true },
    { path: 'nodejs/bin', directory: true },
    await executable('nodejs/bin/node', join(node, 'bin', 'node')),
    { path: 'nodejs/LICENSE', content: await readFile(join(node, 'LICENSE')) },
  ];
  const helmEntries = [await executable('usr/local/bin/helm', helm)];
  const layers = [base.entries, nodeEntries, helmEntries, await nativeEntries(architecture, onProgress)];
  return {
    packages: base.packages,
    helm,
    content: {
      architecture,
      layers: [...(await Promise.all(layers.map((entries) => compressedLayer(tar(entries))))), kidp],
      config,
    },
  };
}

/** Helm for this machine is the one that tests use. */
function crossBuild(architecture: ImageArchitecture): { architecture?: Architecture } {
  const wanted = architecture === 'amd64' ? 'x64' : 'arm64';
  return wanted === process.arch && process.platform === 'linux' ? {} : { architecture: wanted };
}

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

export const config = {
  User: '65532:65532',
  Entrypoint: ['/nodejs/bin/node', '/kidp/bin/kidp.js'],
  WorkingDir: '/kidp',
  Env: ['PATH=/usr/local/bin:/nodejs/bin', 'NODE_ENV=production', 'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt'],
  ExposedPorts: { '8443/tcp': {}, '8444/tcp': {} },
  // Helm writes there. Everything else may be read-only.
  Volumes: { '/tmp': {} },
  Labels: {
    'org.opencontainers.image.title': 'kidp',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': 'Apache-2.0',
  },
};

/** Returns the layer with the built package and its dependencies, which is the same on every architecture. */
export const packageLayer = async (): Promise<ImageLayer> => compressedLayer(tar(await packageEntries()));

/** Returns what a Dockerfile copies: the built package and its dependencies, for one architecture. */
export async function packageFiles(
  architecture: ImageArchitecture,
  onProgress: (progress: Progress) => void,
): Promise<Uint8Array> {
  return tar([...(await packageEntries()), ...(await nativeEntries(architecture, onProgress))]);
}

async function packageEntries(): Promise<TarEntry[]> {
  const built = await layOutPackage();
  try {
    const entries: TarEntry[] = [{ path: 'kidp', directory: true }, ...entriesBelow(built.place, 'kidp')];
    const dependencies = productionPackages(root, 'amd64').filter(({ isNative }) => !isNative);
    entries.push(...directoriesOf(dependencies.map(({ folder }) => folder)));
    for (const { folder } of dependencies) entries.push(...entriesBelow(join(root, folder), `kidp/${folder}`));
    return entries;
  } finally {
    built.remove();
  }
}

/** Packages with machine code are fetched: only those of this machine are installed. */
async function nativeEntries(
  architecture: ImageArchitecture,
  onProgress: (progress: Progress) => void,
): Promise<TarEntry[]> {
  const dependencies = productionPackages(root, architecture).filter(({ isNative }) => isNative);
  const entries = directoriesOf(dependencies.map(({ folder }) => folder));
  for (const each of dependencies) {
    entries.push(...entriesBelow(await npmPackage(each, onProgress), `kidp/${each.folder}`));
  }
  return entries;
}

/** Each directory on the way to the folders, once. */
function directoriesOf(folders: readonly string[]): TarEntry[] {
  const paths = new Set<string>(['kidp']);
  for (const folder of folders) {
    const parts = folder.split('/');
    for (let length = 1; length <= parts.length; length++) paths.add(`kidp/${parts.slice(0, length).join('/')}`);
  }
  return [...paths].map((path) => ({ path, directory: true }));
}

/** The files of a folder without those of nested packages, which are listed on their own. */
function entriesBelow(folder: string, path: string): TarEntry[] {
  const names = readdirSync(folder).sort();
  return names.flatMap((name): TarEntry[] => {
    const [file, place] = [join(folder, name), `${path}/${name}`];
    const stats = statSync(file);
    if (stats.isDirectory()) {
      return name === 'node_modules' ? [] : [{ path: place, directory: true }, ...entriesBelow(file, place)];
    }
    const mode = (stats.mode & 0o111) === 0 ? 0o644 : 0o755;
    return [{ path: place, content: readFileSync(file), mode }];
  });
}
