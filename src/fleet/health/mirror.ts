/**
 * The objects of one cluster in one health round, read once for all operators on it.
 *
 * Kinds with many objects are watched from then on, as far as the connection limit allows (over HTTP/1.1 a watch is a
 * connection), so later rounds read memory. Other kinds are listed with one short request each.
 */
import {
  ApiError,
  apiVersionOf,
  type Client,
  type Clock,
  ConnectionError,
  eachObject,
  type KubernetesObject,
  type ObjectKey,
  Reflector,
  type Resource,
  type UnknownObject,
} from '../../runtime/index.ts';
import { type ClusterObjects, groupPods } from './objects.ts';
import { pods } from './resources.ts';
import type { Semaphore, WatchBudget } from './semaphore.ts';
import type { CustomResource, Pod } from './shapes.ts';
import { slimCustomResource, slimPod } from './slim.ts';

interface MirrorOptions {
  readonly gate: Semaphore;
  readonly watches: WatchBudget;
  readonly clock: Clock;
  readonly requestMilliseconds: number;
  /** Kinds with at least this many objects are watched. */
  readonly watchFrom: number;
}

/** Above this number of namespaces, one cluster-wide list is cheaper than one list each. */
const mostNamespaces = 16;
/** An API group that is not served is not requested again for this time. */
const absentMilliseconds = 600_000;

type Slim = (object: KubernetesObject) => KubernetesObject;

export class ClusterMirror implements ClusterObjects {
  readonly #options: MirrorOptions;
  readonly #watched = new Map<string, Reflector<UnknownObject>>();
  /** Requests of this round. */
  #memo = new Map<string, Promise<unknown>>();
  #read = new Set<string>();
  readonly #absent = new Map<string, { error: ApiError; until: number }>();
  /** The client of this round; connections end with their credentials. */
  #client: Client | undefined;
  #wide = false;
  #unreachable: ConnectionError | undefined;

  constructor(options: MirrorOptions) {
    this.#options = options;
  }

