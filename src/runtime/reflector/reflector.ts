/**
 * Lists, then watches from the listed version until it is stopped. It retries every failure, from the last version that
 * was seen.
 *
 * The page size was measured on 10,000 objects of 2 KB from a 1.36 API server (`npm run bench -- list-modes`): the
 * server answers the first page from its cache but every continuation from etcd, so pages of 500 take twice the CPU and
 * twice the time of one page. The streaming list (`sendInitialEvents`) takes three times the CPU and 2.4 times the
 * time, because each event is encoded separately. So the first page is large, and it is read item by item while it is
 * received, which limits memory as small pages would.
 */
import type { ListEachOptions, WatchEvent } from '../client/client.ts';
import { type Clock, sleep, systemClock } from '../clock.ts';
import { ApiError, isGone } from '../errors.ts';
import type { KubernetesObject, ObjectList } from '../objects/object.ts';
import { type Admission, admission } from './admission.ts';
import { endedAtOnce, isBeyondHistory, isServerFault, silence, statusOf } from './failures.ts';
import type { ReflectorHandlers, ReflectorObserver, ReflectorOptions, ReflectorStatus } from './options.ts';
import { type ReadonlyStore, Store } from './store.ts';

const firstPageSize = 10_000;
const laterPageSize = 500;
/** A watch that ends earlier without an event counts as failed. */
const shortestWatchMilliseconds = 1_000;
/**
 * After this many server errors on watches since one list, the history of the server is no longer trusted and all
 * objects are listed again.
 */
const faultsBeforeRelist = 3;

/**
 * A `Reflector` keeps a copy of the objects of a resource: it lists them once and then watches, through every failure of the server.
 *
 * @example
 * import { connect, loadKubeconfig, Reflector } from 'kidp/runtime';
 *
 * const pods = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };
 * const reflector = new Reflector({ client: connect(loadKubeconfig()), resource: pods, namespace: 'default' });
 * reflector.start();
 * await reflector.synced();
 * for (const pod of reflector.store.list()) console.log(pod.metadata.name);
 * await reflector.stop();
 */
