/** Keeps one reflector for each resource and selection, shared by all controllers that watch it. */
import type { Client } from '../client/client.ts';
import type { Clock } from '../clock.ts';
import { ConfigError } from '../errors.ts';
import type { KubernetesObject, Resource, UnknownObject } from '../objects/object.ts';
import { Reflector, type ReflectorHandlers } from '../reflector/index.ts';
import type { IndexFunction, ReadonlyStore } from '../reflector/store.ts';
import type { Logger } from '../telemetry/logger.ts';

/** Selects objects of a resource. */
export interface Selection {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

interface CacheRequest<T extends KubernetesObject> extends Selection {
  resource: Resource;
  /** Index functions by name. Requests for the same selection share them. */
  indexes?: Readonly<Record<string, IndexFunction<T>>>;
}

interface Entry {
  readonly request: CacheRequest<UnknownObject>;
  reflector?: Reflector<UnknownObject>;
}

export class Caches {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #entries = new Map<string, Entry>();
  #started = false;

  constructor(client: Client, { clock, log }: { clock: Clock; log: Logger }) {
    this.#client = client;
    this.#clock = clock;
    this.#log = log;
  }

  /** Requests a cache. Indexes can be added until it is started. */
  request<T extends KubernetesObject>(request: CacheRequest<T>): void {
    const id = idOf(request.resource, request);
    const known = this.#entries.get(id);
    const wanted = request as unknown as CacheRequest<UnknownObject>;
    const newIndexes = Object.entries(wanted.indexes ?? {}).filter(([name, indexOf]) => {
      const there = known?.request.indexes?.[name];
      if (there === undefined || there === indexOf) return there === undefined;
      throw new ConfigError({
        code: 'index-clash',
        message: `Two different functions are asked for as the index ${name} of the cache of ${id}`,
        hint: 'Share one function, or name the indexes apart',
      });
    });
    if (known?.reflector !== undefined && newIndexes.length > 0) {
      throw new ConfigError({
        code: 'cache-started',
        message: `The cache of ${id} runs already, indexes cannot be added to it`,
        hint: 'Ask for the indexes before the manager starts',
      });
    }
    const entry = { request: { ...wanted, indexes: { ...known?.request.indexes, ...wanted.indexes } } };
    if (known?.reflector !== undefined) return;
    this.#entries.set(id, entry);
    if (this.#started) this.#open(entry);
  }

  start(): void {
    this.#started = true;
    for (const entry of this.#entries.values()) this.#open(entry);
  }

  /** Resolves once every cache holds all existing objects. */
  async synced(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ reflector }) => reflector?.synced()));
  }

  /** Resolves once this cache holds all existing objects. */
  syncedOf(resource: Resource, selection: Selection): Promise<void> {
    return this.#reflector(resource, selection).synced();
  }

  /** Returns the caches that currently cannot reach the API server. */
  failing(): { cache: string; error: Error }[] {
    return [...this.#entries].flatMap(([cache, { reflector }]) =>
      reflector?.status.state === 'failing' ? [{ cache, error: reflector.status.error }] : [],
    );
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ reflector }) => reflector?.stop()));
  }

  /** Calls the handlers for existing objects and for every change. Returns a function that unsubscribes. */
  subscribe<T extends KubernetesObject>(
    resource: Resource,
    selection: Selection,
    handlers: ReflectorHandlers<T>,
  ): () => void {
    return this.#reflector(resource, selection).subscribe(handlers as unknown as ReflectorHandlers<UnknownObject>);
  }

  /** Returns the cache of exactly this selection. An object that is not in it may exist outside of the selection. */
  store<T extends KubernetesObject>(resource: Resource, selection: Selection = {}): ReadonlyStore<T> {
    return this.#reflector(resource, selection).store as unknown as ReadonlyStore<T>;
  }

  /**
   * Returns a cache that holds all objects of this selection, and maybe more. An object that is not in it does not
   * exist.
   */
  covering<T extends KubernetesObject>(resource: Resource, selection: Selection): ReadonlyStore<T> {
    for (const { request, reflector } of this.#entries.values()) {
      if (!isSame(request.resource, resource) || !covers(request, selection)) continue;
      return (reflector?.store ?? this.store(resource, request)) as unknown as ReadonlyStore<T>;
    }
    return this.store<T>(resource, selection);
  }

  #reflector(resource: Resource, selection: Selection): Reflector<UnknownObject> {
    const id = idOf(resource, selection);
    const entry = this.#entries.get(id);
    if (entry?.reflector !== undefined) return entry.reflector;
    if (entry !== undefined) {
      throw new ConfigError({
        code: 'cache-not-started',
        message: `The cache of ${id} is not started yet`,
        hint: 'Read from it once the manager has started',
      });
    }
    const name = idOf(resource, {});
    const others = [...this.#entries.keys()].filter((other) => other === name || other.startsWith(`${name}?`));
    throw new ConfigError({
      code: 'not-watched',
      message:
        others.length === 0
          ? `Nothing watches ${id}`
          : `Nothing watches all of ${id}, only ${others.join(' and ')}: an object missing from the cache may still exist`,
      hint:
        `Watch ${id} from a controller or ask for it with manager.caches.request, read with { live: true }, ` +
        'or name the selection to read from',
    });
  }

  #open(entry: Entry): void {
    if (entry.reflector !== undefined) return;
    const { resource } = entry.request;
    const log = this.#log.with({ resource: idOf(resource, entry.request) });
    entry.reflector = new Reflector<UnknownObject>({
      ...entry.request,
      client: this.#client,
      clock: this.#clock,
      stripManagedFields: true,
      observer: {
        failed: (error, during) => log.warn('cache watch failed; retrying', { error, during }),
        relisted: (cause) => log.info('cache relisting', { cause }),
        listed: ({ objects, milliseconds }) => log.debug('cache listed', { objects, milliseconds }),
      },
    });
    entry.reflector.start();
  }
}

/** Called for every read, so it builds no string. */
const isSame = (one: Resource, other: Resource): boolean =>
  one === other || (one.plural === other.plural && one.group === other.group && one.version === other.version);

function idOf(resource: Resource, { namespace, labelSelector, fieldSelector }: Selection): string {
  const name = `${resource.plural}.${resource.version}.${resource.group}`;
  if (namespace === undefined && labelSelector === undefined && fieldSelector === undefined) return name;
  const selection = Object.entries({ namespace, labelSelector, fieldSelector }).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${value}`],
  );
  return `${name}?${selection.join('&')}`;
}

/** Returns whether the cache includes all wanted objects: none of its restrictions is narrower. */
function covers(cache: Selection, wanted: Selection): boolean {
  if (cache.namespace !== undefined && cache.namespace !== wanted.namespace) return false;
  return (['labelSelector', 'fieldSelector'] as const).every((selector) => {
    if (cache[selector] === undefined) return true;
    const asked = new Set(termsOf(wanted[selector]));
    return termsOf(cache[selector]).every((term) => asked.has(term));
  });
}

/** Returns the terms of a selector, all of which must match: `a=b`, `c in (d,e)`. */
function termsOf(selector = ''): string[] {
  return selector.split(/,(?![^(]*\))/).flatMap((term) => (term.trim() === '' ? [] : [term.trim()]));
}
