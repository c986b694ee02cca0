/** The controller: watches, queues and reconciles. A builder assembles it and a manager runs it. */

import { clientUntil } from '../client/bound-client.ts';
import type { Client } from '../client/client.ts';
import { type Clock, sleep } from '../clock.ts';
import { ApiError, FenceError, isConflict } from '../errors.ts';
import { formatKey, type ObjectKey, type Resource } from '../objects/object.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { ControllerMetrics, ReconcileOutcome, RuntimeMetrics } from '../telemetry/metrics.ts';
import type { BackoffOptions, BucketOptions } from '../workqueue/backoff.ts';
import { Workqueue } from '../workqueue/workqueue.ts';
import type { Caches, Selection } from './caches.ts';
import type { Mapper } from './mappers.ts';
import type { Change, Predicate } from './predicates.ts';
import { readerOver } from './reader.ts';
import { type Reconcile, ReconcileTimeoutError, type Result, TerminalError } from './reconcile.ts';

export interface ControllerOptions {
  /** The maximal number of concurrent reconciles. */
  maxConcurrentReconciles?: number;
  /**
   * The timeout of a reconcile, which is then aborted and requeued with backoff. A reconcile that ignores its signal is
   * abandoned: its client rejects all further requests.
   */
  timeoutMilliseconds?: number;
  /** The time that reconciles in progress have to finish when the controller stops; then they are aborted. */
  drainMilliseconds?: number;
  backoff?: BackoffOptions;
  bucket?: BucketOptions;
  /** The group of a key; groups take turns. Default: the namespace. */
  groupOf?: (key: ObjectKey) => string;
  /** Runs the controller on every replica, without leader election and without a fence. */
  everywhere?: boolean;
}

export interface WatchedSource {
  readonly resource: Resource;
  readonly selection: Selection;
  readonly mapper: Mapper;
  readonly predicates: readonly Predicate[];
}

interface ControllerParts {
  readonly name: string;
  readonly sources: readonly WatchedSource[];
  readonly reconcile: Reconcile;
  readonly options: ControllerOptions;
  readonly caches: Caches;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics | undefined;
}

/** The time that aborted reconciles have to return before the controller stops without them. */
const unwindMilliseconds = 1_000;

export class Controller {
  readonly name: string;
  readonly leaderOnly: boolean;
  readonly #parts: ControllerParts;
  readonly #queue: Workqueue;
  readonly #metrics: ControllerMetrics | undefined;
  readonly #running = new Map<string, AbortController>();
  #stopping = false;

