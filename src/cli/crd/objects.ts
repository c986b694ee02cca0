/** Reads the existing objects for `--objects`, from files or from the cluster (`cluster:`). */
import type { Json } from '../../crd-compat/index.ts';
import { readObjects } from '../documents/index.ts';
import type { Objects } from './compare.ts';
import type { Definition } from './definitions.ts';
import { clusterOf, type SideOptions } from './side.ts';

/** `objectsFrom` returns the source of the objects, or undefined without `--objects`. */
export async function objectsFrom(words: readonly string[], options: SideOptions): Promise<Objects | undefined> {
  if (words.length === 0) return undefined;
  const live = words.includes('cluster:');
  const files = words.filter((word) => word !== 'cluster:');
  const read = files.length === 0 ? [] : await readObjects(files, options.standardInput);
  const objects = read.map(({ object }) => object as Json);
  return async (definition, each) => {
    for (const object of objects) if (isOf(object, definition)) each(object);
    if (!live) return;
    const { withClient } = await import('../common/client.ts');
    const { eachStoredObject } = await import('./cluster.ts');
    await withClient(clusterOf(options), (client) => eachStoredObject(client, definition.crd, each));
  };
}

function isOf({ apiVersion, kind }: Json, { crd }: Definition): boolean {
  return kind === crd.spec.names.kind && String(apiVersion).split('/')[0] === crd.spec.group;
}
