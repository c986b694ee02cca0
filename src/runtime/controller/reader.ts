/** Reads from the caches and, on request, from the API server. */
import type { Client } from '../client/client.ts';
import { ConfigError, isNotFound } from '../errors.ts';
import type { KubernetesObject, ObjectKey, Resource, UnknownObject } from '../objects/object.ts';
import type { ReadonlyStore } from '../reflector/store.ts';
import type { Caches, Selection } from './caches.ts';

export interface ReadFrom {
  /** Reads from the API server: for state that must not be stale, or for objects that no controller watches. */
  live?: boolean;
  /**
   * Reads from the cache of exactly this selection, as passed to `for`, `owns` or `watches`. Objects outside of it are
   * considered absent. By default, only a cache that would hold the object if it existed is read.
   */
  selection?: Selection;
}

export interface ListFrom extends ReadFrom {
  namespace?: string;
  /** Selects objects with all of these labels. */
  labels?: Readonly<Record<string, string>>;
}

/** Objects from a cache are shared: copy them before you change them. */
export interface Reader {
  get<T extends KubernetesObject = UnknownObject>(
    resource: Resource,
    key: ObjectKey,
    options?: ReadFrom,
  ): Promise<T | undefined>;
  list<T extends KubernetesObject = UnknownObject>(resource: Resource, options?: ListFrom): Promise<T[]>;
  /** Returns the whole cache of a resource, or of the watched selection, with its indexes. */
  store<T extends KubernetesObject = UnknownObject>(resource: Resource, selection?: Selection): ReadonlyStore<T>;
}

/** `liveReader` reads everything from the API server, without caches. */
export function liveReader(client: Client): Reader {
  const none = (): never => {
    throw new ConfigError({ code: 'not-watched', message: 'There are no caches here', hint: 'Read with get or list' });
  };
  const reader = readerOver({ store: none, covering: none }, client);
  return {
    get: (resource, key) => reader.get(resource, key, { live: true }),
    list: (resource, options) => reader.list(resource, { ...options, live: true }),
    store: none,
  };
}

export function readerOver(caches: Pick<Caches, 'store' | 'covering'>, client: Client): Reader {
  const storeFor = <T extends KubernetesObject>(resource: Resource, wanted: Selection, { selection }: ReadFrom) =>
    selection === undefined ? caches.covering<T>(resource, wanted) : caches.store<T>(resource, selection);
  return {
    async get<T extends KubernetesObject>(resource: Resource, key: ObjectKey, options: ReadFrom = {}) {
      if (options.live !== true) return storeFor<T>(resource, inNamespace(key.namespace), options).get(key);
      try {
        return await client.get<T>(resource, key);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    async list<T extends KubernetesObject>(resource: Resource, options: ListFrom = {}) {
      if (options.live === true) return listLive<T>(client, resource, options);
      const { namespace, labels: wantedLabels = {} } = options;
      const selector = selectorOf(wantedLabels);
      const wanted = { ...inNamespace(namespace), ...(selector === '' ? {} : { labelSelector: selector }) };
      const store = storeFor<T>(resource, wanted, options);
      const objects = namespace === undefined ? store.list() : store.byNamespace(namespace);
      const labels = Object.entries(wantedLabels);
      if (labels.length === 0) return objects;
      return objects.filter(({ metadata }) => labels.every(([name, value]) => metadata.labels?.[name] === value));
    },
    store: (resource, selection) => caches.store(resource, selection),
  };
}

function inNamespace(namespace: string | undefined): Selection {
  return namespace === undefined ? {} : { namespace };
}

function selectorOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

async function listLive<T extends KubernetesObject>(
  client: Client,
  resource: Resource,
  { namespace, labels = {} }: ListFrom,
): Promise<T[]> {
  const labelSelector = selectorOf(labels);
  const found: T[] = [];
  for (let next: string | undefined; ; ) {
    const page = await client.list<T>(resource, {
      limit: 500,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === '' ? {} : { labelSelector }),
      ...(next === undefined ? {} : { continue: next }),
    });
    found.push(...page.items);
    next = page.metadata.continue;
    if (next === undefined || next === '') return found;
  }
}
