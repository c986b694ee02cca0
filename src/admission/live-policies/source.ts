/**
 * The live policies of a cluster and the objects that they can read: watches in, an immutable set out.
 *
 * Changes in quick succession are built together, and a slow build is followed by a longer pause: a thousand changes
 * per minute cost a small share of one core. A caller uses one set for a whole request.
 */
import { application, policy, policyException, service, team } from '../../api/index.ts';
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
import { hostLookup, serviceIndexes, withHostOnly } from './host-lookup.ts';
import { worldWithNeeds } from './needs.ts';
import { plainMetadata, servedAs } from './objects.ts';
import { ownerLookup, teamIndexes } from './owner-lookup.ts';
import { PolicyRegistry } from './registry.ts';
import { KindWatches } from './watches.ts';

export interface PolicySourceOptions {
  readonly client: Client;
  /** The namespace of the platform. */
  readonly platformNamespace: string;
  /** The namespaces that policies exempt like kube-system. */
  readonly excludedNamespaces?: readonly string[] | undefined;
  /** The namespaces in which PolicyExceptions take effect. */
  readonly exceptionNamespaces: readonly string[];
  readonly log?: Logger;
}

/** A change: a new policy set is in force, or the served kinds of a group have changed (an empty group means any). */
export type SourceChange = { readonly what: 'set' } | { readonly what: 'kinds'; readonly group: string };

export interface LivePolicySource {
  /** Returns the policy set and the world for evaluating a request. */
  current(): { readonly set: PolicySet; readonly world: World };
  /** Returns a world that also contains the declared objects of these policies that are not watched. */
  worldFor(models: readonly PolicyModel[], signal?: AbortSignal): Promise<World>;
  synced(): boolean;
  /** Resolves once `synced`. */
  whenSynced(signal?: AbortSignal): Promise<void>;
  /** Reads a namespace that is not yet in the cache from the API server. */
  knowNamespace(name: string, signal?: AbortSignal): Promise<void>;
  readonly owners: OwnerLookup;
  readonly mapping: ResourceMapping;
  /** Incremented with every change of the served kinds. */
  readonly schemaVersion: number;
  schemas(): SchemaSource;
  state(name: string): PolicyState | undefined;
  states(): Iterable<PolicyState>;
  /**
   * The resourceVersion of Policies up to which every change is in the current set, or in `states` with the reason why
   * it is not in force.
   */
  readonly appliedVersion: string;
  readonly options: PolicySourceOptions;
  /** Notifies of changes after they took effect. Returns a function that ends the subscription. */
  subscribe(listener: (change: SourceChange) => void): () => void;
  /** Notifies of changed objects of kinds that policies read. */
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

/** The minimum pause before a build. A pause is also at least ten times as long as the last build. */
const shortestRest = 20;
const longestRest = 1_000;
/** The longest time that compilation may block requests. */
const sliceMilliseconds = 10;
/** The time that a live-read namespace is kept; the cache has it by then. */
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
    const { client, platformNamespace, excludedNamespaces = [], exceptionNamespaces, log = silentLogger } = options;
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
      excludedNamespaces,
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
        this.#notify({ what: 'kinds', group });
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
    const services = this.#reflect(service.resource, {}, serviceIndexes, withHostOnly);
    this.#reflectors = [policies, exceptions, this.#namespaces, teams, applications, services];
    this.owners = {
      ...ownerLookup({ client, teams, applications }),
      hosts: hostLookup({ client, teams, services }),
    };
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
      // The namespace does not exist: the API server rejects the request.
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
    this.#firstSync.reject(new Error('the policy source was stopped before it had synced'));
    await Promise.all([
      ...this.#reflectors.map((reflector) => reflector.stop()),
      this.#watches.stop(),
      this.#definitions.stop(),
    ]);
  }

  #reflect(
    resource: Resource,
    callbacks: {
      put?: (object: UnknownObject) => boolean;
      remove?: (object: UnknownObject) => void;
      current?: (version: string) => void;
    },
    indexes: Readonly<Record<string, (object: UnknownObject) => string[]>> = {},
    transform: (object: UnknownObject) => UnknownObject = callbacks.put === undefined ? plainMetadata : withoutStatus,
  ): Reflector<UnknownObject> {
    const { put, remove, current } = callbacks;
    const changed = (object: UnknownObject) => {
      if (put?.(object) === true) this.#changed();
    };
    return new Reflector<UnknownObject>({
      client: this.#client,
      resource,
      indexes,
      stripManagedFields: true,
      transform,
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
          this.#log.warn('watch failed; retrying', { resource: resource.plural, error, during }),
        ...(current === undefined ? {} : { current }),
      },
    });
  }

  /** Schedules a build after a change. */
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
      // A timer would pause longer than needed.
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
    set.index.prepare();
    this.#set = set;
    const took = performance.now() - began;
    this.#rest = Math.min(Math.max(shortestRest, 10 * took), longestRest);
    this.#appliedVersion = seen;
    this.#watchSync();
    if (this.#set === before) return;
    this.#log.debug('built a new policy set', {
      revision: this.#set.revision,
      policies: this.#set.policies.length,
      milliseconds: Math.round(took),
    });
    this.#notify({ what: 'set' });
  }

  /** Marks the source as synced once no policy is pending. No request is evaluated before that. */
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

  #notify(change: SourceChange): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#log.error('a policy change listener failed', { error });
      }
    }
  }
}

/** Drops the status: the platform writes it often, and no rule reads it. */
function withoutStatus(object: UnknownObject): UnknownObject {
  const { status, ...rest } = plainMetadata(object);
  return rest as UnknownObject;
}
