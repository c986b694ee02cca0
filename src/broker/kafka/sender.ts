/**
 * Sends to one topic, and knows whether its cluster is available. Waiting messages are sent together, one batch at a time, so
 * that messages of one key keep their order; each promise resolves once all in-sync replicas have acknowledged the message.
 *
 * Each topic has a client of its own, and no send starts before the previous one has ended: a client that fails restarts its
 * sequence numbers, and a concurrent send could then get a number that Kafka has seen. Kafka would acknowledge it as a
 * duplicate without storing the message.
 *
 * When the cluster does not answer, all waiting and new messages fail at once until a probe succeeds: callers use another
 * channel or retry later. A message that failed as `unavailable` or `timeout` may have arrived; receivers deduplicate by id.
 */
import type { Producer as ProducerClient } from '@platformatic/kafka';
import { systemClock } from '../../runtime/index.ts';
import { sleep } from '../../runtime/internal.ts';
import type { ChannelError, SendOptions } from '../channel.ts';
import { clientOptions, closeClient, type KafkaConnection, loadClient } from './connection.ts';
import { describeFailure, failureOf, isMessageError, kafkaError } from './failure.ts';
import { guardClient } from './guarded.ts';
import type { OutgoingMessage } from './message.ts';

export interface TopicSenderOptions extends KafkaConnection {
  /** How long a message may take until it is acknowledged. */
  readonly timeoutMilliseconds?: number;
  /** How many messages may wait; further ones fail as `throttled`. */
  readonly maximumWaiting?: number;
}

type Client = ProducerClient<Buffer, Buffer, Buffer, Buffer>;

interface Waiting {
  readonly message: OutgoingMessage;
  readonly bytes: number;
  readonly settle: (error?: ChannelError) => void;
  settled: boolean;
}

// Both stay below what a topic accepts as one batch by default (1 MiB).
const batchBytes = 900_000;
const batchMessages = 1_000;
const longestProbePause = 2_000;

export class TopicSender {
  readonly #options: TopicSenderOptions;
  readonly #timeoutMilliseconds: number;
  readonly #maximumWaiting: number;
  readonly #closing = new AbortController();
  #waiting: Waiting[] = [];
  #client: Client | undefined;
  #sending: Promise<void> | undefined;
  /** Why the cluster is not available; undefined while it is. */
  #down: string | undefined;

  constructor(options: TopicSenderOptions) {
    this.#options = options;
    this.#timeoutMilliseconds = options.timeoutMilliseconds ?? 10_000;
    this.#maximumWaiting = options.maximumWaiting ?? 10_000;
  }

  available(): boolean {
    return this.#down === undefined && !this.#closing.signal.aborted;
  }

