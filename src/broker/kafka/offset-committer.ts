/** Tracks which messages are handled and commits the offsets of a session, at most a few times a second. */
import type { Consumer as ConsumerClient } from '@platformatic/kafka';
import type { Logger } from '../../runtime/index.ts';
import { describeFailure } from './failure.ts';
import { PartitionProgress } from './progress.ts';

interface Partition {
  readonly topic: string;
  readonly partition: number;
  readonly progress: PartitionProgress;
  committed: bigint;
  leaderEpoch: number;
}

interface TrackedMessage {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly leaderEpoch: number;
}

const commitDelayMilliseconds = 200;
const retryDelayMilliseconds = 1_000;

export class OffsetCommitter {
  readonly #client: Pick<ConsumerClient<Buffer, Buffer, Buffer, Buffer>, 'commit'>;
  readonly #groupId: string;
  readonly #log: Logger;
  #partitions = new Map<string, Partition>();
  #committing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #halted = false;

  constructor(
    client: Pick<ConsumerClient<Buffer, Buffer, Buffer, Buffer>, 'commit'>,
    { groupId, log }: { readonly groupId: string; readonly log: Logger },
  ) {
    this.#client = client;
    this.#groupId = groupId;
    this.#log = log;
  }

  /** Registers a message, and returns the function that marks it as handled. */
  track({ topic, partition, offset, leaderEpoch }: TrackedMessage): () => void {
    const name = `${topic}/${partition}`;
    const entry = this.#partitions.get(name) ?? {
      topic,
      partition,
      progress: new PartitionProgress(),
      committed: -1n,
      leaderEpoch,
    };
    this.#partitions.set(name, entry);
    entry.progress.begin(offset);
    entry.leaderEpoch = leaderEpoch;
    return () => {
      entry.progress.finish(offset);
      this.#commitAfter(commitDelayMilliseconds);
    };
  }

  /** Forgets all partitions: a new assignment starts from what is committed. */
  reset(): void {
    this.#partitions = new Map();
  }

  /** Failed commits are no longer logged or retried. */
  halt(): void {
    this.#halted = true;
  }

  cancelTimer(): void {
    clearTimeout(this.#timer);
  }

  /** Commits one batch at a time. Offsets that fail are committed with the next batch. */
  async commit(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#committing;
    const moved = [...this.#partitions.values()].filter(
      ({ progress: { position }, committed }) => (position ?? -1n) > committed,
    );
    if (moved.length === 0) return;
    this.#committing = this.#commitOffsets(moved);
    await this.#committing;
    this.#committing = undefined;
  }

  async #commitOffsets(partitions: readonly Partition[]): Promise<void> {
    const offsets = partitions.map(({ topic, partition, leaderEpoch, progress: { position = 0n } }) => ({
      topic,
      partition,
      leaderEpoch,
      offset: position,
    }));
    try {
      await this.#client.commit({ offsets });
      for (const [index, { offset }] of offsets.entries()) {
        const partition = partitions[index];
        if (partition !== undefined) partition.committed = offset;
      }
    } catch (error) {
      if (this.#halted) return;
      this.#log.warn('offsets could not be committed', { groupId: this.#groupId, reason: describeFailure(error) });
      this.#commitAfter(retryDelayMilliseconds);
    }
  }

  #commitAfter(milliseconds: number): void {
    this.#timer ??= setTimeout(() => void this.commit(), milliseconds);
  }
}
