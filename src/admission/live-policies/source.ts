/**
 * The policies of a cluster as they are now, and the world that they may look at: watches in, an immutable set out.
 *
 * Changes that come together are built together, and a build that took long is followed by a longer rest: a thousand changes a
 * minute cost a small share of one core. Whoever asks gets one set and keeps it for the request.
 */
import { application, policy, policyException, team } from '../../api/index.ts';
import type { Json, ObjectQuery, PolicyModel, PolicySet, SchemaSource, World } from '../../policy/index.ts';
import type { PolicyState } from '../../policy/internal.ts';
import {
  type Client,
  isNotFound,
  type Logger,
  Reflector,
  type Resource,
  silentLogger,
  type UnknownObject,
} from '../../runtime/index.ts';
import type { ResourceMapping } from '../../runtime/internal.ts';
import type { OwnerLookup } from '../gates/ownership/owner-chain.ts';
import { type Definitions, startDefinitions } from './definitions.ts';
import { worldWithNeeds } from './needs.ts';
import { plainMetadata, servedAs } from './objects.ts';
import { ownerLookup, teamIndexes } from './owner-lookup.ts';
import { PolicyRegistry } from './registry.ts';
import { KindWatches } from './watches.ts';

export interface PolicySourceOptions {
  readonly client: Client;
  /** Where the platform itself lives. */
  readonly platformNamespace: string;
  /** PolicyExceptions count only in these. */
  readonly exceptionNamespaces: readonly string[];
  readonly log?: Logger;
}

/** Another set is in force, or the cluster has other kinds in a group (the empty name: in any). */
export type SourceChange = { readonly what: 'set' } | { readonly what: 'kinds'; readonly group: string };

export interface LivePolicySource {
  /** One set and the world as of now; what a request is judged by. */
  current(): { readonly set: PolicySet; readonly world: World };
  /** A world in which also that can be found which these policies declare and nobody watches. */
  worldFor(models: readonly PolicyModel[], signal?: AbortSignal): Promise<World>;
  synced(): boolean;
  /** Resolves once `synced`. */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /** Asks the API server for a namespace that the cache has not seen yet, so that the world knows it. */
  knowNamespace(name: string, signal?: AbortSignal): Promise<void>;
  readonly owners: OwnerLookup;
  readonly mapping: ResourceMapping;
  /** Raised with every change of the cluster's kinds. */
  readonly schemaVersion: number;
  schemas(): SchemaSource;
  state(name: string): PolicyState | undefined;
  states(): Iterable<PolicyState>;
  /** The resourceVersion of Policies up to which everything written is in the current set, or in `states` with what keeps it out. */
  readonly appliedVersion: string;
  readonly options: PolicySourceOptions;
  /** Tells of changes, after they hold; returns what ends it. */
  subscribe(listener: (change: SourceChange) => void): () => void;
  /** Tells of kinds that policies read, when an object of one has changed. */
  followObjects(listener: (apiVersion: string, kind: string) => void): () => void;
  stop(): Promise<void>;
}

const namespaces: Resource = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};

/** Builds wait at least so long for more changes, and at least ten times as long as the last one took. */
const shortestRest = 20;
const longestRest = 1_000;
/** Compiling holds up requests for no longer than this at a time. */
const sliceMilliseconds = 10;
/** A namespace that was read live is remembered so long, by then the cache has it. */
const readNamespaceMilliseconds = 30_000;

export function startPolicySource(options: PolicySourceOptions): LivePolicySource {
  return new Source(options);
}

class Source implements LivePolicySource {
  readonly options: PolicySourceOptions;
  readonly owners: OwnerLookup;
  readonly #client: Client;
  readonly #log: Logger;
  readonly #listeners = new Set<(change: SourceChange) => void>();
  readonly #objectListeners = new Set<(apiVersion: string, kind: string) => void>();
  readonly #registry: PolicyRegistry;
  readonly #watches: KindWatches;
  readonly #definitions: Definitions;
  readonly #reflectors: readonly Reflector<UnknownObject>[];
  readonly #namespaces: Reflector<UnknownObject>;
  readonly #readNamespaces = new Map<string, { readonly namespace: Json; readonly until: number }>();
  readonly #firstSync = Promise.withResolvers<void>();
  #set: PolicySet;
  #dirty = true;
  #seenVersion = '';
  #appliedVersion = '';
  #timer: NodeJS.Timeout | undefined;
  #slice: NodeJS.Immediate | undefined;
  #rest = shortestRest;
  #hasSynced = false;
  #stopped = false;

