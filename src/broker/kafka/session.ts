/**
 * One membership in a consumer group, from joining until the first failure or until it is closed.
 *
 * Each assignment of partitions starts from the committed offsets with a stream of its own; messages of an older stream are
 * ignored. Before a rebalance the session drains the running handlers and commits, so that the next owner of a partition
 * continues where this member stopped and messages of one key are never handled by two members at once.
 */
import { setImmediate } from 'node:timers/promises';
import type { Consumer as ConsumerClient, Message, MessagesStream } from '@platformatic/kafka';
import { refusedHeader } from './batches.ts';
import { clientOptions, disconnector, type KafkaConnection, loadClient } from './connection.ts';
import { guardClient } from './guarded.ts';
import type { IncomingMessage } from './message.ts';
import { OffsetCommitter } from './offset-committer.ts';
import { waitAtMost } from './wait-at-most.ts';

type Raw = Message<Buffer, Buffer, Buffer, Buffer>;
type Stream = MessagesStream<Buffer, Buffer, Buffer, Buffer>;
type Client = ConsumerClient<Buffer, Buffer, Buffer, Buffer>;

interface SessionOptions extends KafkaConnection {
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly sessionTimeoutMilliseconds: number;
  /** How long the last commit and leaving the group may each take. */
  readonly closeTimeoutMilliseconds: number;
  /** The member id of the previous session: the group does not wait for a member that returns under its old id. */
  readonly memberId: string | null;
  /** Partitions to read once from their beginning; `done` collects those that were rewound. Undefined: none. */
  readonly rewind: { done: Set<string> } | undefined;
  /** Starts handling a message, and calls `done` when it is handled. */
  readonly accept: (message: IncomingMessage, done: () => void) => void;
  /** Resolves when the consumer can hold more messages. */
  readonly capacity: () => Promise<void>;
  /** Drops messages whose handling has not started, and resolves when no handler runs. */
  readonly drain: () => Promise<void>;
  readonly onReady: () => void;
}

export interface Session {
  /** Rejects when the session cannot continue. */
  readonly failed: Promise<never>;
  readonly memberId: () => string | null;
  /** Stops accepting messages. */
  halt(): void;
  /** Commits the handled messages and leaves the group. */
  close(): Promise<void>;
  /** Disconnects without leaving the group, so that another session continues as the same member. */
  abandon(): Promise<void>;
}

export async function openSession(options: SessionOptions): Promise<Session> {
  const library = await loadClient();
  const { Consumer, ListOffsetTimestamps } = library;
  const { sessionTimeoutMilliseconds } = options;
  const client: Client = new Consumer<Buffer, Buffer, Buffer, Buffer>({
    ...clientOptions(options),
    groupId: options.groupId,
    autocommit: false,
    sessionTimeout: sessionTimeoutMilliseconds,
    rebalanceTimeout: sessionTimeoutMilliseconds * 2,
    heartbeatInterval: sessionTimeoutMilliseconds / 5,
    heartbeatStallTimeout: sessionTimeoutMilliseconds * 3,
    // A join waits for the other members, so this is longer than a join may take.
    requestTimeout: sessionTimeoutMilliseconds * 2 + 5_000,
    maxWaitTime: 1_000,
    maxBytes: 8 * 1024 * 1024,
    highWaterMark: 100,
    // The client calls this before each join, the only moment at which the group waits for this member.
    protocolsMetadata: async () => {
      await session.prepareRebalance();
      return Buffer.alloc(0);
    },
  });
  guardClient(client, options, library);
  client.memberId = options.memberId;
  const session = new GroupSession(client, options, ListOffsetTimestamps.EARLIEST);
  session.start();
  return session;
}

class GroupSession implements Session {
  readonly failed: Promise<never>;
  readonly #fail: (reason: unknown) => void;
  readonly #client: Client;
  readonly #options: SessionOptions;
  readonly #earliest: bigint;
  readonly #offsets: OffsetCommitter;
  #stream: Stream | undefined;
  /** Rises with each assignment; messages of an older generation are ignored. */
  #generation = 0;
  #preparing = false;
  #halted = false;

