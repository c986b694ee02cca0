/** The kinds on the shared control plane, and how the tests of this folder read and write objects of them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { kindNamed, kinds } from '../../../src/api/index.ts';
import {
  type Client,
  connect,
  type KubernetesObject,
  loadKubeconfig,
  type Resource,
} from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { type Cluster, sharedCluster } from '../../support/cluster.ts';

export const crdFolder = join(import.meta.dirname, '..', '..', '..', 'crds');

export interface Manifest extends KubernetesObject {
  spec: Record<string, unknown>;
  status?: Record<string, unknown>;
}

/** Other tests install the same CRDs: applying them again changes nothing, and is done once by each worker. */
export async function installKinds(): Promise<{ cluster: Cluster; client: Client }> {
  const cluster = sharedCluster();
  installed ??= install(cluster);
  await installed;
  return { cluster, client: connect(loadKubeconfig({ file: cluster.kubeconfig })) };
}

let installed: Promise<void> | undefined;

async function install(cluster: Cluster): Promise<void> {
  const applied = await cluster.kubectl([
    'apply',
    '--server-side',
    '--force-conflicts',
    '--field-manager=kidp',
    '-f',
    crdFolder,
  ]);
  if (applied.code !== 0) throw new Error(`installing the CRDs: ${applied.stderr}`);
  const names = kinds.map((kind) => `crd/${kind.plural}.${kind.resource.group}`);
  // kubectl gives up on a definition that has no conditions yet.
  await eventually(async () => {
    const established = await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=180s', ...names]);
    if (established.code !== 0) throw new Error(`waiting for the CRDs: ${established.stderr}`);
  });
}

/** Every object in the fixtures, by the file that it stands in. */
export function fixtures(): { file: string; object: Manifest }[] {
  const folder = join(import.meta.dirname, '..', 'fixtures');
  return readdirSync(folder).flatMap((file) =>
    objectsIn(readFileSync(join(folder, file), 'utf8')).map((object) => ({ file, object })),
  );
}

export function fixture(file: string): Manifest {
  const [first] = fixtures().filter((entry) => entry.file === file);
  if (!first) throw new Error(`there is no fixture ${file}`);
  return first.object;
}

/** The example on the reference page of every kind. */
export function examples(): Manifest[] {
  return kinds.flatMap((kind) => objectsIn(kind.example));
}

export function resourceOf(object: KubernetesObject): Resource {
  const kind = kindNamed(object.kind);
  if (!kind) throw new Error(`${object.kind} is no kind of the platform`);
  return kind.resource;
}

/** The same object elsewhere: in `namespace`, or under another name where its kind has none. */
export function moved(object: Manifest, namespace: string): Manifest {
  const { namespace: _, ...metadata } = object.metadata;
  return resourceOf(object).namespaced
    ? { ...object, metadata: { ...metadata, namespace } }
    : { ...object, metadata: { ...metadata, name: `${namespace}-${metadata.name}` } };
}

function objectsIn(yaml: string): Manifest[] {
  return parseAllDocuments(yaml).map((document) => document.toJS() as Manifest);
}
