/**
 * Finalizers: ours goes on before there is anything to clean up, and comes off only once cleaning up has succeeded. Every
 * write names the resourceVersion it was decided on: where someone else was faster the server answers 409, the error goes
 * up, and the controller comes again. Finalizers of others are never touched.
 */
import type { Client, RequestOptions } from '../client/client.ts';
import { isNotFound } from '../errors.ts';
import { type KubernetesObject, keyOf, type Resource } from './object.ts';

export function hasFinalizer(object: KubernetesObject, finalizer: string): boolean {
  return object.metadata.finalizers?.includes(finalizer) ?? false;
}

/** Returns the object as it is then. An object that is being deleted takes no new finalizer: it comes back as it was. */
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

/** Resolves also where the object is gone already. */
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

/** What a cleanup says where it did not fail: nothing is left, or look again later. */
export type Cleanup = undefined | { requeueAfterMilliseconds: number };

type Finalization =
  /** Not being deleted, or our finalizer is not on it: nothing was done. */
  | { readonly state: 'untouched' }
  /** Cleanup is under way: the finalizer stays. */
  | { readonly state: 'pending'; readonly requeueAfterMilliseconds: number }
  | { readonly state: 'finalized' };

/**
 * Cleans up an object that is being deleted, then takes our finalizer off. Where the cleanup throws, the finalizer stays
 * and the error goes up. The cleanup may run more than once for one object, so it must not mind.
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
  // A merge patch with a resourceVersion is refused with 409 Conflict where it is stale; a JSON patch's failed test is a 422.
  const body = { metadata: { finalizers, resourceVersion, uid } };
  return client.patch<T>(resource, keyOf(object), { type: 'merge', body }, options);
}