  constructor(parts: ControllerParts) {
    this.name = parts.name;
    this.leaderOnly = parts.options.everywhere !== true;
    this.#parts = parts;
    const { backoff, bucket, groupOf } = parts.options;
    this.#metrics = parts.metrics?.controller(parts.name, () => this.#queue);
    this.#queue = new Workqueue({
      clock: parts.clock,
      groupOf: (key) => (groupOf === undefined ? (parseKey(key).namespace ?? '') : groupOf(parseKey(key))),
      ...(backoff === undefined ? {} : { backoff }),
      ...(bucket === undefined ? {} : { bucket }),
      ...(this.#metrics === undefined ? {} : { metrics: this.#metrics }),
    });
  }

  /** Enqueues a key on an event that is not a watched change, for example a webhook call or the answer of a broker. */
  enqueue(key: ObjectKey): void {
    this.#queue.add(formatKey(key));
  }

  /**
   * Runs until the signal is aborted, then drains. The caches must have been started; it waits until its own are
   * synced.
   */
  async start(signal: AbortSignal): Promise<void> {
    const { caches, sources, options } = this.#parts;
    const ends = sources.map((source) =>
      caches.subscribe(source.resource, source.selection, {
        added: (object, initial) => this.#changed(source, { type: 'added', object, initial }),
        updated: (object, old) => this.#changed(source, { type: 'updated', object, old }),
        deleted: (object) => this.#changed(source, { type: 'deleted', object }),
      }),
    );
    const stopped = aborted(signal);
    // Earlier, existing objects would appear absent to a reconcile.
    await Promise.race([
      Promise.all(sources.map((source) => caches.syncedOf(source.resource, source.selection))),
      stopped,
    ]);
    if (!signal.aborted) {
      for (let worker = 0; worker < (options.maxConcurrentReconciles ?? 4); worker += 1) void this.#work();
    }
    await stopped;
    for (const end of ends) end();
    await this.#drain(signal.reason);
  }

  #changed(source: WatchedSource, change: Change): void {
    const { log } = this.#parts;
    try {
      if (!source.predicates.every((predicate) => predicate(change))) return;
      // The owners of the old state must be reconciled too. Each key is enqueued once, because an idle worker would
      // reconcile it twice.
      const objects = change.type === 'updated' ? [change.old, change.object] : [change.object];
      const keys = new Set(objects.flatMap((object) => [...source.mapper(object)].map(formatKey)));
      for (const key of keys) this.#queue.add(key);
    } catch (error) {
      const { kind, metadata } = change.object;
      log.error('predicate or mapper failed; change ignored', { error, kind, name: metadata.name });
    }
  }

  async #work(): Promise<void> {
    for (;;) {
      const key = await this.#queue.get();
      if (key === undefined) return;
      const outcome = await this.#reconcile(key);
      this.#queue.done(key);
      this.#parts.log.debug('reconciled', { key, outcome });
    }
  }

  async #reconcile(key: string): Promise<ReconcileOutcome> {
    const { clock, options, log } = this.#parts;
    const abort = new AbortController();
    const started = clock.monotonic();
    const limit = options.timeoutMilliseconds;
    const cancel =
      limit === undefined ? undefined : clock.schedule(limit, () => abort.abort(new ReconcileTimeoutError(limit)));
    this.#running.set(key, abort);
    this.#metrics?.active(this.#running.size);
    let outcome: ReconcileOutcome;
    try {
      outcome = this.#succeeded(key, await untilAborted(this.#call(key, abort.signal), abort.signal));
    } catch (error) {
      outcome = this.#failed(key, error, log.with({ key }));
    } finally {
      cancel?.();
      this.#running.delete(key);
      this.#metrics?.active(this.#running.size);
    }
    // Work that the reconcile started and did not await must not run concurrently with the next reconcile of this key.
    abort.abort(new Error('the reconcile has ended'));
    this.#metrics?.reconciled(outcome, (clock.monotonic() - started) / 1000);
    return outcome;
  }

  async #call(key: string, signal: AbortSignal): Promise<Result> {
    const { caches, client, log, reconcile } = this.#parts;
    const own = clientUntil(client, signal);
    return (await reconcile(parseKey(key), {
      client: own,
      read: readerOver(caches, own),
      log: log.with({ key }),
      signal,
      failures: this.#queue.failures(key),
    })) as Result;
  }

  #succeeded(key: string, result: Result): ReconcileOutcome {
    const after = result?.requeueAfterMilliseconds;
    if (after !== undefined && !(Number.isFinite(after) && after >= 0)) {
      throw new RangeError(`requeueAfterMilliseconds must be a number from 0, not ${after}`);
    }
    this.#queue.forget(key);
    if (after === undefined) return 'success';
    this.#queue.addAfter(key, after);
    return 'requeue_after';
  }

  #failed(key: string, error: unknown, log: Logger): ReconcileOutcome {
    if (error instanceof FenceError) {
      // A renewal in progress may still succeed. If it does not, the queue is shut down and drops this key.
      this.#queue.addRateLimited(key);
      log.info('reconcile aborted; this process lost the right to write');
      return 'fenced';
    }
    if (this.#stopping) {
      log.info('reconcile aborted; the controller is stopping', { error });
      return 'error';
    }
    if (error instanceof TerminalError) {
      this.#queue.forget(key);
      log.error('reconcile failed; not retried until the object changes', { error });
      return 'terminal_error';
    }
    const askedToWait = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
    this.#queue.addRateLimited(key, askedToWait);
    if (isConflict(error)) {
      log.debug('reconcile conflict; requeued', { error });
      return 'conflict';
    }
    log.error('reconcile failed; requeued', { error, failures: this.#queue.failures(key) });
    return error instanceof ReconcileTimeoutError ? 'timeout' : 'error';
  }

  async #drain(reason: unknown): Promise<void> {
    const { clock, log, options } = this.#parts;
    this.#stopping = true;
    const drained = this.#queue.shutdown();
    // A process that is no longer the leader has nothing to finish.
    const patience = reason instanceof FenceError ? 0 : (options.drainMilliseconds ?? 10_000);
    if (await endsWithin(drained, patience, clock)) return;
    const stopping = reason instanceof Error ? reason : new Error('the controller stops');
    for (const abort of this.#running.values()) abort.abort(stopping);
    if (await endsWithin(drained, unwindMilliseconds, clock)) return;
    log.warn('stopped without waiting for running reconciles', { keys: [...this.#running.keys()] });
  }
}

function parseKey(key: string): ObjectKey {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Settles like the work, or rejects with the reason of the signal if that is aborted first. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}

async function endsWithin(work: Promise<void>, milliseconds: number, clock: Clock): Promise<boolean> {
  const late = new AbortController();
  const ended = await Promise.race([work.then(() => true), sleep(clock, milliseconds, late.signal).then(() => false)]);
  late.abort();
  return ended;
}