  /**
   * `namespaces` is the number of namespaces with operators. Rejects if the cluster is unreachable, which cached
   * objects would hide.
   */
  async beginRound(client: Client, namespaces: number): Promise<void> {
    this.#client = client;
    this.#memo = new Map();
    this.#read = new Set();
    this.#unreachable = undefined;
    this.#wide = namespaces > mostNamespaces;
    if (this.#watched.size === 0) return;
    await this.#ask(() =>
      client.request({ method: 'GET', path: '/version', timeoutMilliseconds: this.#options.requestMilliseconds }),
    );
  }

  /** Watches that were not used in this round are stopped. */
  async endRound(): Promise<void> {
    this.#memo = new Map();
    const idle = [...this.#watched.keys()].filter((key) => !this.#read.has(key));
    await Promise.all(idle.map((key) => this.#unwatch(key)));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#watched.keys()].map((key) => this.#unwatch(key)));
  }

  /**
   * The client for dry runs, under the same limits. Once a request is sent, slowness is attributed to the webhook, not
   * to the cluster.
   */
  readonly writer: Pick<Client, 'create'> = {
    create: (resource, object, options) => {
      let sent = false;
      const onSent = () => {
        sent = true;
        options?.onSent?.();
      };
      return this.#ask(
        (client) => client.create(resource, object, { ...options, onSent }),
        () => !sent,
      );
    },
  };

  async get<T extends object>(resource: Resource, key: ObjectKey): Promise<T | undefined> {
    const where = resource.namespaced ? this.#scope(key.namespace) : undefined;
    const index = await this.#once(`get ${idOf(resource, where)}`, async () => {
      const objects = await this.#objects(resource, where);
      return new Map(objects.map((object) => [keyText(object.metadata), object]));
    });
    return index.get(keyText(key)) as T | undefined;
  }

  async list<T extends object>(resource: Resource, namespace?: string): Promise<readonly T[]> {
    const where = resource.namespaced ? this.#scope(namespace) : undefined;
    if (where === namespace) return (await this.#objects(resource, where)) as unknown as readonly T[];
    const grouped = await this.#once(`by namespace ${idOf(resource, where)}`, async () =>
      Map.groupBy(await this.#objects(resource, where), ({ metadata }) => metadata.namespace),
    );
    return (grouped.get(namespace) ?? []) as unknown as readonly T[];
  }

  async podsByWorkload(namespace: string): Promise<ReadonlyMap<string, readonly Pod[]>> {
    const where = this.#scope(namespace);
    const grouped = await this.#once(`pods ${where ?? ''}`, async () => {
      const all = (await this.#objects(pods, where, slimPod)) as unknown as readonly Pod[];
      const byNamespace = Map.groupBy(all, ({ metadata }) => metadata.namespace);
      return new Map([...byNamespace].map(([own, group]) => [own, groupPods(group)]));
    });
    return grouped.get(namespace) ?? new Map();
  }

  async some(resource: Resource): Promise<readonly CustomResource[]> {
    const page = await this.#ask((client) =>
      client.list(resource, { limit: 1, timeoutMilliseconds: this.#options.requestMilliseconds }),
    );
    return page.items as unknown as CustomResource[];
  }

  async eachCustomResource(resource: Resource, each: (object: CustomResource) => void): Promise<void> {
    const known = this.#inMemory(resource, undefined);
    if (known !== undefined) {
      for (const object of known) each(object as unknown as CustomResource);
      return;
    }
    const count = await this.#stream(resource, undefined, (object) => each(object as unknown as CustomResource));
    this.#watchIfMany(resource, undefined, count, slimCustomResource);
  }

  /** The requested namespace, or all if there are too many. */
  #scope(namespace: string | undefined): string | undefined {
    return this.#wide ? undefined : namespace;
  }

  #objects(resource: Resource, namespace: string | undefined, slim: Slim = (object) => object) {
    return this.#once(`list ${idOf(resource, namespace)}`, async () => {
      const known = this.#inMemory(resource, namespace);
      if (known !== undefined) return known;
      const found: UnknownObject[] = [];
      await this.#stream(resource, namespace, (object) => found.push(slim(object) as UnknownObject));
      this.#watchIfMany(resource, namespace, found.length, slim);
      return found;
    });
  }

  #once<T>(key: string, load: () => Promise<T>): Promise<T> {
    const known = this.#memo.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const loading = load();
    this.#memo.set(key, loading);
    return loading;
  }

  async #stream(resource: Resource, namespace: string | undefined, each: (object: UnknownObject) => void) {
    const absent = this.#absent.get(resource.group);
    if (absent !== undefined && absent.until > this.#options.clock.monotonic()) throw absent.error;
    const where = {
      omitManagedFields: true,
      timeoutMilliseconds: this.#options.requestMilliseconds,
      ...(namespace === undefined ? {} : { namespace }),
    };
    try {
      const { objects } = await this.#ask((client) => eachObject(client, resource, where, each));
      return objects;
    } catch (error) {
      if (error instanceof ApiError && (error.status === 404 || error.status === 503) && isAggregated(resource)) {
        this.#absent.set(resource.group, { error, until: this.#options.clock.monotonic() + absentMilliseconds });
      }
      throw error;
    }
  }

  /** After the first connection failure, no more requests are sent in this round: each would wait for the timeout. */
  async #ask<T>(question: (client: Client) => Promise<T>, isOfCluster: () => boolean = () => true): Promise<T> {
    return this.#options.gate.run(async () => {
      if (this.#unreachable !== undefined) throw this.#unreachable;
      try {
        return await question(this.#current());
      } catch (error) {
        if (error instanceof ConnectionError && error.failure !== 'aborted' && isOfCluster()) this.#unreachable = error;
        throw error;
      }
    });
  }

  #current(): Client {
    if (this.#client === undefined) throw new Error('no round has started');
    return this.#client;
  }

  #inMemory(resource: Resource, namespace: string | undefined): readonly UnknownObject[] | undefined {
    const key = idOf(resource, namespace);
    this.#read.add(key);
    const reflector = this.#watched.get(key);
    return reflector?.hasSynced === true && reflector.status.state === 'watching' ? reflector.store.list() : undefined;
  }

  #watchIfMany(resource: Resource, namespace: string | undefined, count: number, slim: Slim): void {
    const key = idOf(resource, namespace);
    const { watchFrom, watches, clock } = this.#options;
    if (count < watchFrom || this.#watched.has(key) || !watches.take()) return;
    const reflector = new Reflector<UnknownObject>({
      client: this.#delegate(),
      resource,
      clock,
      stripManagedFields: true,
      transform: (object) => slim(object) as UnknownObject,
      ...(namespace === undefined ? {} : { namespace }),
    });
    this.#watched.set(key, reflector);
    reflector.start();
  }

  async #unwatch(key: string): Promise<void> {
    const reflector = this.#watched.get(key);
    if (reflector === undefined) return;
    this.#watched.delete(key);
    this.#options.watches.give();
    await reflector.stop();
  }

  /** The part of the client that a reflector uses, with the connection of the latest round. */
  #delegate(): Client {
    const asked: Pick<Client, 'list' | 'watch'> = {
      list: (resource, options) => this.#options.gate.run(() => this.#current().list(resource, options)),
      watch: (resource, options) => this.#current().watch(resource, options),
    };
    return asked as Client;
  }
}

const idOf = (resource: Resource, namespace: string | undefined): string =>
  `${apiVersionOf(resource)}/${resource.plural}/${namespace ?? ''}`;

const keyText = ({ namespace = '', name }: ObjectKey): string => `${namespace}/${name}`;

/** Aggregated APIs can be absent without an error. */
const isAggregated = ({ group }: Resource): boolean => group === 'metrics.k8s.io';
