/**
 * Consumes topics as a member of a consumer group: each message at least once, messages of one key in order and one at a time.
 * A message that a handler rejects for good (`DeadLetter`) goes to the dead-letter topic; any other failure is retried with
 * backoff and holds up its own key only. An offset is committed once everything before it is handled. The consumer reconnects
 * automatically, for ever.
 */
import { systemClock } from '../../runtime/index.ts';
import { sleep } from '../../runtime/internal.ts';
import type { KafkaConnection } from './connection.ts';
import { sendToDeadLetterTopic } from './dead-letter.ts';
import { describeFailure } from './failure.ts';
import { Lanes } from './lanes.ts';
import { DeadLetter, type IncomingMessage } from './message.ts';
import type { KafkaMetrics } from './metrics.ts';
import { type KafkaProducer, kafkaProducer } from './producer.ts';
import { openSession, type Session } from './session.ts';
import { waitAtMost } from './wait-at-most.ts';

export interface ConsumeOptions extends KafkaConnection {
  readonly groupId: string;
  readonly topics: readonly string[];
  /** Reads every message again, whatever the group has committed. A new group does so anyway. */
  readonly fromBeginning?: boolean;
  readonly deadLetterTopic: string;
  /**
   * The signal is aborted when the consumer stops and cannot wait any longer. `isCrowded` is true when so many messages wait
   * that those of other keys may soon be held up: a handler that could give up a message should then do so and not retry it.
   */
  readonly handle: (message: IncomingMessage, signal: AbortSignal, isCrowded: () => boolean) => Promise<void>;
  /** How many keys are handled at the same time. */
  readonly concurrency?: number;
  /** How many messages are held at most; a large message counts as several. */
  readonly maximumWaiting?: number;
  /** How long the group waits for a member that does not answer before its partitions are given to another. */
  readonly sessionTimeoutMilliseconds?: number;
  /** How long `stop` and a rebalance wait for running handlers. */
  readonly graceMilliseconds?: number;
  /** How long `stop` waits for the last commit and for leaving the group. Uncommitted messages are redelivered. */
  readonly closeTimeoutMilliseconds?: number;
  /** The backoff between attempts to handle one message, and between attempts to connect. */
  readonly backoff?: Backoff;
  readonly metrics?: KafkaMetrics;
}

interface Backoff {
  readonly firstMilliseconds: number;
  readonly longestMilliseconds: number;
}

export interface KafkaConsumer {
  /** Resolves once the consumer is a member of its group and reads. Rejects if it is stopped before that. */
  ready(): Promise<void>;
  /** Waits for running handlers, commits, and leaves the group. */
  stop(): Promise<void>;
}

const longestReconnectPause = 2_000;
/** A message counts as one more unit of waiting work for each of these bytes. */
const bytesPerUnit = 32 * 1024;

export const consume = (options: ConsumeOptions): KafkaConsumer => new GroupConsumer(options);

