/**
 * Takes messages of topics as a member of a consumer group: each at least once, those of one key in order and one at a time. What a
 * handler refuses for good (`DeadLetter`) goes to the dead-letter topic; what it fails at otherwise is tried again, later and later,
 * and holds up its own key only. An offset is committed when everything before it is done. It connects anew by itself, for ever.
 */
import { systemClock } from '../../runtime/index.ts';
import { sleep } from '../../runtime/internal.ts';
import type { KafkaConnection } from './connection.ts';
import { sendToDeadLetterTopic } from './dead-letter.ts';
import { describeFailure } from './failure.ts';
import { Lanes } from './lanes.ts';
import { DeadLetter, type IncomingMessage } from './message.ts';
import type { KafkaMetrics } from './metrics.ts';
import { kafkaProducer } from './producer.ts';
import { openSession, type Session } from './session.ts';
import { waitAtMost } from './wait-at-most.ts';

export interface ConsumeOptions extends KafkaConnection {
  readonly groupId: string;
  readonly topics: readonly string[];
  /** Reads everything that is there again, whatever the group has committed. A new group does so anyway. */
  readonly fromBeginning?: boolean;
  readonly deadLetterTopic: string;
  /**
   * The signal is aborted where the consumer stops and cannot wait any longer. `isCrowded`: so much waits that messages of others may soon
   * have to as well; what could be given up is better given up than tried again.
   */
  readonly handle: (message: IncomingMessage, signal: AbortSignal, isCrowded: () => boolean) => Promise<void>;
  /** So many keys at a time. */
  readonly concurrency?: number;
  /** So many messages are held at most; a large one counts as several. */
  readonly maximumWaiting?: number;
  /** How long the group waits for a member that does not answer before its partitions go to another. */
  readonly sessionTimeoutMilliseconds?: number;
  /** How long `stop`, or another assignment, waits for what is being handled. */
  readonly graceMilliseconds?: number;
  /** How long `stop` waits for the last commit, and for leaving the group. What is not committed is taken once more by who comes next. */
  readonly closeTimeoutMilliseconds?: number;
  /** Waits between tries of one message, and between attempts to connect. */
  readonly backoff?: { readonly firstMilliseconds: number; readonly longestMilliseconds: number };
  readonly metrics?: KafkaMetrics;
}

export interface KafkaConsumer {
  /** Resolves once it is a member of its group and reads. Rejects where it is stopped before. */
  ready(): Promise<void>;
  /** Waits for what is being handled, commits, and leaves the group. */
  stop(): Promise<void>;
}

const longestPauseBeforeConnecting = 2_000;
const bytesPerUnit = 32 * 1024;

export function consume(options: ConsumeOptions): KafkaConsumer {
  const {
    groupId,
    topics,
    log,
    metrics,
    concurrency = 16,
    maximumWaiting = 1_000,
    graceMilliseconds = 5_000,
  } = options;
  const { sessionTimeoutMilliseconds = 10_000, closeTimeoutMilliseconds = 3_000 } = options;
  const backoff = options.backoff ?? { firstMilliseconds: 200, longestMilliseconds: 30_000 };
  const lanes = new Lanes(concurrency);
  const isCrowded = () => lanes.weight >= maximumWaiting / 2;
  const producer = kafkaProducer(options);
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => undefined);
  const stopping = new AbortController();
  const abandoned = new AbortController();
  const rewind = options.fromBeginning === true ? { done: new Set<string>() } : undefined;
  const stopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const sessionOptions = {
    ...options,
    sessionTimeoutMilliseconds,
    closeTimeoutMilliseconds,
    rewind,
    accept,
    capacity: () => lanes.below(maximumWaiting),
    // The group does not wait longer than that for a member.
    drain: () => drain(Math.min(graceMilliseconds, sessionTimeoutMilliseconds / 2)),
  };
  let session: Session | undefined;

  function accept(message: IncomingMessage, done: () => void): void {
    let tries = 0;
    const lane = `${message.topic}/${message.partition}/${message.key ?? ''}`;
    lanes.add(
      lane,
      async () => {
        const result = await attempt(message);
        metrics?.waiting(groupId, lanes.weight);
        if (result !== 'again') {
          metrics?.message(groupId, message.topic, result);
          done();
          return undefined;
        }
        metrics?.message(groupId, message.topic, 'retried');
        return pauseAfter(tries++);
      },
      1 + Math.floor(message.value.length / bytesPerUnit),
    );
  }

  async function attempt(message: IncomingMessage): Promise<'handled' | 'dead-letter' | 'again'> {
    const { topic, partition, offset, key } = message;
    const place = { groupId, topic, partition, offset: String(offset), key };
    try {
      try {
        await options.handle(message, abandoned.signal, isCrowded);
        return 'handled';
      } catch (error) {
        if (!(error instanceof DeadLetter)) throw error;
        // What is there already would be read and buried for ever, where somebody has this topic read.
        if (topic !== options.deadLetterTopic)
          await sendToDeadLetterTopic(producer, options.deadLetterTopic, message, error);
        metrics?.deadLetter(topic, error.code);
        log.warn('message went to the dead letters', { ...place, code: error.code, reason: error.message });
        return 'dead-letter';
      }
    } catch (error) {
      if (!abandoned.signal.aborted)
        log.warn('message will be tried again', { ...place, reason: describeFailure(error) });
      return 'again';
    }
  }

  function pauseAfter(failures: number): number {
    const { firstMilliseconds, longestMilliseconds } = backoff;
    return Math.min(firstMilliseconds * 2 ** failures, longestMilliseconds) * (0.5 + Math.random() / 2);
  }

  /** What does not end in time is left to end by itself: whoever gets its message next does it once more. */
  async function drain(milliseconds: number): Promise<void> {
    lanes.clear();
    await waitAtMost(milliseconds, lanes.idle());
  }

  async function run(): Promise<void> {
    let memberId: string | null = null;
    /** Why it failed last; said once, however long it lasts. */
    let reason = '';
    for (let failures = 0; !stopping.signal.aborted; failures++) {
      let joined = false;
      const onReady = () => {
        if (reason !== '') log.info('consumer of Kafka is back in its group', { groupId, topics });
        reason = '';
        joined = true;
        ready.resolve();
      };
      try {
        session = await openSession({ ...sessionOptions, memberId, onReady });
        await Promise.race([session.failed, stopped]);
      } catch (error) {
        const next = describeFailure(error);
        if (next !== reason) log.warn('consumer of Kafka failed and connects anew', { groupId, topics, reason: next });
        reason = next;
        metrics?.restarted(groupId);
      }
      if (stopping.signal.aborted) return;
      session?.halt();
      lanes.clear();
      memberId = session?.memberId() ?? null;
      await session?.abandon();
      session = undefined;
      if (joined) failures = 0;
      await sleep(systemClock, Math.min(pauseAfter(failures), longestPauseBeforeConnecting), stopping.signal);
    }
  }
  const running = run();

  let stop: Promise<void> | undefined;
  async function stopAll(): Promise<void> {
    stopping.abort();
    ready.reject(new Error('the consumer was stopped before it was ready'));
    await running;
    session?.halt();
    await drain(graceMilliseconds);
    abandoned.abort();
    await session?.close();
    await producer.close();
  }

  return {
    ready: () => ready.promise,
    stop() {
      stop ??= stopAll();
      return stop;
    },
  };
}
