/**
 * One membership in a consumer group, from joining to the first failure or the end.
 *
 * With each assignment of partitions it begins anew from what is committed, with a stream of its own: what an older stream still brings
 * is left alone. Before it agrees to a new assignment it lets what runs come to its end and commits it, so that another member goes on
 * where this one stopped, and messages of one key are never in two hands.
 */
import { setImmediate } from 'node:timers/promises';
import type { Message, MessagesStream } from '@platformatic/kafka';
import { clientOptions, disconnector, type KafkaConnection, loadClient } from './connection.ts';
import { describeFailure } from './failure.ts';
import type { IncomingMessage } from './message.ts';
import { PartitionProgress } from './progress.ts';
import { waitAtMost } from './wait-at-most.ts';

type Raw = Message<Buffer, Buffer, Buffer, Buffer>;
type Stream = MessagesStream<Buffer, Buffer, Buffer, Buffer>;

interface SessionOptions extends KafkaConnection {
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly sessionTimeoutMilliseconds: number;
  /** How long the last commit may take, and leaving the group. */
  readonly closeTimeoutMilliseconds: number;
  /** Who it was before: a member that comes back is not waited for as if it were gone. */
  readonly memberId: string | null;
  /** Partitions that are to be read from their beginning once; those that were are taken out. Undefined: none. */
  readonly rewind: { done: Set<string> } | undefined;
  /** Takes a message and says later that it is done. */
  readonly accept: (message: IncomingMessage, done: () => void) => void;
  /** Resolves when there is room for more. */
  readonly capacity: () => Promise<void>;
  /** Forgets what has not begun, and resolves when nothing runs. */
  readonly drain: () => Promise<void>;
  readonly onReady: () => void;
}

export interface Session {
  /** Rejects when it cannot go on. */
  readonly failed: Promise<never>;
  readonly memberId: () => string | null;
  /** No message is taken any more. */
  halt(): void;
  /** Commits what is done, and leaves the group. */
  close(): Promise<void>;
  /** Leaves everything as it is, for another session to go on as the same member. */
  abandon(): Promise<void>;
}

const commitEvery = 200;

