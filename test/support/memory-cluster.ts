/**
 * A `Client` over objects in memory, for unit tests of controllers: paged lists, watches, discovery, and a log of every
 * call. Integration tests cover schemas, admission and conflicts on a real API server.
 */
import {
  ApiError,
  apiVersionOf,
  type Client,
  ConnectionError,
  formatKey,
  type ListOptions,
  type ObjectKey,
  type Resource,
  type UnknownObject,
  type WatchEvent,
} from '../../src/runtime/index.ts';
import type { WatchOptions } from '../../src/runtime/internal.ts';

export interface MemoryCluster {
  readonly client: Client;
  /** The calls as `verb plural key`, in order. */
  readonly calls: string[];
  put(resource: Resource, object: Loose): UnknownObject;
  remove(resource: Resource, key: ObjectKey): void;
  get(resource: Resource, key: ObjectKey): UnknownObject | undefined;
  /** Makes requests for a resource fail from now on, or succeed again. */
  refuse(plural: string, error: Error | undefined): void;
  readonly watching: () => string[];
}

export type Loose = {
  metadata: { name: string; namespace?: string; [field: string]: unknown };
  [field: string]: unknown;
};

interface Watcher {
  readonly resource: Resource;
  readonly options: WatchOptions;
  push(event: WatchEvent<UnknownObject>): void;
}

export function memoryCluster(served: readonly Resource[]): MemoryCluster {
  const stores = new Map<string, Map<string, UnknownObject>>();
  const refused = new Map<string, Error>();
  const watchers = new Set<Watcher>();
  const calls: string[] = [];
  let version = 100;

  const storeOf = ({ group, plural }: Resource) => {
    const id = `${plural}.${group}`;
    const store = stores.get(id) ?? new Map<string, UnknownObject>();
    stores.set(id, store);
    return store;
  };
  const ask = (verb: string, resource: Resource, key = '') => {
    calls.push(`${verb} ${resource.plural}${key === '' ? '' : ` ${key}`}`);
    const error = refused.get(resource.plural);
    if (error !== undefined) throw error;
    if (!served.some(({ group, plural }) => group === resource.group && plural === resource.plural)) throw notFound();
  };
  const emit = (resource: Resource, event: WatchEvent<UnknownObject>) => {
    for (const watcher of watchers) {
      if (watcher.resource.plural !== resource.plural || watcher.resource.group !== resource.group) continue;
      if (selected(event.object as UnknownObject, watcher.options)) watcher.push(event);
    }
  };
  const store = (resource: Resource, object: Loose): UnknownObject => {
    const objects = storeOf(resource);
    const key = formatKey(object.metadata);
    const old = objects.get(key);
    version += 1;
    const specChanged = old === undefined || JSON.stringify(old.spec) !== JSON.stringify(object.spec);
    const stored = {
      ...structuredClone(object),
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: {
        uid: old?.metadata.uid ?? `uid-${version}`,
        ...structuredClone(object.metadata),
        generation: (old?.metadata.generation ?? 0) + Number(specChanged),
        resourceVersion: String(version),
      },
    } as UnknownObject;
    objects.set(key, stored);
    emit(resource, { type: old === undefined ? 'ADDED' : 'MODIFIED', object: structuredClone(stored) });
    return stored;
  };
  const remove = (resource: Resource, key: ObjectKey) => {
    const old = storeOf(resource).get(formatKey(key));
    if (old === undefined) throw notFound();
    storeOf(resource).delete(formatKey(key));
    version += 1;
    const object = structuredClone(old);
    object.metadata.resourceVersion = String(version);
    emit(resource, { type: 'DELETED', object });
  };

  const client = {
    async get(resource: Resource, key: ObjectKey) {
      ask('get', resource, formatKey(key));
      const found = storeOf(resource).get(formatKey(key));
      if (found === undefined) throw notFound();
      return structuredClone(found);
    },
    async list(resource: Resource, options: ListOptions = {}) {
      ask('list', resource, options.namespace);
      options.signal?.throwIfAborted();
      const all = [...storeOf(resource).values()].filter((object) => selected(object, options));
      const start = Number(options.continue ?? 0);
      const end = options.limit === undefined ? all.length : start + options.limit;
      return {
        apiVersion: 'v1',
        kind: 'List',
        metadata: { resourceVersion: String(version), ...(end < all.length ? { continue: String(end) } : {}) },
        items: structuredClone(all.slice(start, end)),
      };
    },
    async *watch(resource: Resource, options: WatchOptions) {
      ask('watch', resource, options.namespace);
      const queue: WatchEvent<UnknownObject>[] = [];
      let wake = () => {};
      const push = (event: WatchEvent<UnknownObject>) => {
        queue.push(event);
        wake();
      };
      const watcher = { resource, options, push };
      watchers.add(watcher);
      options.onOpen?.();
      options.signal?.addEventListener('abort', () => wake());
      try {
        for (;;) {
          const next = queue.shift();
          if (next !== undefined) yield next;
          else if (options.signal?.aborted === true) {
            throw new ConnectionError({ doing: 'watch', failure: 'aborted', message: 'aborted', hint: '' });
          } else await new Promise<void>((resolve) => (wake = resolve));
        }
      } finally {
        watchers.delete(watcher);
      }
    },
    async create(resource: Resource, object: Loose) {
      ask('create', resource, formatKey(object.metadata));
      if (storeOf(resource).has(formatKey(object.metadata))) throw alreadyExists();
      return structuredClone(store(resource, object));
    },
    async update(resource: Resource, object: Loose) {
      ask('update', resource, formatKey(object.metadata));
      return structuredClone(store(resource, object));
    },
    async patch(resource: Resource, key: ObjectKey, patch: { type: string; body: Fields }) {
      ask('patch', resource, formatKey(key));
      const old = storeOf(resource).get(formatKey(key));
      if (old === undefined) throw notFound();
      if (patch.type !== 'merge') throw new Error(`a patch of the type ${patch.type} is not known here`);
      return structuredClone(store(resource, merged(old as unknown as Fields, patch.body) as Loose));
    },
    async apply(resource: Resource, object: Loose, options: { subresource?: string }) {
      ask(
        options.subresource === undefined ? 'apply' : `apply/${options.subresource}`,
        resource,
        formatKey(object.metadata),
      );
      const old = storeOf(resource).get(formatKey(object.metadata));
      if (old === undefined && options.subresource !== undefined) throw notFound();
      const { resourceVersion, ...metadata } = object.metadata;
      return structuredClone(
        store(resource, { ...old, ...object, metadata: { ...old?.metadata, ...metadata } } as Loose),
      );
    },
    async delete(resource: Resource, key: ObjectKey) {
      ask('delete', resource, formatKey(key));
      remove(resource, key);
    },
    async request({ path }: { path: string }) {
      calls.push(`request ${path}`);
      return { status: 200, headers: {}, warnings: [], text: JSON.stringify(discovery(served, path)) };
    },
    async close() {},
  };
  return {
    client: client as unknown as Client,
    calls,
    put: store,
    remove,
    get: (resource, key) => storeOf(resource).get(formatKey(key)),
    refuse: (plural, error) => void (error === undefined ? refused.delete(plural) : refused.set(plural, error)),
    watching: () => [...watchers].map(({ resource }) => resource.plural).sort(),
  };
}

