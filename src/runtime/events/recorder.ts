/**
 * Records events.k8s.io/v1 events about objects. `record` only notes down: it never waits and never throws. What happens again
 * within six minutes is one event with a series. Memory and rate are bounded; what does not fit is dropped and counted.
 */
import { hostname } from 'node:os';
import type { Client } from '../client/client.ts';
import { type Clock, microTime, sleep, systemClock } from '../clock.ts';
import { ApiError, ConfigError, isAlreadyExists, isNotFound } from '../errors.ts';
import { type Logger, silentLogger } from '../telemetry/logger.ts';
import { type BucketOptions, TokenBucket } from '../workqueue/backoff.ts';
import { Workqueue } from '../workqueue/workqueue.ts';
import { type EventInput, type EventObject, eventOf, events, seriesKey, truncated } from './event-object.ts';

export type EventOutcome = 'created' | 'updated' | 'dropped';

export interface EventRecorderOptions {
  client: Client;
  /** Who reports: a qualified name such as `kidp.company.com/databases`. */
  reportingController: string;
  /** Which of its replicas; by default with the host's name. */
  reportingInstance?: string;
  clock?: Clock;
  log?: Logger;
  onOutcome?: (outcome: EventOutcome) => void;
  /** How many different events are held in memory. */
  maximumSeries?: number;
  /** Writes of all events together. */
  writes?: BucketOptions;
  /** New events about one object and by one user; what repeats is counted and costs nothing. */
  perObject?: BucketOptions;
  /** New events by one user about all objects. */
  perUser?: BucketOptions;
  /** How often the count of an event that goes on happening is written, at most. */
  updateMilliseconds?: number;
}

interface Series {
  readonly object: EventObject;
  count: number;
  lastSeen: number;
  /** The count that the server has; 0: nothing yet. */
  written: number;
}

/** client-go's: after so long without another, the series has ended. */
const seriesEndsAfter = 6 * 60_000;
const mostTries = 12;
const flushMilliseconds = 3_000;

/**
 * An `EventRecorder` writes Events, deduplicated and bounded in rate. It is a `Runnable`: add it to a `Manager`.
 *
 * @example
 * import { connect, EventRecorder, loadKubeconfig, Manager, stopSignal } from 'kidp/runtime';
 *
 * const nodes = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false };
 * const client = connect(loadKubeconfig());
 * const recorder = new EventRecorder({ client, reportingController: 'example.com/checker' });
 * const [node] = (await client.list(nodes)).items;
 * if (node !== undefined)
 *   recorder.record({ regarding: node, type: 'Normal', reason: 'Checked', action: 'Check', note: 'The node was checked' });
 * const manager = new Manager({ client });
 * manager.add(recorder);
 * await manager.start(stopSignal());
 */
export class EventRecorder {
  readonly name = 'event recorder';
  readonly leaderOnly = false;
  readonly #client: Client;
  readonly #reporter: { reportingController: string; reportingInstance: string };
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onOutcome: (outcome: EventOutcome) => void;
  readonly #maximum: number;
  readonly #perObject: BucketOptions;
  readonly #perUser: BucketOptions;
  readonly #update: number;
  readonly #writes: TokenBucket;
  readonly #queue: Workqueue;
  /** In the order of their last occurrence. */
  readonly #series = new Map<string, Series>();
  /** By object and user, and by user. */
  readonly #buckets = new Map<string, TokenBucket>();
  #dropped = 0;