  send(message: OutgoingMessage, { signal }: SendOptions = {}): Promise<void> {
    const refusal = this.#refusal(signal);
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      const cancel = () => entry.settle(kafkaError('unavailable', 'cancelled'));
      const timer = setTimeout(() => entry.settle(timedOut(this.#timeoutMilliseconds)), this.#timeoutMilliseconds);
      const entry: Waiting = {
        message,
        bytes: (message.key?.length ?? 0) + message.value.length + 200,
        settled: false,
        settle(error) {
          if (entry.settled) return;
          entry.settled = true;
          clearTimeout(timer);
          signal?.removeEventListener('abort', cancel);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      signal?.addEventListener('abort', cancel, { once: true });
      this.#waiting.push(entry);
      this.#sending ??= this.#sendAll();
    });
  }

  /** Sends what is waiting, then closes the client. */
  async close(): Promise<void> {
    await this.#sending;
    this.#closing.abort();
    if (this.#client !== undefined) await closeClient(this.#client);
    this.#client = undefined;
  }

  #refusal(signal: AbortSignal | undefined): ChannelError | undefined {
    if (this.#closing.signal.aborted) return kafkaError('unavailable', 'the producer is closed');
    if (this.#down !== undefined) return kafkaError('unavailable', this.#down);
    const { length } = this.#waiting;
    if (length >= this.#maximumWaiting) return kafkaError('throttled', `${length} messages are already waiting`);
    return signal?.aborted ? kafkaError('unavailable', 'cancelled') : undefined;
  }

  async #sendAll(): Promise<void> {
    // Messages of the same turn of the event loop are sent together.
    await Promise.resolve();
    while (this.#waiting.length > 0 && this.#down === undefined) await this.#deliver(this.#nextBatch());
    this.#sending = undefined;
  }

  #nextBatch(): Waiting[] {
    const open = this.#waiting.filter((entry) => !entry.settled);
    let count = 0;
    for (let bytes = 0; count < Math.min(open.length, batchMessages); count++) {
      bytes += open[count]?.bytes ?? 0;
      if (count > 0 && bytes > batchBytes) break;
    }
    this.#waiting = open.slice(count);
    return open.slice(0, count);
  }

  async #deliver(batch: readonly Waiting[]): Promise<void> {
    if (batch.length === 0) return;
    try {
      this.#client ??= await this.#newClient();
      const messages = batch.map(({ message }) => encode(message));
      await within(this.#timeoutMilliseconds, this.#client.send({ messages, idempotent: true }));
      for (const entry of batch) entry.settle();
    } catch (error) {
      const failure = error instanceof TookTooLong ? 'timeout' : failureOf(error);
      // One invalid message must not fail the others of its batch, so each is sent alone.
      if (batch.length > 1 && isMessageError(error)) {
        for (const entry of batch) await this.#deliver([entry]);
        return;
      }
      const reason = describeFailure(error);
      for (const entry of batch) entry.settle(kafkaError(failure, reason, error));
      if (failure === 'unavailable' || failure === 'timeout') this.#goDown(reason);
    }
  }

  #goDown(reason: string): void {
    if (this.#down !== undefined || this.#closing.signal.aborted) return;
    this.#down = reason;
    const { log, bootstrapServers } = this.#options;
    log.warn('Kafka is not available', { bootstrapServers, reason });
    if (this.#client !== undefined) void closeClient(this.#client);
    this.#client = undefined;
    for (const entry of this.#waiting) entry.settle(kafkaError('unavailable', reason));
    this.#waiting = [];
    void this.#probe();
  }

  /** Tries to connect, with backoff, until the cluster answers. */
  async #probe(): Promise<void> {
    const { log, bootstrapServers } = this.#options;
    const { signal } = this.#closing;
    for (let pause = 100; ; pause = Math.min(pause * 2, longestProbePause)) {
      await sleep(systemClock, pause * (0.5 + Math.random() / 2), signal);
      if (signal.aborted) return;
      const candidate = await this.#connect().catch((error: unknown) => {
        this.#down = describeFailure(error);
      });
      if (candidate === undefined) continue;
      if (signal.aborted) return void closeClient(candidate);
      this.#client = candidate;
      this.#down = undefined;
      log.info('Kafka is available again', { bootstrapServers });
      return;
    }
  }

  async #connect(): Promise<Client> {
    const candidate = await this.#newClient();
    try {
      await within(this.#timeoutMilliseconds, candidate.metadata({ topics: [] }));
      return candidate;
    } catch (error) {
      void closeClient(candidate);
      throw error;
    }
  }

  async #newClient(): Promise<Client> {
    const library = await loadClient();
    const requestTimeout = this.#timeoutMilliseconds;
    const client: Client = new library.Producer({ ...clientOptions(this.#options), requestTimeout, idempotent: true });
    return guardClient(client, this.#options, library);
  }
}

function encode({ topic, key, value, headers = {} }: OutgoingMessage) {
  const encoded = Object.entries(headers).map(([name, text]) => [Buffer.from(name), Buffer.from(text)] as const);
  return { topic, ...(key === undefined ? {} : { key: Buffer.from(key) }), value, headers: new Map(encoded) };
}

const timedOut = (milliseconds: number) => kafkaError('timeout', `not acknowledged within ${milliseconds} ms`);

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