class GroupConsumer implements KafkaConsumer {
  readonly #options: ConsumeOptions;
  readonly #backoff: Backoff;
  readonly #graceMilliseconds: number;
  readonly #sessionTimeoutMilliseconds: number;
  readonly #maximumWaiting: number;
  readonly #lanes: Lanes;
  readonly #producer: KafkaProducer;
  readonly #ready = Promise.withResolvers<void>();
  readonly #stopping = new AbortController();
  readonly #abandoned = new AbortController();
  readonly #rewind: { done: Set<string> } | undefined;
  readonly #running: Promise<void>;
  #session: Session | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: ConsumeOptions) {
    this.#options = options;
    this.#backoff = options.backoff ?? { firstMilliseconds: 200, longestMilliseconds: 30_000 };
    this.#graceMilliseconds = options.graceMilliseconds ?? 5_000;
    this.#sessionTimeoutMilliseconds = options.sessionTimeoutMilliseconds ?? 10_000;
    this.#maximumWaiting = options.maximumWaiting ?? 1_000;
    this.#lanes = new Lanes(options.concurrency ?? 16);
    this.#producer = kafkaProducer(options);
    this.#rewind = options.fromBeginning === true ? { done: new Set() } : undefined;
    this.#ready.promise.catch(() => undefined);
    this.#running = this.#run();
  }

  ready(): Promise<void> {
    return this.#ready.promise;
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    this.#ready.reject(new Error('the consumer was stopped before it was ready'));
    await this.#running;
    this.#session?.halt();
    await this.#drain(this.#graceMilliseconds);
    this.#abandoned.abort();
    await this.#session?.close();
    await this.#producer.close();
  }

  /** Opens one session after the other until the consumer is stopped. */
  async #run(): Promise<void> {
    const { groupId, topics, log, metrics } = this.#options;
    const { signal } = this.#stopping;
    const stopped = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    let memberId: string | null = null;
    /** The reason of the last failure: a failure that lasts is logged once. */
    let reason = '';
    for (let failures = 0; !signal.aborted; failures++) {
      let joined = false;
      const onReady = () => {
        if (reason !== '') log.info('Kafka consumer rejoined its group', { groupId, topics });
        reason = '';
        joined = true;
        this.#ready.resolve();
      };
      try {
        this.#session = await this.#openSession(memberId, onReady);
        await Promise.race([this.#session.failed, stopped]);
      } catch (error) {
        const next = describeFailure(error);
        if (next !== reason) log.warn('Kafka consumer failed; reconnecting', { groupId, topics, reason: next });
        reason = next;
        metrics?.restarted(groupId);
      }
      if (signal.aborted) return;
      this.#session?.halt();
      this.#lanes.clear();
      memberId = this.#session?.memberId() ?? null;
      await this.#session?.abandon();
      this.#session = undefined;
      if (joined) failures = 0;
      await sleep(systemClock, Math.min(this.#pauseAfter(failures), longestReconnectPause), signal);
    }
  }

  #openSession(memberId: string | null, onReady: () => void): Promise<Session> {
    const sessionTimeoutMilliseconds = this.#sessionTimeoutMilliseconds;
    return openSession({
      ...this.#options,
      sessionTimeoutMilliseconds,
      closeTimeoutMilliseconds: this.#options.closeTimeoutMilliseconds ?? 3_000,
      memberId,
      rewind: this.#rewind,
      accept: (message, done) => this.#accept(message, done),
      capacity: () => this.#lanes.below(this.#maximumWaiting),
      // The group waits no longer than this for a member.
      drain: () => this.#drain(Math.min(this.#graceMilliseconds, sessionTimeoutMilliseconds / 2)),
      onReady,
    });
  }

  #accept(message: IncomingMessage, done: () => void): void {
    const { groupId, metrics } = this.#options;
    let tries = 0;
    const lane = `${message.topic}/${message.partition}/${message.key ?? ''}`;
    this.#lanes.add(
      lane,
      async () => {
        const result = await this.#attempt(message);
        metrics?.waiting(groupId, this.#lanes.weight);
        if (result !== 'retry') {
          metrics?.message(groupId, message.topic, result);
          done();
          return undefined;
        }
        metrics?.message(groupId, message.topic, 'retried');
        return this.#pauseAfter(tries++);
      },
      1 + Math.floor(message.value.length / bytesPerUnit),
    );
  }

  async #attempt(message: IncomingMessage): Promise<'handled' | 'dead-letter' | 'retry'> {
    const { topic, partition, offset, key } = message;
    const { groupId, log } = this.#options;
    const place = { groupId, topic, partition, offset: String(offset), key };
    const isCrowded = () => this.#lanes.weight >= this.#maximumWaiting / 2;
    try {
      try {
        if (message.refused !== undefined) throw new DeadLetter(message.refused, 'batch-too-large');
        await this.#options.handle(message, this.#abandoned.signal, isCrowded);
        return 'handled';
      } catch (error) {
        if (!(error instanceof DeadLetter)) throw error;
        await this.#deadLetter(message, error);
        log.warn('message sent to the dead-letter topic', { ...place, code: error.code, reason: error.message });
        return 'dead-letter';
      }
    } catch (error) {
      if (!this.#abandoned.signal.aborted) {
        log.warn('message could not be handled; retrying', { ...place, reason: describeFailure(error) });
      }
      return 'retry';
    }
  }

  async #deadLetter(message: IncomingMessage, error: DeadLetter): Promise<void> {
    const { deadLetterTopic, metrics } = this.#options;
    // A consumer of the dead-letter topic itself would otherwise write back what it reads, for ever.
    if (message.topic !== deadLetterTopic) {
      await sendToDeadLetterTopic(this.#producer, deadLetterTopic, message, error);
    }
    metrics?.deadLetter(message.topic, error.code);
  }

  #pauseAfter(failures: number): number {
    const { firstMilliseconds, longestMilliseconds } = this.#backoff;
    return Math.min(firstMilliseconds * 2 ** failures, longestMilliseconds) * (0.5 + Math.random() / 2);
  }

  /** A handler that does not end in time keeps running: its message is redelivered and handled once more. */
  async #drain(milliseconds: number): Promise<void> {
    this.#lanes.clear();
    await waitAtMost(milliseconds, this.#lanes.idle());
  }
}
