/**
 * Finalizers: ours is added before there is anything to clean up, and removed only once the cleanup has succeeded. Every write names
 * the resourceVersion it was decided on: if another writer was faster the server answers 409, the error is rethrown, and the
 * controller requeues. Finalizers of others are never touched.
 */
import type { Client, RequestOptions } from '../client/client.ts';
import { isNotFound } from '../errors.ts';
import { type KubernetesObject, keyOf, type Resource } from './object.ts';

export function hasFinalizer(object: KubernetesObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** Returns the updated object. An object that is being deleted accepts no new finalizer and is returned unchanged. */
export async function addFinalizer<T extends KubernetesObject>(
  client: Client,
  resource: Resource,
  object: T,
  finalizer: string,
  options: RequestOptions = {},
): Promise<T> {
  if (hasFinalizer(object, finalizer) || object.metadata.deletionTimestamp !== undefined) return object;
  return patchFinalizers(client, resource, object, [...(object.metadata.finalizers ?? []), finalizer], options);
}

/** Resolves also if the object is gone already. */
export async function removeFinalizer<T extends KubernetesObject>(
  client: Client,
  resource: Resource,
  object: T,
  finalizer: string,
  options: RequestOptions = {},
): Promise<void> {
  if (!hasFinalizer(object, finalizer)) return;
  const others = (object.metadata.finalizers ?? []).filter((other) => other !== finalizer);
  try {
    await patchFinalizers(client, resource, object, others, options);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** The result of a cleanup that did not fail: undefined if nothing is left, or when to check again. */
export type Cleanup = undefined | { requeueAfterMilliseconds: number };

type Finalization =
  /** The object is not being deleted or lacks our finalizer: nothing was done. */
  | { readonly state: 'untouched' }
  /** The cleanup is in progress: the finalizer stays. */
  | { readonly state: 'pending'; readonly requeueAfterMilliseconds: number }
  | { readonly state: 'finalized' };

/**
 * `finalize` cleans up an object that is being deleted and then removes our finalizer. If the cleanup throws, the finalizer stays and
 * the error is rethrown. The cleanup can run more than once for one object, so it must be idempotent.
 *
 * @example
 * import { addFinalizer, connect, finalize, loadKubeconfig } from 'kidp/runtime';
 *
 * const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
 * const client = connect(loadKubeconfig());
 * const object = await client.get(configMaps, { namespace: 'default', name: 'example' });
 * const cleanUp = async () => console.log('removing what belongs to', object.metadata.name);
 * if (object.metadata.deletionTimestamp === undefined) await addFinalizer(client, configMaps, object, 'example.com/cleanup');
 * else await finalize(client, configMaps, object, 'example.com/cleanup', cleanUp);
 */
export async function finalize<T extends KubernetesObject>(
  client: Client,
  resource: Resource,
  object: T,
  finalizer: string,
  cleanup: (object: T) => Promise<Cleanup> | Promise<void>,
  options: RequestOptions = {},
): Promise<Finalization> {
  if (object.metadata.deletionTimestamp === undefined || !hasFinalizer(object, finalizer))
    return { state: 'untouched' };
  const outcome = (await cleanup(object)) as Cleanup;
  if (outcome !== undefined) return { state: 'pending', ...outcome };
  await removeFinalizer(client, resource, object, finalizer, options);
  return { state: 'finalized' };
}

function patchFinalizers<T extends KubernetesObject>(
  client: Client,
  resource: Resource,
  object: T,
  finalizers: readonly string[],
  options: RequestOptions,
): Promise<T> {
  const { resourceVersion, uid } = object.metadata;
  // A merge patch with a resourceVersion is rejected with 409 Conflict if it is stale; a JSON patch's failed test is a 422.
  const body = { metadata: { finalizers, resourceVersion, uid } };
  return client.patch<T>(resource, keyOf(object), { type: 'merge', body }, options);
}