  constructor(client: Client, options: SessionOptions, earliest: bigint) {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined);
    this.failed = promise;
    this.#fail = reject;
    this.#client = client;
    this.#options = options;
    this.#earliest = earliest;
    this.#offsets = new OffsetCommitter(client, options);
  }

  start(): void {
    this.#client.on('error', this.#fail);
    this.#client.on('consumer:heartbeat:stalled', ({ lastError }) =>
      this.#fail(lastError ?? new Error('no heartbeat')),
    );
    this.#client.on('consumer:group:join', () => {
      if (this.#stream !== undefined) void this.#beginGeneration();
    });
    void this.#join();
  }

  readonly memberId = (): string | null => this.#client.memberId;

  halt(): void {
    this.#halted = true;
    this.#offsets.halt();
  }

  async close(): Promise<void> {
    const { closeTimeoutMilliseconds } = this.#options;
    await waitAtMost(closeTimeoutMilliseconds, this.#offsets.commit());
    this.#finish();
    const disconnect = disconnector(this.#client);
    await waitAtMost(closeTimeoutMilliseconds, this.#client.close(true));
    disconnect();
  }

  async abandon(): Promise<void> {
    this.#finish();
    disconnector(this.#client)();
    // Over an open connection, closing the client would make this member leave the group.
    await setImmediate();
    await waitAtMost(this.#options.closeTimeoutMilliseconds, this.#client.close(true));
  }

  /** Runs before a new assignment: no further message is started, and what is handled is committed. */
  async prepareRebalance(): Promise<void> {
    // A commit that fails may itself rejoin the group: that join must not wait for the commit.
    if (this.#preparing || this.#generation === 0) return;
    this.#preparing = true;
    this.#generation++;
    await this.#options.drain();
    await this.#offsets.commit();
    this.#preparing = false;
  }

  async #join(): Promise<void> {
    try {
      this.#stream = await this.#openStream();
      await this.#beginGeneration();
    } catch (error) {
      this.#fail(error);
    }
  }

  async #beginGeneration(): Promise<void> {
    const generation = ++this.#generation;
    try {
      await this.#options.drain();
      if (generation !== this.#generation || this.#halted) return;
      this.#offsets.reset();
      await this.#rewind();
      const next = await this.#openStream();
      if (generation !== this.#generation || this.#halted) return void next.destroy();
      // The old stream ends last: without any stream the client would forget its topics.
      this.#stream?.destroy();
      this.#stream = next;
      void this.#read(next, generation);
      this.#options.onReady();
    } catch (error) {
      this.#fail(error);
    }
  }

  async #openStream(): Promise<Stream> {
    const stream = await this.#client.consume({
      topics: [...this.#options.topics],
      mode: 'committed',
      // A new group reads everything from the start: a message that was seen before has no effect.
      fallbackMode: 'earliest',
      autocommit: false,
    });
    stream.on('error', (error) => {
      if (stream === this.#stream) this.#fail(error);
    });
    return stream;
  }

  async #read(from: Stream, generation: number): Promise<void> {
    try {
      for await (const message of from) {
        // `continue` and not `return`: returning would end the stream, and without a stream the client forgets its topics.
        if (generation !== this.#generation || this.#halted) continue;
        this.#options.accept(decode(message), this.#offsets.track(message));
        await this.#options.capacity();
      }
      if (from === this.#stream && !this.#halted) this.#fail(new Error('the stream of messages ended'));
    } catch (error) {
      if (from === this.#stream && !this.#halted) this.#fail(error);
    }
  }

  /** Commits the first offset of every assigned partition that has not been rewound yet. */
  async #rewind(): Promise<void> {
    const { rewind, topics } = this.#options;
    if (rewind === undefined) return;
    const assigned = (this.#client.assignments ?? []).flatMap(({ topic, partitions }) =>
      partitions.map((partition) => ({ topic, partition, name: `${topic}/${partition}` })),
    );
    const pending = assigned.filter(({ name }) => !rewind.done.has(name));
    if (pending.length === 0) return;
    const first = await this.#client.listOffsets({ topics: [...topics], timestamp: this.#earliest });
    const offsets = pending.map(({ topic, partition }) => ({
      topic,
      partition,
      offset: first.get(topic)?.[partition] ?? 0n,
      leaderEpoch: -1,
    }));
    await this.#client.commit({ offsets });
    for (const { name } of pending) rewind.done.add(name);
  }

  #finish(): void {
    this.halt();
    this.#offsets.cancelTimer();
    this.#stream?.destroy();
  }
}

function decode({ key, value, headers, topic, partition, offset }: Raw): IncomingMessage {
  const texts = new Map([...headers].map(([name, text]) => [String(name), String(text)] as const));
  const refused = texts.get(refusedHeader);
  texts.delete(refusedHeader);
  return {
    // The client's types say otherwise, but a message may have neither key nor value.
    key: (key as Buffer | undefined)?.toString(),
    value: (value as Buffer | undefined) ?? Buffer.alloc(0),
    headers: texts,
    topic,
    partition,
    offset,
    ...(refused === undefined ? {} : { refused }),
  };
}
