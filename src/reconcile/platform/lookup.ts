/** Finds the object of a broker report: in a cache if there is one, else at the API server, because a cache can lag. */
import { type Client, isNotFound, type KubernetesObject, type ObjectKey, type Resource } from '../../runtime/index.ts';
import type { Caches } from '../../runtime/internal.ts';

export interface Lookup {
  /** Reads from the cache, and falls back to the API server. */
  get<T extends KubernetesObject>(resource: Resource, key: ObjectKey, signal?: AbortSignal): Promise<T | undefined>;
  live<T extends KubernetesObject>(resource: Resource, key: ObjectKey, signal?: AbortSignal): Promise<T | undefined>;
}

export function lookupOver(caches: Pick<Caches, 'store'>, client: Client): Lookup {
  const live = async <T extends KubernetesObject>(resource: Resource, key: ObjectKey, signal?: AbortSignal) => {
    try {
      return await client.get<T>(resource, key, signal === undefined ? {} : { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };
  return {
    get: async <T extends KubernetesObject>(resource: Resource, key: ObjectKey, signal?: AbortSignal) =>
      caches.store<T>(resource).get(key) ?? live<T>(resource, key, signal),
    live,
  };
}