export class Reflector<T extends KubernetesObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #clock: Clock;
  readonly #observer: ReflectorObserver;
  readonly #store: Store<T>;
  readonly #admit: Admission<T>;
  readonly #subscribers = new Set<ReflectorHandlers<T>>();
  readonly #stopping = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #status: ReflectorStatus = { state: 'idle' };
  #hasSynced = false;
  #resourceVersion: string | undefined;
  /** Failures since a watch last worked. */
  #attempts = 0;
  #serverFaults = 0;
  /** The time at which a broken watch was last resumed without a wait. */
  #pickedUp = Number.NEGATIVE_INFINITY;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#observer = guarded(options.observer ?? {});
    this.#store = new Store(options.indexes, (error) => this.#observer.failed?.(asError(error), 'index'));
    this.#admit = admission(options, (error) => this.#observer.failed?.(error, 'transform'));
    if (options.handlers !== undefined) this.#subscribers.add(options.handlers);
    // Callers that do not wait for it must not cause an unhandled rejection.
    this.#synced.promise.catch(() => {});
  }

  get store(): ReadonlyStore<T> {
    return this.#store;
  }

  get status(): ReflectorStatus {
    return this.#status;
  }

  /** Whether all initial objects are in the store and were passed to the handlers. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Resolves once `hasSynced`. It waits through any failure and rejects only if the reflector is stopped before. */
  synced(): Promise<void> {
    return this.#synced.promise;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the watch. No handler is called after this call. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.#synced.reject(
      new Error(`the reflector of ${this.#options.resource.plural} was stopped before it had listed them`),
    );
    this.#setStatus({ state: 'stopped' });
  }

  /**
   * Adds handlers: they are called at once for existing objects (as `added`), then for every change. Returns a function
   * that unsubscribes.
   */
  subscribe(handlers: ReflectorHandlers<T>): () => void {
    for (const object of this.#store.list()) this.#call(() => handlers.added?.(object, true));
    this.#subscribers.add(handlers);
    return () => this.#subscribers.delete(handlers);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const during = this.#resourceVersion === undefined ? 'list' : 'watch';
      try {
        if (this.#resourceVersion === undefined) this.#resourceVersion = await this.#list();
        else await this.#watch(this.#resourceVersion);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(asError(error), during);
      }
    }
  }

  async #recover(error: Error, during: 'list' | 'watch'): Promise<void> {
    this.#attempts += 1;
    const lostHistory = isGone(error) || isBeyondHistory(error);
    if (isServerFault(error)) this.#serverFaults += 1;
    if (this.#resourceVersion !== undefined && (lostHistory || this.#serverFaults >= faultsBeforeRelist)) {
      this.#resourceVersion = undefined;
      this.#observer.relisted?.(error);
    } else {
      this.#observer.failed?.(error, during);
    }
    // A watch that worked and broke is resumed at once, because watches end regularly; but not repeatedly.
    const now = this.#clock.monotonic();
    if (this.#attempts === 1 && during === 'watch' && now - this.#pickedUp > shortestWatchMilliseconds) {
      this.#pickedUp = now;
      return;
    }
    this.#setStatus({ state: 'failing', error, attempts: this.#attempts });
    await sleep(this.#clock, this.#wait(error), this.#stopping.signal);
  }

  #wait(error: Error): number {
    const { baseMilliseconds = 200, maximumMilliseconds = 30_000 } = this.#options.backoff ?? {};
    const grown = Math.min(baseMilliseconds * 2 ** Math.min(this.#attempts - 1, 30), maximumMilliseconds);
    const asked = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    // Between half and all of the wait, so that clients that lost the same server do not reconnect at the same moment.
    return Math.max(asked, grown * (0.5 + Math.random() / 2));
  }

  /** Updates the store to the state of the server, page by page, and returns the version of that state. */
  async #list(): Promise<string> {
    if (this.#attempts === 0) this.#setStatus({ state: 'listing' });
    const started = this.#clock.monotonic();
    let result: { version: string; objects: number };
    try {
      result = await this.#replace(true);
    } catch (error) {
      // The snapshot of the pages was compacted: list everything from a new one.
      if (!isGone(error)) throw error;
      this.#observer.relisted?.(error);
      result = await this.#replace(false);
    }
    this.#serverFaults = 0;
    this.#observer.listed?.({ objects: result.objects, milliseconds: this.#clock.monotonic() - started });
    this.#observer.current?.(result.version);
    if (!this.#hasSynced) {
      this.#hasSynced = true;
      this.#synced.resolve();
    }
    return result.version;
  }

  async #replace(inPages: boolean): Promise<{ version: string; objects: number }> {
    const { pageSize } = this.#options;
    // No object can have been deleted from an empty store.
    const seen = this.#store.size === 0 ? undefined : new Set<T>();
    let objects = 0;
    const each = (object: T) => {
      if (this.#stopping.signal.aborted) return;
      const kept = this.#put(this.#admit(object), !this.#hasSynced);
      seen?.add(kept);
      objects += 1;
    };
    for (let next: string | undefined; ; ) {
      const limit = pageSize ?? (next === undefined ? firstPageSize : laterPageSize);
      const page = await this.#page(
        { ...(inPages ? { limit } : {}), ...(next === undefined ? {} : { continue: next }) },
        each,
      );
      this.#stopping.signal.throwIfAborted();
      next = page.metadata.continue;
      if (next !== undefined && next !== '') continue;
      if (seen !== undefined) for (const object of this.#store.list()) if (!seen.has(object)) this.#remove(object);
      return { version: page.metadata.resourceVersion, objects };
    }
  }

  async #page(paging: { limit?: number; continue?: string }, each: (object: T) => void): Promise<ObjectList<T>> {
    const { client, resource, namespace, labelSelector, fieldSelector, stripManagedFields } = this.#options;
    const options: ListEachOptions = {
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...paging,
      omitManagedFields: stripManagedFields ?? false,
      signal: this.#stopping.signal,
      timeoutMilliseconds: 120_000,
    };
    if (client.listEach !== undefined) return client.listEach<T>(resource, options, each);
    const page = await client.list<T>(resource, options);
    for (const item of page.items) each(item);
    return page;
  }

  async #watch(from: string): Promise<void> {
    const { client, resource, namespace, labelSelector, fieldSelector } = this.#options;
    const { silenceMilliseconds = 120_000, watchSeconds = 300 } = this.#options;
    const connection = new AbortController();
    const abort = () => connection.abort();
    this.#stopping.signal.addEventListener('abort', abort, { once: true });
    const began = this.#clock.monotonic();
    let heard = began;
    let events = 0;
    let cancelCheck = () => {};
    const check = () => {
      const left = silenceMilliseconds - (this.#clock.monotonic() - heard);
      if (left <= 0) connection.abort();
      else cancelCheck = this.#clock.schedule(left, check);
    };
    cancelCheck = this.#clock.schedule(silenceMilliseconds, check);
    this.#observer.watched?.(from);
    try {
      const stream = client.watch<T>(resource, {
        ...(namespace === undefined ? {} : { namespace }),
        ...(labelSelector === undefined ? {} : { labelSelector }),
        ...(fieldSelector === undefined ? {} : { fieldSelector }),
        resourceVersion: from,
        allowWatchBookmarks: true,
        timeoutSeconds: Math.round(watchSeconds * (1 + Math.random())),
        signal: connection.signal,
        onOpen: () => this.#setStatus({ state: 'watching' }),
      });
      for await (const event of stream) {
        if (this.#stopping.signal.aborted) return;
        this.#take(event);
        heard = this.#clock.monotonic();
        events += 1;
        this.#attempts = 0;
      }
    } catch (error) {
      // The server may have been restarted while nothing happened; a watch that lasted this long has worked.
      if (this.#clock.monotonic() - began > 10 * shortestWatchMilliseconds) this.#attempts = 0;
      throw connection.signal.aborted ? silence(resource.plural, silenceMilliseconds) : error;
    } finally {
      cancelCheck();
      this.#stopping.signal.removeEventListener('abort', abort);
    }
    if (events === 0 && this.#clock.monotonic() - began < shortestWatchMilliseconds) {
      throw endedAtOnce(resource.plural);
    }
    this.#attempts = 0;
  }

  #take(event: WatchEvent<T>): void {
    if (event.type === 'ERROR') throw statusOf(event.object, this.#options.resource.plural);
    const version = event.object.metadata.resourceVersion;
    if (event.type === 'DELETED') this.#remove(this.#admit(event.object));
    else if (event.type !== 'BOOKMARK') this.#put(this.#admit(event.object), false);
    if (version !== undefined) this.#resourceVersion = version;
    this.#observer.event?.(event.type);
    if (version !== undefined) this.#observer.current?.(version);
  }

  /** Returns the object that is in the store afterwards. */
  #put(object: T, initial: boolean): T {
    const old = this.#store.get(object.metadata);
    if (old !== undefined && old.metadata.resourceVersion === object.metadata.resourceVersion) return old;
    // The same name, but another object: handlers must learn that the old one was deleted.
    const replaced = old !== undefined && old.metadata.uid !== object.metadata.uid;
    if (replaced) this.#remove(old);
    this.#store.set(object);
    for (const handlers of this.#subscribers) {
      if (old === undefined || replaced) this.#call(() => handlers.added?.(object, initial));
      else this.#call(() => handlers.updated?.(object, old));
    }
    return object;
  }

  #remove(object: T): void {
    if (this.#store.delete(object.metadata) === undefined) return;
    for (const handlers of this.#subscribers) this.#call(() => handlers.deleted?.(object));
  }

  #call(handler: () => void): void {
    if (this.#stopping.signal.aborted) return;
    try {
      handler();
    } catch (error) {
      this.#observer.failed?.(asError(error), 'handler');
    }
  }

  #setStatus(status: ReflectorStatus): void {
    if (this.#status.state === status.state && status.state !== 'failing') return;
    this.#status = status;
    this.#observer.status?.(status);
  }
}

/** An observer that throws must not stop the reflector. */
function guarded(observer: ReflectorObserver): ReflectorObserver {
  const contained =
    <A extends unknown[]>(method: ((...values: A) => void) | undefined) =>
    (...values: A) => {
      try {
        method?.apply(observer, values);
      } catch (error) {
        process.emitWarning(`an observer of a reflector threw: ${asError(error).message}`);
      }
    };
  return {
    listed: contained(observer.listed),
    watched: contained(observer.watched),
    event: contained(observer.event),
    relisted: contained(observer.relisted),
    failed: contained(observer.failed),
    current: contained(observer.current),
    status: contained(observer.status),
  };
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
