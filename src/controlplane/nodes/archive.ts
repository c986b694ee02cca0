/** OCI image archives: a layout in one tar file, as `ctr images import` and `skopeo` read it. Equal content gives an equal digest. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type TarEntry, tar } from './tar.ts';

/** An architecture, as OCI and Debian name it. */
export type ImageArchitecture = 'amd64' | 'arm64';

export interface ImageContent {
  readonly architecture: ImageArchitecture;
  readonly layers: readonly ImageLayer[];
  /** The `config` of the image configuration, such as `Entrypoint` and `User`. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** A layer: an uncompressed tar file, or one that `compressedLayer` returned. Lower layers come first. */
export type ImageLayer = Uint8Array | CompressedLayer;

interface CompressedLayer {
  readonly compressed: Uint8Array;
  /** The digest of the uncompressed tar file. */
  readonly contentDigest: string;
}

interface ImageLayout {
  /** The digest of the image: that of its manifest, or of the index of several architectures. */
  readonly digest: string;
  /** The digest of the manifest of each architecture. */
  readonly manifests: Readonly<Partial<Record<ImageArchitecture, string>>>;
  readonly entries: readonly TarEntry[];
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

const mediaType = (name: string) => `application/vnd.oci.image.${name}`;
const compress = promisify(gzip);

export async function compressedLayer(layer: Uint8Array): Promise<CompressedLayer> {
  return { compressed: await compress(layer), contentDigest: digestOf(layer) };
}

/** Returns the archive of one image. The name has a tag, such as `registry.example.com/kidp:1.0.0`. */
export const imageArchive = ({ name, ...image }: ImageContent & { readonly name: string }): Uint8Array =>
  tar(imageLayout(name, [image]).entries);

/** Returns the files of an archive with one image for one or several architectures. */
export function imageLayout(name: string, images: readonly ImageContent[]): ImageLayout {
  const blobs = new Map<string, Uint8Array>();
  const add = (type: string, content: Uint8Array): Descriptor => {
    const digest = digestOf(content);
    blobs.set(digest, content);
    return { mediaType: mediaType(type), digest, size: content.length };
  };
  const addJson = (type: string, value: object) => add(type, Buffer.from(JSON.stringify(value)));
  const addLayer = (layer: ImageLayer) =>
    layer instanceof Uint8Array
      ? { descriptor: add('layer.v1.tar', layer), contentDigest: digestOf(layer) }
      : { descriptor: add('layer.v1.tar+gzip', layer.compressed), contentDigest: layer.contentDigest };
  const addManifest = ({ architecture, layers, config }: ImageContent) => {
    const added = layers.map(addLayer);
    const configuration = addJson('config.v1+json', {
      architecture,
      os: 'linux',
      config,
      rootfs: { type: 'layers', diff_ids: added.map(({ contentDigest }) => contentDigest) },
    });
    const manifest = addJson('manifest.v1+json', {
      schemaVersion: 2,
      mediaType: mediaType('manifest.v1+json'),
      config: configuration,
      layers: added.map(({ descriptor }) => descriptor),
    });
    return { ...manifest, platform: { architecture, os: 'linux' } };
  };
  const index = (manifests: readonly object[]) => ({
    schemaVersion: 2,
    mediaType: mediaType('index.v1+json'),
    manifests,
  });
  const manifests = images.map(addManifest);
  const [only] = manifests;
  if (only === undefined) throw new RangeError('an image needs at least one architecture');
  const image = manifests.length === 1 ? only : addJson('index.v1+json', index(manifests));
  const annotations = { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': name };
  return {
    digest: image.digest,
    manifests: Object.fromEntries(manifests.map(({ platform, digest }) => [platform.architecture, digest])),
    entries: [
      { path: 'oci-layout', content: '{"imageLayoutVersion":"1.0.0"}' },
      { path: 'index.json', content: JSON.stringify(index([{ ...image, annotations }])) },
      ...[...blobs].map(([digest, content]) => ({ path: `blobs/${digest.replace(':', '/')}`, content })),
    ],
  };
}

const digestOf = (content: Uint8Array): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;