  constructor(options: PolicySourceOptions) {
    const { client, platformNamespace, exceptionNamespaces, log = silentLogger } = options;
    this.options = options;
    this.#client = client;
    this.#log = log;
    this.#firstSync.promise.catch(() => {});
    this.#watches = new KindWatches({
      client,
      log,
      resourceOf: (apiVersion, kind) => this.#resourceOf(apiVersion, kind),
      changed: (apiVersion, kind, what) => {
        if (what === 'state') this.#changed();
        else for (const listener of this.#objectListeners) listener(apiVersion, kind);
      },
    });
    this.#registry = new PolicyRegistry({
      platformNamespace,
      exceptionNamespaces,
      needState: (need) => this.#watches.state(need),
    });
    this.#set = this.#registry.build();
    this.#definitions = startDefinitions({
      client,
      log,
      changed: (group) => {
        this.#watches.refresh();
        this.#changed();
        this.#tell({ what: 'kinds', group });
      },
    });
    const policies = this.#reflect(policy.resource, {
      put: (object) => this.#registry.put(object),
      remove: (object) => this.#registry.remove(object.metadata.name),
      current: (version) => {
        this.#seenVersion = version;
        if (!this.#dirty) this.#appliedVersion = version;
      },
    });
    const exceptions = this.#reflect(policyException.resource, {
      put: (object) => this.#registry.putException(object),
      remove: (object) => this.#registry.removeException(object),
    });
    this.#namespaces = this.#reflect(namespaces, {});
    const teams = this.#reflect(team.resource, {}, teamIndexes);
    const applications = this.#reflect(application.resource, {});
    this.#reflectors = [policies, exceptions, this.#namespaces, teams, applications];
    this.owners = ownerLookup({ client, teams, applications });
    for (const reflector of this.#reflectors) reflector.start();
    const listed = this.#reflectors.map((reflector) => reflector.synced());
    void Promise.all([...listed, this.#definitions.whenSynced()]).then(
      () => this.#changed(),
      () => {},
    );
  }

  current(): { set: PolicySet; world: World } {
    return { set: this.#set, world: this.#world(Date.now()) };
  }

  worldFor(models: readonly PolicyModel[], signal?: AbortSignal): Promise<World> {
    const { world } = this.current();
    return worldWithNeeds({ client: this.#client, mapping: this.mapping, models, world, signal });
  }

  synced(): boolean {
    return this.#hasSynced;
  }

  whenSynced(signal?: AbortSignal): Promise<void> {
    if (signal === undefined) return this.#firstSync.promise;
    signal.throwIfAborted();
    return Promise.race([
      this.#firstSync.promise,
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true })),
    ]);
  }

  async knowNamespace(name: string, signal?: AbortSignal): Promise<void> {
    if (this.#namespace(name) !== undefined) return;
    try {
      const found = await this.#client.get(namespaces, { name }, signal === undefined ? {} : { signal });
      const now = Date.now();
      for (const [each, { until }] of this.#readNamespaces) if (until < now) this.#readNamespaces.delete(each);
      this.#readNamespaces.set(name, { namespace: plainMetadata(found), until: now + readNamespaceMilliseconds });
    } catch (error) {
      // A request to make something in a namespace that is not there: the API server itself says no.
      if (!isNotFound(error)) throw error;
    }
  }

  get mapping(): ResourceMapping {
    return this.#definitions.mapping;
  }

  get schemaVersion(): number {
    return this.#definitions.version;
  }

  schemas(): SchemaSource {
    return this.#definitions.schemas();
  }

  state(name: string): PolicyState | undefined {
    return this.#registry.state(name);
  }

  states(): Iterable<PolicyState> {
    return this.#registry.states();
  }

  get appliedVersion(): string {
    return this.#appliedVersion;
  }

  subscribe(listener: (change: SourceChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  followObjects(listener: (apiVersion: string, kind: string) => void): () => void {
    this.#objectListeners.add(listener);
    return () => this.#objectListeners.delete(listener);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#slice);
    this.#firstSync.reject(new Error('the policies were stopped before they had been read'));
    await Promise.all([
      ...this.#reflectors.map((reflector) => reflector.stop()),
      this.#watches.stop(),
      this.#definitions.stop(),
    ]);
  }

  #reflect(
    resource: Resource,
    told: {
      put?: (object: UnknownObject) => boolean;
      remove?: (object: UnknownObject) => void;
      current?: (version: string) => void;
    },
    indexes: Readonly<Record<string, (object: UnknownObject) => string[]>> = {},
  ): Reflector<UnknownObject> {
    const { put, remove, current } = told;
    const changed = (object: UnknownObject) => {
      if (put?.(object) === true) this.#changed();
    };
    return new Reflector<UnknownObject>({
      client: this.#client,
      resource,
      indexes,
      stripManagedFields: true,
      transform: put === undefined ? plainMetadata : withoutStatus,
      handlers: {
        added: changed,
        updated: changed,
        deleted: (object) => {
          if (remove === undefined) return;
          remove(object);
          this.#changed();
        },
      },
      observer: {
        failed: (error, during) =>
          this.#log.warn('a cache met an error and goes on', { resource: resource.plural, error, during }),
        ...(current === undefined ? {} : { current }),
      },
    });
  }

  /** Something that the set is built from has changed: build it soon. */
  #changed(): void {
    this.#dirty = true;
    if (this.#timer !== undefined || this.#stopped || !this.#hasListed()) return;
    this.#timer = setTimeout(() => this.#build(), this.#hasSynced ? this.#rest : 0);
  }

  #hasListed(): boolean {
    return this.#reflectors.every((reflector) => reflector.hasSynced) && this.#definitions.synced;
  }

  #build(): void {
    if (!this.#registry.compileFor(sliceMilliseconds)) {
      // Not a timer: that would rest for longer than requests need.
      this.#slice = setImmediate(() => this.#build());
      return;
    }
    this.#timer = undefined;
    this.#dirty = false;
    const seen = this.#seenVersion;
    const began = performance.now();
    this.#watches.want(this.#registry.needs());
    const before = this.#set;
    const set = this.#registry.build();
    set.lanes.prepare();
    this.#set = set;
    const took = performance.now() - began;
    this.#rest = Math.min(Math.max(shortestRest, 10 * took), longestRest);
    this.#appliedVersion = seen;
    this.#watchSync();
    if (this.#set === before) return;
    this.#log.debug('a new set of policies', {
      revision: this.#set.revision,
      policies: this.#set.policies.length,
      milliseconds: Math.round(took),
    });
    this.#tell({ what: 'set' });
  }

  /** At the start nothing is answered before every policy is in force that can be. */
  #watchSync(): void {
    if (this.#hasSynced || [...this.states()].some(({ waitsFor }) => waitsFor.length > 0)) return;
    this.#hasSynced = true;
    this.#firstSync.resolve();
  }

  #world(now: number): World {
    return {
      now,
      namespace: (name) => this.#namespace(name),
      find: (query: ObjectQuery) => this.#watches.find(query),
      kindOf: (group, version, plural) => this.mapping.byPlural(group, plural, version)?.kind,
      schema: (kind) => this.#definitions.customSchemas().schema(kind),
    };
  }

  #namespace(name: string): Json | undefined {
    const cached = this.#namespaces.store.get({ name });
    if (cached !== undefined) return cached;
    const read = this.#readNamespaces.get(name);
    return read === undefined || read.until < Date.now() ? undefined : read.namespace;
  }

  #resourceOf(apiVersion: string, kind: string): Resource | undefined {
    const served = servedAs(this.mapping, apiVersion, kind);
    if (served === undefined || !served.verbs.includes('watch')) return undefined;
    const { group, version, plural, namespaced } = served;
    return { group, version, plural, kind, namespaced };
  }

  #tell(change: SourceChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#log.error('who follows the policies failed', { error });
      }
    }
  }
}

/** Status is written by us, often, and no judgement reads it. */
function withoutStatus(object: UnknownObject): UnknownObject {
  const { status, ...rest } = plainMetadata(object);
  return rest as UnknownObject;
}
