/**
 * Reads a topic with one partition from its beginning, and returns committed records only.
 *
 * Kafka leaves it to clients to skip aborted transactions. The client used here does so by producer and not by
 * transaction: of all transactions that one producer aborted between two fetches it keeps one range. All writers here
 * share one producer id, so it would return records that were never committed and, after an empty aborted transaction,
 * skip committed ones. So everything is read, and the records of a transaction are held back until its end marker.
 */
import {
  Admin,
  Consumer,
  FetchIsolationLevels,
  IS_CONTROL,
  IS_TRANSACTIONAL,
  type KafkaRecord,
  ListOffsetTimestamps,
  type RecordsBatch,
} from '@platformatic/kafka';
import type { Clock } from '../../../runtime/index.ts';
import { sleep } from '../../../runtime/internal.ts';
import { clientOptions, closeClient, type KafkaConnection } from '../../kafka/connection.ts';
import { describeFailure } from '../../kafka/failure.ts';

interface CommittedReaderOptions extends KafkaConnection {
  readonly topic: string;
  readonly clock: Clock;
}

export interface CommittedReader {
  /** Everything before this offset is read. */
  readonly position: bigint;
  /** Reads until the signal is aborted; after a failure it continues from its position. */
  read(signal: AbortSignal, onRecord: (record: KafkaRecord) => void): Promise<void>;
}

export function committedReader(options: CommittedReaderOptions): CommittedReader {
  const { topic, clock, log } = options;
  const committed = onlyCommitted();
  let position: bigint | undefined;

  async function follow(client: Consumer, onRecord: (record: KafkaRecord) => void): Promise<never> {
    client.topics.track(topic);
    const metadata = await client.metadata({ topics: [topic], forceUpdate: true });
    const { id: topicId = '', partitions: [{ leader: node } = { leader: -1 }] = [] } = metadata.topics.get(topic) ?? {};
    if (position === undefined) {
      const first = await client.listOffsets({ topics: [topic], timestamp: ListOffsetTimestamps.EARLIEST });
      position = first.get(topic)?.[0] ?? 0n;
    }
    while (true) {
      const from = { partition: 0, fetchOffset: position, currentLeaderEpoch: -1, lastFetchedEpoch: -1 };
      const topics = [{ topicId, partitions: [{ ...from, partitionMaxBytes: 1024 * 1024 }] }];
      const { responses } = await client.fetch({ node, topics });
      const read = responses.flatMap(({ partitions }) => partitions.flatMap(({ records }) => records ?? []));
      for (const batch of read) {
        const next: bigint = batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n;
        if (next <= position) continue;
        for (const record of committed(batch)) onRecord(record);
        position = next;
      }
    }
  }

  return {
    get position() {
      return position ?? 0n;
    },
    async read(signal, onRecord) {
      while (!signal.aborted) {
        const client = new Consumer({
          ...clientOptions(options),
          // The client requires a group id. No group is joined.
          groupId: topic,
          maxWaitTime: 500,
          isolationLevel: FetchIsolationLevels.READ_UNCOMMITTED,
        });
        const stop = () => void closeClient(client);
        signal.addEventListener('abort', stop, { once: true });
        try {
          await follow(client, onRecord);
        } catch (error) {
          if (!signal.aborted) log.warn('cannot read the records; retrying', { topic, reason: describeFailure(error) });
        }
        signal.removeEventListener('abort', stop);
        await closeClient(client);
        await sleep(clock, 1_000, signal);
      }
    },
  };
}

type Batch = Pick<RecordsBatch, 'attributes' | 'producerId' | 'records'>;

/**
 * Returns a function that takes one batch after the other and returns the records that are now known to be committed.
 */
export function onlyCommitted(): (batch: Batch) => readonly KafkaRecord[] {
  const open = new Map<bigint, readonly KafkaRecord[]>();
  return ({ attributes, producerId, records }) => {
    const held = open.get(producerId) ?? [];
    if ((attributes & IS_CONTROL) !== 0) {
      open.delete(producerId);
      // The key of a control record is a version, then the type.
      return records[0]?.key?.readInt16BE(2) === commitMark ? held : [];
    }
    if ((attributes & IS_TRANSACTIONAL) === 0) return records;
    open.set(producerId, [...held, ...records]);
    return [];
  };
}

const commitMark = 1;

/** The end of the committed part of a topic. */
export async function endOfCommitted(options: KafkaConnection & { readonly topic: string }): Promise<bigint> {
  const admin = new Admin(clientOptions(options));
  try {
    const partitions = [{ partitionIndex: 0, timestamp: ListOffsetTimestamps.LATEST }];
    const isolationLevel = FetchIsolationLevels.READ_COMMITTED;
    const [listed] = await admin.listOffsets({ topics: [{ name: options.topic, partitions }], isolationLevel });
    return listed?.partitions[0]?.offset ?? 0n;
  } finally {
    await closeClient(admin);
  }
}
