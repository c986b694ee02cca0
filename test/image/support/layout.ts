/** Reads an image from the archive that `npm run image` wrote. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Descriptor {
  readonly digest: string;
  readonly mediaType: string;
  readonly platform?: { readonly architecture: string };
}

export interface UnpackedImage {
  readonly architecture: string;
  readonly config: { readonly User: string; readonly Entrypoint: readonly string[]; readonly Volumes: object };
  /** The folder with its root file system. */
  readonly root: string;
}

/** Unpacks each architecture of an archive below a folder. */
export function unpackImages(archive: string, folder: string): { digest: string; images: UnpackedImage[] } {
  const layout = join(folder, 'layout');
  mkdirSync(layout, { recursive: true });
  execFileSync('tar', ['--extract', '--file', archive, '--directory', layout]);
  const blob = (digest: string) => join(layout, 'blobs', digest.replace(':', '/'));
  const json = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
  const [image] = json(join(layout, 'index.json')).manifests as Descriptor[];
  if (image === undefined) throw new Error(`${archive} has no image`);
  const manifests: Descriptor[] = image.mediaType.endsWith('index.v1+json')
    ? json(blob(image.digest)).manifests
    : [image];
  const images = manifests.map(({ digest, platform }) => {
    const architecture = platform?.architecture ?? '';
    const manifest = json(blob(digest)) as { config: Descriptor; layers: Descriptor[] };
    const root = join(folder, architecture);
    mkdirSync(root);
    for (const layer of manifest.layers) {
      execFileSync('tar', ['--extract', '--gzip', '--file', blob(layer.digest), '--directory', root]);
    }
    return { architecture, config: json(blob(manifest.config.digest)).config, root };
  });
  return { digest: image.digest, images };
}
