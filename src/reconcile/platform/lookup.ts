/** Finds an object for a report of a broker: in a cache where there is one, else at the API server, since a cache may be behind. */
import { type Client, isNotFound, type KubernetesObject, type ObjectKey, type Resource } from '../../runtime/index.ts';
import type { Caches } from '../../runtime/internal.ts';

export interface Lookup {
  /** What a cache has, else what the API server says. */
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
