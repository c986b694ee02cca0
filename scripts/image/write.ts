/** Writes the image and what belongs to it into a folder. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type ImageArchitecture, imageLayout, type Progress, tarParts } from '../../src/controlplane/index.ts';
import { unpinned } from './base.ts';
import { buildImage, packageLayer } from './build.ts';
import { imageBom, provenance } from './materials.ts';
import { envelope, signature, signingKey, simpleSigning } from './sign.ts';

interface ImageOptions {
  readonly architectures: readonly ImageArchitecture[];
  readonly folder: string;
  /** The name with its tag. */
  readonly name: string;
  /** The file of a private key. */
  readonly key?: string | undefined;
  readonly onProgress: (progress: Progress) => void;
}

interface WrittenImage {
  readonly digest: string;
  readonly files: readonly string[];
  /** What is not as pinned, one sentence each. */
  readonly warnings: readonly string[];
}

export async function writeImage(options: ImageOptions): Promise<WrittenImage> {
  const { architectures, folder, name, onProgress } = options;
  // A wrong key is reported before the minutes of a first build.
  const key = options.key === undefined ? undefined : signingKey(options.key);
  const kidp = await packageLayer();
  const images = [];
  for (const architecture of architectures) images.push(await buildImage(architecture, kidp, onProgress));
  const layout = imageLayout(
    name,
    images.map(({ content }) => content),
  );
  mkdirSync(folder, { recursive: true });
  const files: string[] = [];
  const write = (file: string, parts: Iterable<Uint8Array | string>): void => {
    const handle = openSync(join(folder, file), 'w');
    for (const part of parts) writeFully(handle, typeof part === 'string' ? Buffer.from(part) : part);
    closeSync(handle);
    files.push(file);
  };
  const json = (value: object) => `${JSON.stringify(value, undefined, 2)}\n`;
  const statement = provenance({ name, digest: layout.digest }, images);
  write('kidp.oci.tar', tarParts(layout.entries));
  write('kidp.digest', [`${layout.digest}\n`]);
  for (const image of images) {
    const { architecture } = image.content;
    const digest = layout.manifests[architecture] ?? layout.digest;
    write(`kidp-${architecture}.cdx.json`, [json(await imageBom({ name, digest }, image))]);
  }
  write('kidp.provenance.json', [json(statement)]);
  if (key !== undefined) {
    const payload = simpleSigning(name, layout.digest);
    write('kidp.payload.json', [payload]);
    write('kidp.payload.sig', [signature(key, payload)]);
    write('kidp.provenance.dsse.json', [json(envelope(key, statement))]);
  }
  return { digest: layout.digest, files, warnings: unpinned(images[0]?.packages ?? []) };
}

function writeFully(handle: number, part: Uint8Array): void {
  for (let at = 0; at < part.length; ) at += writeSync(handle, part, at);
}