type Fields = Readonly<Record<string, unknown>>;

/** Applies a JSON merge patch: null removes a field. */
function merged(before: Fields, patch: Fields): Fields {
  const entries = Object.entries(patch).map(([key, value]) => [
    key,
    isFields(value) ? merged(partOf(before[key]), value) : value,
  ]);
  return Object.fromEntries(
    Object.entries({ ...before, ...Object.fromEntries(entries) }).filter(([, value]) => value !== null),
  );
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const partOf = (value: unknown): Fields => (isFields(value) ? value : {});

const alreadyExists = () =>
  new ApiError({ doing: 'ask', status: 409, reason: 'AlreadyExists', message: 'it is there' });
const notFound = () => new ApiError({ doing: 'ask', status: 404, reason: 'NotFound', message: 'not found' });

/** Supports equality of labels and of metadata.name, which is all that the tests use. */
function selected({ metadata }: UnknownObject, { namespace, labelSelector, fieldSelector }: ListOptions): boolean {
  if (namespace !== undefined && metadata.namespace !== namespace) return false;
  if (fieldSelector !== undefined && `metadata.name=${metadata.name}` !== fieldSelector) return false;
  return (labelSelector ?? '')
    .split(',')
    .filter((term) => term !== '')
    .every((term) => {
      const [key = '', value] = term.split('=');
      return metadata.labels?.[key] === value;
    });
}

function discovery(served: readonly Resource[], path: string): unknown {
  const groups = [...new Set(served.map(({ group }) => group))].filter((group) => group !== '');
  if (path === '/api') return { versions: ['v1'] };
  if (path === '/apis') {
    return {
      groups: groups.map((name) => {
        const versions = [...new Set(served.filter(({ group }) => group === name).map(({ version }) => version))];
        return {
          name,
          versions: versions.map((each) => ({ version: each })),
          preferredVersion: { version: versions[0] },
        };
      }),
    };
  }
  const [, , ...rest] = path.split('/');
  const [group, version] = path.startsWith('/api/') ? ['', rest[0]] : rest;
  return {
    resources: served
      .filter((each) => each.group === group && each.version === version)
      .map(({ plural, kind, namespaced }) => ({
        name: plural,
        kind,
        namespaced,
        verbs: ['create', 'get', 'list', 'watch'],
      })),
  };
}