export async function openSession(options: SessionOptions): Promise<Session> {
  const { Consumer, ListOffsetTimestamps } = await loadClient();
  const { groupId, topics, log, closeTimeoutMilliseconds } = options;
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  const client = new Consumer<Buffer, Buffer, Buffer, Buffer>({
    ...clientOptions(options),
    groupId,
    autocommit: false,
    sessionTimeout: options.sessionTimeoutMilliseconds,
    rebalanceTimeout: options.sessionTimeoutMilliseconds * 2,
    heartbeatInterval: options.sessionTimeoutMilliseconds / 5,
    heartbeatStallTimeout: options.sessionTimeoutMilliseconds * 3,
    // Longer than a join may take, which waits for the other members.
    requestTimeout: options.sessionTimeoutMilliseconds * 2 + 5_000,
    maxWaitTime: 1_000,
    maxBytes: 8 * 1024 * 1024,
    highWaterMark: 100,
    // Called before each join: the only moment at which the group waits for us.
    protocolsMetadata: async () => {
      await hold();
      return Buffer.alloc(0);
    },
  });
  client.memberId = options.memberId;
  client.on('error', failure.reject);
  client.on('consumer:heartbeat:stalled', ({ lastError }) => failure.reject(lastError ?? new Error('no heartbeat')));
  client.on('consumer:group:join', () => {
    if (stream !== undefined) void begin();
  });

  let stream: Stream | undefined;
  /** Rises with each assignment; messages of an older one are left alone. */
  let generation = 0;
  let holding = false;
  let halted = false;
  let progress = new Map<string, Partition>();
  let committing: Promise<void> | undefined;
  let commitTimer: NodeJS.Timeout | undefined;

  void join();

  async function join(): Promise<void> {
    try {
      stream = await newStream();
      await begin();
    } catch (error) {
      failure.reject(error);
    }
  }

  async function begin(): Promise<void> {
    const mine = ++generation;
    try {
      await options.drain();
      if (mine !== generation || halted) return;
      progress = new Map();
      await rewind();
      const next = await newStream();
      if (mine !== generation || halted) return void next.destroy();
      // Only now: without any stream the client would no longer know its topics.
      stream?.destroy();
      stream = next;
      void read(next, mine);
      options.onReady();
    } catch (error) {
      failure.reject(error);
    }
  }

  /** Before a new assignment: no new message is begun, and what is done is committed. */
  async function hold(): Promise<void> {
    // A commit that fails may join anew by itself: that join must not wait for the commit.
    if (holding || generation === 0) return;
    holding = true;
    generation++;
    await options.drain();
    await commit();
    holding = false;
  }

  async function newStream(): Promise<Stream> {
    const created = await client.consume({
      topics: [...topics],
      mode: 'committed',
      // A group that is new here has missed nothing: what it sees twice has no effect.
      fallbackMode: 'earliest',
      autocommit: false,
    });
    created.on('error', (error) => {
      if (created === stream) failure.reject(error);
    });
    return created;
  }

  async function read(from: Stream, mine: number): Promise<void> {
    try {
      for await (const message of from) {
        // Not left: that would end the stream, and with the last one the client forgets its topics.
        if (mine !== generation || halted) continue;
        take(message);
        await options.capacity();
      }
      if (from === stream && !halted) failure.reject(new Error('the stream of messages ended'));
    } catch (error) {
      if (from === stream && !halted) failure.reject(error);
    }
  }

  function take(raw: Raw): void {
    const name = `${raw.topic}/${raw.partition}`;
    let partition = progress.get(name);
    if (partition === undefined) {
      partition = {
        topic: raw.topic,
        partition: raw.partition,
        progress: new PartitionProgress(),
        committed: -1n,
        leaderEpoch: 0,
      };
      progress.set(name, partition);
    }
    partition.progress.begin(raw.offset);
    partition.leaderEpoch = raw.leaderEpoch;
    const own = partition;
    options.accept(decode(raw), () => {
      own.progress.finish(raw.offset);
      commitTimer ??= setTimeout(() => void commit(), commitEvery);
    });
  }

  /** One at a time; what fails is committed with the next. */
  async function commit(): Promise<void> {
    clearTimeout(commitTimer);
    commitTimer = undefined;
    await committing;
    const moved = [...progress.values()].filter(
      ({ progress: { position }, committed }) => (position ?? -1n) > committed,
    );
    if (moved.length === 0) return;
    committing = commitOffsets(moved);
    await committing;
    committing = undefined;
  }

  async function commitOffsets(partitions: readonly Partition[]): Promise<void> {
    const offsets = partitions.map(({ topic, partition, leaderEpoch, progress: { position = 0n } }) => ({
      topic,
      partition,
      leaderEpoch,
      offset: position,
    }));
    try {
      await client.commit({ offsets });
      for (const [index, { offset }] of offsets.entries()) {
        const partition = partitions[index];
        if (partition !== undefined) partition.committed = offset;
      }
    } catch (error) {
      if (halted) return;
      log.warn('offsets could not be committed', { groupId, reason: describeFailure(error) });
      commitTimer ??= setTimeout(() => void commit(), 1_000);
    }
  }

  async function rewind(): Promise<void> {
    const { rewind: asked } = options;
    if (asked === undefined) return;
    const assigned = (client.assignments ?? []).flatMap(({ topic, partitions }) =>
      partitions.map((partition) => ({ topic, partition, name: `${topic}/${partition}` })),
    );
    const fresh = assigned.filter(({ name }) => !asked.done.has(name));
    if (fresh.length === 0) return;
    const first = await client.listOffsets({ topics: [...topics], timestamp: ListOffsetTimestamps.EARLIEST });
    const offsets = fresh.map(({ topic, partition }) => ({
      topic,
      partition,
      offset: first.get(topic)?.[partition] ?? 0n,
      leaderEpoch: -1,
    }));
    await client.commit({ offsets });
    for (const { name } of fresh) asked.done.add(name);
  }

  return {
    failed: failure.promise,
    memberId: () => client.memberId,
    halt() {
      halted = true;
    },
    async close() {
      await waitAtMost(closeTimeoutMilliseconds, commit());
      finish();
      const cut = disconnector(client);
      await waitAtMost(closeTimeoutMilliseconds, client.close(true));
      cut();
    },
    async abandon() {
      finish();
      disconnector(client)();
      // Only now: over a connection that is still there it would say that this member leaves.
      await setImmediate();
      await waitAtMost(closeTimeoutMilliseconds, client.close(true));
    },
  };

  function finish(): void {
    halted = true;
    clearTimeout(commitTimer);
    stream?.destroy();
  }
}

interface Partition {
  readonly topic: string;
  readonly partition: number;
  readonly progress: PartitionProgress;
  committed: bigint;
  leaderEpoch: number;
}

function decode({ key, value, headers, topic, partition, offset }: Raw): IncomingMessage {
  const texts = [...headers].map(([name, text]) => [String(name), String(text)] as const);
  return {
    // The types say otherwise, but a message need have neither.
    key: (key as Buffer | undefined)?.toString(),
    value: (value as Buffer | undefined) ?? Buffer.alloc(0),
    headers: new Map(texts),
    topic,
    partition,
    offset,
  };
}
