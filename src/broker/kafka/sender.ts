/**
 * Sends to one topic, and knows whether its cluster is there. What waits is sent together, one batch at a time, so that messages of one
 * key keep their order; each is acknowledged by all replicas in sync before its promise resolves.
 *
 * Each topic has a client of its own, and no send begins before the last has ended: a client that fails begins its sequence numbers
 * anew, and a send under way beside it could then get one that Kafka has seen, and would acknowledge without keeping the message.
 *
 * Where the cluster does not answer, everything that waits fails at once and so does what comes, until a probe finds it again: callers
 * have another way or another time. What failed as `unavailable` or `timeout` may have arrived; receivers know a message by its id.
 */
import type { Producer as ProducerClient } from '@platformatic/kafka';
import { systemClock } from '../../runtime/index.ts';
import { sleep } from '../../runtime/internal.ts';
import type { ChannelError, SendOptions } from '../channel.ts';
import { clientOptions, closeClient, type KafkaConnection, loadClient } from './connection.ts';
import { describeFailure, failureOf, isMessageError, kafkaError } from './failure.ts';
import type { OutgoingMessage } from './message.ts';

export interface TopicSenderOptions extends KafkaConnection {
  /** How long a message may take until it is acknowledged. */
  readonly timeoutMilliseconds?: number;
  /** So many may wait; what comes then is refused as `throttled`. */
  readonly maximumWaiting?: number;
}

export interface TopicSender {
  available(): boolean;
  send(message: OutgoingMessage, options?: SendOptions): Promise<void>;
  close(): Promise<void>;
}

type Client = ProducerClient<Buffer, Buffer, Buffer, Buffer>;

interface Waiting {
  readonly message: OutgoingMessage;
  readonly bytes: number;
  readonly settle: (error?: ChannelError) => void;
  settled: boolean;
}

// Below what a topic takes as one batch by default (1 MiB).
const batchBytes = 900_000;
const batchMessages = 1_000;
const longestProbePause = 2_000;

export function topicSender(options: TopicSenderOptions): TopicSender {
  const { log, timeoutMilliseconds = 10_000, maximumWaiting = 10_000, bootstrapServers } = options;
  const closing = new AbortController();
  let waiting: Waiting[] = [];
  let client: Client | undefined;
  let sending: Promise<void> | undefined;
  /** Why it is not there, while it is not. */
  let down: string | undefined;

  function send(message: OutgoingMessage, { signal }: SendOptions = {}): Promise<void> {
    if (closing.signal.aborted) return Promise.reject(kafkaError('unavailable', 'the producer is closed'));
    if (down !== undefined) return Promise.reject(kafkaError('unavailable', down));
    if (waiting.length >= maximumWaiting) {
      return Promise.reject(kafkaError('throttled', `${waiting.length} messages wait already`));
    }
    if (signal?.aborted) return Promise.reject(kafkaError('unavailable', 'cancelled'));
    return new Promise((resolve, reject) => {
      const cancel = () => entry.settle(kafkaError('unavailable', 'cancelled'));
      const late = setTimeout(
        () => entry.settle(kafkaError('timeout', `not acknowledged within ${timeoutMilliseconds} ms`)),
        timeoutMilliseconds,
      );
      const entry: Waiting = {
        message,
        bytes: (message.key?.length ?? 0) + message.value.length + 200,
        settled: false,
        settle(error) {
          if (entry.settled) return;
          entry.settled = true;
          clearTimeout(late);
          signal?.removeEventListener('abort', cancel);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      signal?.addEventListener('abort', cancel, { once: true });
      waiting.push(entry);
      sending ??= sendAll();
    });
  }

  async function sendAll(): Promise<void> {
    // What is sent in the same turn goes together.
    await Promise.resolve();
    while (waiting.length > 0 && down === undefined) await deliver(nextBatch());
    sending = undefined;
  }

  function nextBatch(): Waiting[] {
    const open = waiting.filter((entry) => !entry.settled);
    let count = 0;
    for (let bytes = 0; count < Math.min(open.length, batchMessages); count++) {
      bytes += open[count]?.bytes ?? 0;
      if (count > 0 && bytes > batchBytes) break;
    }
    waiting = open.slice(count);
    return open.slice(0, count);
  }

  async function deliver(batch: readonly Waiting[]): Promise<void> {
    if (batch.length === 0) return;
    try {
      client ??= await newClient();
      const messages = batch.map(({ message }) => encode(message));
      await within(timeoutMilliseconds, client.send({ messages, idempotent: true }));
      for (const entry of batch) entry.settle();
    } catch (error) {
      const failure = error instanceof TookTooLong ? 'timeout' : failureOf(error);
      // One of them is the culprit: the others must not suffer for it.
      if (batch.length > 1 && isMessageError(error)) {
        for (const entry of batch) await deliver([entry]);
        return;
      }
      const reason = describeFailure(error);
      for (const entry of batch) entry.settle(kafkaError(failure, reason, error));
      if (failure === 'unavailable' || failure === 'timeout') goDown(reason);
    }
  }

  function goDown(reason: string): void {
    if (down !== undefined || closing.signal.aborted) return;
    down = reason;
    log.warn('Kafka is not available', { bootstrapServers, reason });
    discardClient();
    for (const entry of waiting) entry.settle(kafkaError('unavailable', reason));
    waiting = [];
    void probe();
  }

  /** Until it answers again. */
  async function probe(): Promise<void> {
    for (let pause = 100; ; pause = Math.min(pause * 2, longestProbePause)) {
      await sleep(systemClock, pause * (0.5 + Math.random() / 2), closing.signal);
      if (closing.signal.aborted) return;
      const candidate = await connected().catch((error: unknown) => {
        down = describeFailure(error);
      });
      if (candidate === undefined) continue;
      if (closing.signal.aborted) return void closeClient(candidate);
      client = candidate;
      down = undefined;
      log.info('Kafka is available again', { bootstrapServers });
      return;
    }
  }

  async function connected(): Promise<Client> {
    const candidate = await newClient();
    try {
      await within(timeoutMilliseconds, candidate.metadata({ topics: [] }));
      return candidate;
    } catch (error) {
      void closeClient(candidate);
      throw error;
    }
  }

  async function newClient(): Promise<Client> {
    const { Producer } = await loadClient();
    return new Producer({ ...clientOptions(options), requestTimeout: timeoutMilliseconds, idempotent: true });
  }

  function discardClient(): void {
    if (client !== undefined) void closeClient(client);
    client = undefined;
  }

  return {
    available: () => down === undefined && !closing.signal.aborted,
    send,
    async close() {
      // What was asked for before is still sent.
      await sending;
      closing.abort();
      if (client !== undefined) await closeClient(client);
      client = undefined;
    },
  };
}

function encode({ topic, key, value, headers = {} }: OutgoingMessage) {
  const encoded = Object.entries(headers).map(([name, text]) => [Buffer.from(name), Buffer.from(text)] as const);
  return { topic, ...(key === undefined ? {} : { key: Buffer.from(key) }), value, headers: new Map(encoded) };
}

class TookTooLong extends Error {}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = sleep(systemClock, milliseconds, timer.signal).then(() => {
    throw new TookTooLong(`not acknowledged within ${milliseconds} ms`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.abort();
  }
}