  constructor(options: EventRecorderOptions) {
    const { reportingController } = options;
    if (!/^([a-z0-9.-]+\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/.test(reportingController)) {
      throw new ConfigError({
        code: 'reporting-controller',
        message: `"${reportingController}" is not a qualified name`,
        hint: 'Use letters, digits, dash, dot and underscore, with at most a domain and one slash before them',
      });
    }
    this.#client = options.client;
    const instance = options.reportingInstance ?? `${reportingController}-${hostname()}`;
    this.#reporter = { reportingController, reportingInstance: truncated(instance, 128) };
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLogger;
    this.#onOutcome = options.onOutcome ?? (() => {});
    this.#maximum = options.maximumSeries ?? 4096;
    this.#perObject = options.perObject ?? { tokensPerSecond: 1 / 300, burst: 25 };
    this.#perUser = options.perUser ?? { tokensPerSecond: 1 / 12, burst: 25 };
    this.#update = options.updateMilliseconds ?? 10_000;
    const monotonic = () => this.#clock.monotonic();
    this.#writes = new TokenBucket(options.writes ?? { tokensPerSecond: 10, burst: 50 }, monotonic);
    this.#queue = new Workqueue({
      clock: this.#clock,
      backoff: { baseMilliseconds: 500, maximumMilliseconds: 30_000 },
    });
  }

  /** How many events nobody will see. */
  get dropped(): number {
    return this.#dropped;
  }

  record(input: EventInput): void {
    try {
      this.#note(input);
    } catch (error) {
      this.#drop('could not be recorded', { error });
    }
  }

  /** Writes until the signal is aborted, then for a moment more, what is left. */
  async start(signal: AbortSignal): Promise<void> {
    void this.#write();
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    void this.#queue.shutdown();
    const left = [...this.#series.values()].filter(({ count, written }) => count > written);
    const late = new AbortController();
    const flushed = Promise.all(
      left.map((series) => this.#send(series).catch(() => this.#drop('was left at the end'))),
    );
    await Promise.race([flushed, sleep(this.#clock, flushMilliseconds, late.signal)]);
    late.abort();
  }

  #note(input: EventInput): void {
    const now = this.#clock.now();
    const key = seriesKey(input);
    const known = this.#series.get(key);
    this.#series.delete(key);
    if (known !== undefined && now - known.lastSeen < seriesEndsAfter) {
      known.count += 1;
      known.lastSeen = now;
      this.#series.set(key, known);
      // The second is written at once, so that one sees it repeats; from then on no more often than need be.
      if (known.count === 2) this.#queue.add(key);
      else this.#queue.addAfter(key, this.#update);
      return;
    }
    if (!this.#mayRecordAbout(input)) {
      this.#drop('is one of too many about one object or by one user', {
        reason: input.reason,
        name: input.regarding.metadata.name,
      });
      return;
    }
    this.#makeRoom(now);
    this.#series.set(key, { object: eventOf(input, this.#reporter, now), count: 1, lastSeen: now, written: 0 });
    this.#queue.add(key);
  }

  #mayRecordAbout({ regarding, user }: EventInput): boolean {
    const { namespace, name, uid } = regarding.metadata;
    const object = [regarding.kind, namespace, name, uid, user];
    return (
      this.#bucket(object, this.#perObject).tryTake() &&
      (user === undefined || this.#bucket([user], this.#perUser).tryTake())
    );
  }

  /** The least recently used bucket is forgotten. */
  #bucket(of: readonly (string | undefined)[], options: BucketOptions): TokenBucket {
    const id = JSON.stringify(of);
    const bucket = this.#buckets.get(id) ?? new TokenBucket(options, () => this.#clock.monotonic());
    this.#buckets.delete(id);
    this.#buckets.set(id, bucket);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > 2 * this.#maximum && oldest !== undefined) this.#buckets.delete(oldest);
    return bucket;
  }

  /** Forgets series that have ended and, where that is not enough, the one that has been quiet longest. */
  #makeRoom(now: number): void {
    for (const [key, series] of this.#series) {
      const ended = now - series.lastSeen >= seriesEndsAfter;
      if (!ended && this.#series.size < this.#maximum) return;
      this.#series.delete(key);
      if (series.written === 0)
        this.#drop('was not written before there were too many', { event: series.object.metadata });
    }
  }

  async #write(): Promise<void> {
    for (;;) {
      const key = await this.#queue.get();
      if (key === undefined) return;
      const series = this.#series.get(key);
      if (series !== undefined && series.count > series.written) await this.#tryToSend(key, series);
      this.#queue.done(key);
    }
  }

  async #tryToSend(key: string, series: Series): Promise<void> {
    const wait = this.#writes.reserve();
    if (wait > 0) await sleep(this.#clock, wait);
    try {
      await this.#send(series);
      this.#queue.forget(key);
    } catch (error) {
      const refused = error instanceof ApiError && error.status < 500 && error.status !== 429;
      if (refused || this.#queue.failures(key) >= mostTries) {
        this.#queue.forget(key);
        this.#series.delete(key);
        this.#drop('was refused', { error });
      } else {
        this.#queue.addRateLimited(key);
      }
    }
  }

  async #send(series: Series): Promise<void> {
    const { count, lastSeen, object } = series;
    const occurrences = { series: { count, lastObservedTime: microTime(lastSeen) } };
    if (series.written > 0) {
      try {
        await this.#client.patch(events, object.metadata, { type: 'merge', body: occurrences });
        series.written = count;
        this.#onOutcome('updated');
        return;
      } catch (error) {
        // The server forgets events after an hour; one that goes on happening is then a new object.
        if (!isNotFound(error)) throw error;
      }
    }
    await this.#client.create(events, { ...object, ...(count > 1 ? occurrences : {}) }).catch((error: unknown) => {
      // An answer that was lost on the way: the first try got through.
      if (!isAlreadyExists(error)) throw error;
    });
    series.written = count;
    this.#onOutcome('created');
  }

  #drop(why: string, fields: Readonly<Record<string, unknown>> = {}): void {
    this.#dropped += 1;
    this.#onOutcome('dropped');
    this.#log.debug('event dropped', { why, ...fields });
  }
}
