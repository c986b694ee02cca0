/** OCI image archives: a layout in one tar file, as `ctr images import` and `skopeo` read it. Equal content gives an equal digest. */
import { createHash } from 'node:crypto';
import { tar } from './tar.ts';

interface ImageContent {
  /** The name with its tag, such as `registry.example.com/kidp:1.0.0`. */
  readonly name: string;
  readonly architecture: 'amd64' | 'arm64';
  /** The layers as uncompressed tar files, the lowest first. */
  readonly layers: readonly Uint8Array[];
  /** The `config` of the image configuration, such as `Entrypoint` and `User`. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** Returns the archive of one image. */
export function imageArchive({ name, architecture, layers, config }: ImageContent): Uint8Array {
  const blobs = new Map<string, Uint8Array>();
  const descriptor = (mediaType: string, content: Uint8Array) => {
    const digest = createHash('sha256').update(content).digest('hex');
    blobs.set(digest, content);
    return { mediaType, digest: `sha256:${digest}`, size: content.length };
  };
  const json = (mediaType: string, value: unknown) => descriptor(mediaType, Buffer.from(JSON.stringify(value)));
  const layerDescriptors = layers.map((layer) => descriptor('application/vnd.oci.image.layer.v1.tar', layer));
  const configuration = json('application/vnd.oci.image.config.v1+json', {
    architecture,
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: layerDescriptors.map(({ digest }) => digest) },
  });
  const manifest = json('application/vnd.oci.image.manifest.v1+json', {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: configuration,
    layers: layerDescriptors,
  });
  const index = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [
      {
        ...manifest,
        annotations: { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': name },
        platform: { architecture, os: 'linux' },
      },
    ],
  };
  return tar([
    { path: 'oci-layout', content: '{"imageLayoutVersion":"1.0.0"}' },
    { path: 'index.json', content: JSON.stringify(index) },
    ...[...blobs].map(([digest, content]) => ({ path: `blobs/sha256/${digest}`, content })),
  ]);
}
