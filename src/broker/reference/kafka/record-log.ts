/**
 * Records in a compacted topic of one partition, and who of several instances may write them. Kafka knows no compare and swap, so there
 * is one writer at a time: who is, stands in the same topic under a key of its own and is renewed; and every write is a transaction
 * under one transactional id, so that a writer that was overtaken is refused by Kafka itself, however late it wakes up.
 *
 * Every instance reads the topic, those too that only wait: who takes over knows everything as soon as it has seen its own first write.
 */
import { randomUUID } from 'node:crypto';
import { type KafkaRecord, Producer } from '@platformatic/kafka';
import type { Clock } from '../../../runtime/index.ts';
import { sleep } from '../../../runtime/internal.ts';
import { clientOptions, closeClient, type KafkaConnection } from '../../kafka/connection.ts';
import { ensureTopics } from '../../kafka/index.ts';
import { type Leadership, NotLeader, type RecordStore, type StoredRecord } from '../provider.ts';
import type { DeploymentRecord } from '../record.ts';
import { committedReader, endOfCommitted } from './committed.ts';
import { recordsTopicOf } from './former-records.ts';

interface RecordLogOptions extends KafkaConnection {
  readonly broker: string;
  /** How long a writer that is not heard of counts as there. */
  readonly leaseMilliseconds: number;
  readonly clock: Clock;
}

export interface RecordLog {
  readonly records: RecordStore;
  readonly leadership: Leadership;
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface LeaseEntry {
  readonly instance: string;
  /** Another one with each write, so that every renewal is something new. */
  readonly beat: string;
  readonly released?: boolean;
}

interface PendingWrite {
  readonly key: string;
  readonly value: string | undefined;
  readonly settle: (error?: Error) => void;
}

/** No object has a uid with a space. */
const leaseKey = 'the lease';

export function recordLog(options: RecordLogOptions): RecordLog {
  const { broker, leaseMilliseconds, clock, log } = options;
  const topic = recordsTopicOf(broker);
  const instance = randomUUID();
  const known = new Map<string, StoredRecord>();
  const subscribers = new Set<(uid: string) => void>();
  const lost = new AbortController();
  const stopping = new AbortController();
  const reader = committedReader({ ...options, topic });
  let versions = 0;
  let producer: Producer<Buffer, Buffer, Buffer, Buffer> | undefined;
  let leads = false;
  let lease: LeaseEntry | undefined;
  let leaseSeen = clock.monotonic();
  const pending: PendingWrite[] = [];
  const underWay = new Map<string, Promise<void>>();
  let writing: Promise<void> | undefined;
  let renewing: Promise<void> | undefined;
  const heard = new Map<string, () => void>();

  function onRecord({ key, value }: KafkaRecord): void {
    const uid = key?.toString('utf8') ?? '';
    const text = value === null || value.length === 0 ? undefined : value.toString('utf8');
    if (uid === leaseKey) {
      lease = text === undefined ? undefined : (JSON.parse(text) as LeaseEntry);
      leaseSeen = clock.monotonic();
      heard.get(lease?.beat ?? '')?.();
      if (leads && lease?.instance !== instance) lose('another instance has taken over');
      return;
    }
    // The one that writes knows it by itself.
    if (leads) return;
    keep(uid, text === undefined ? undefined : (JSON.parse(text) as DeploymentRecord));
  }

  function keep(uid: string, record: DeploymentRecord | undefined): void {
    versions += 1;
    if (record === undefined) known.delete(uid);
    else known.set(uid, { record, version: String(versions) });
    for (const each of subscribers) each(uid);
  }

  function lose(why: string): void {
    if (lost.signal.aborted) return;
    leads = false;
    log.error('no longer the writer of records', { why });
    lost.abort(new NotLeader());
    for (const { settle } of pending.splice(0)) settle(new NotLeader());
  }

  function write(key: string, value: string | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      pending.push({ key, value, settle: (error) => (error === undefined ? resolve() : reject(error)) });
      writing ??= writeAll();
    });
  }

  /**
   * Nobody acts on a record, nor tells of it, before it is written: what fails to be was never so. Resolves to false where another
   * write of this record is under way, once that is over.
   */
  async function writeAlone(uid: string, record: DeploymentRecord | undefined): Promise<boolean> {
    const before = underWay.get(uid);
    if (before !== undefined) {
      await before.catch(() => {});
      return false;
    }
    const written = write(uid, record === undefined ? undefined : JSON.stringify(record));
    underWay.set(uid, written);
    try {
      await written;
    } finally {
      underWay.delete(uid);
    }
    demandLead();
    keep(uid, record);
    return true;
  }

  /** What waits goes together, in one transaction. */
  async function writeAll(): Promise<void> {
    await Promise.resolve();
    while (pending.length > 0) {
      const batch = pending.splice(0, 500);
      try {
        await transact(batch);
        for (const { settle } of batch) settle();
      } catch (error) {
        // Whether it was written is not known. Who begins anew reads what there is.
        lose(`a write failed: ${(error as Error).message}`);
        for (const { settle } of batch) settle(new NotLeader());
      }
    }
    writing = undefined;
  }

  async function transact(batch: readonly PendingWrite[]): Promise<void> {
    if (producer === undefined) throw new NotLeader();
    const transaction = await producer.beginTransaction();
    const messages = batch.map(({ key, value }) => ({
      topic,
      key: Buffer.from(key),
      ...(value === undefined ? {} : { value: Buffer.from(value) }),
    }));
    await transaction.send({ messages, acks: -1 });
    await transaction.commit();
  }

  /** Whether everything is read that was written before now. */
  async function isCaughtUp(): Promise<boolean> {
    try {
      return reader.position >= (await endOfCommitted({ ...options, topic }));
    } catch {
      return false;
    }
  }

  /** Who has listened for a whole lease without hearing of a writer may take over, whatever else it knows. */
  async function isFree(): Promise<boolean> {
    if (clock.monotonic() - leaseSeen > leaseMilliseconds) return true;
    const isHeld = lease !== undefined && lease.released !== true && lease.instance !== instance;
    return !isHeld && (await isCaughtUp());
  }

  /** Writes the lease, and resolves once it was read back: everything before it has been read then. */
  async function take(signal: AbortSignal): Promise<void> {
    // Fences whoever wrote before.
    producer = new Producer<Buffer, Buffer, Buffer, Buffer>({
      ...clientOptions(options),
      idempotent: true,
      acks: -1,
      transactionalId: topic,
      // Whatever it was before: the client would ask for the one numbered 0.
      producerId: -1n,
      producerEpoch: -1,
    });
    const beat = randomUUID();
    const seen = new Promise<void>((resolve, reject) => {
      heard.set(beat, resolve);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    seen.catch(() => {});
    await write(leaseKey, JSON.stringify({ instance, beat } satisfies LeaseEntry));
    await seen;
    heard.delete(beat);
  }

  async function renew(): Promise<void> {
    while (leads && !stopping.signal.aborted) {
      await sleep(clock, leaseMilliseconds / 3, stopping.signal);
      if (!leads || stopping.signal.aborted) return;
      await write(leaseKey, JSON.stringify({ instance, beat: randomUUID() } satisfies LeaseEntry)).catch(() => {});
    }
  }

  let reading: Promise<void> | undefined;

  function demandLead(): void {
    if (!leads) throw new NotLeader();
  }
  return {
    records: {
      known: (uid) => known.get(uid),
      async get(uid) {
        demandLead();
        return known.get(uid);
      },
      all: () => known.values(),
      async put(record, over) {
        demandLead();
        if (known.get(record.uid)?.version !== over || !(await writeAlone(record.uid, record))) return undefined;
        return known.get(record.uid);
      },
      async drop(uid, version) {
        demandLead();
        if (known.get(uid)?.version === version) await writeAlone(uid, undefined);
      },
      subscribe(changed) {
        subscribers.add(changed);
        for (const uid of known.keys()) changed(uid);
        return () => subscribers.delete(changed);
      },
    },
    leadership: {
      exclusive: true,
      get isLeader() {
        return leads;
      },
      lost: lost.signal,
      async acquire(signal) {
        leaseSeen = clock.monotonic();
        while (!(await isFree())) {
          signal.throwIfAborted();
          await sleep(clock, Math.min(1_000, leaseMilliseconds / 5), signal);
        }
        signal.throwIfAborted();
        await take(signal);
        leads = true;
        renewing = renew();
      },
      async release() {
        if (!leads) return;
        const released = JSON.stringify({ instance, beat: randomUUID(), released: true } satisfies LeaseEntry);
        await write(leaseKey, released).catch(() => {});
        leads = false;
      },
    },
    async start() {
      const configuration = { 'cleanup.policy': 'compact', 'min.cleanable.dirty.ratio': '0.1' };
      await ensureTopics({ ...options, topics: [{ name: topic, partitions: 1, configuration }] });
      reading = reader.read(stopping.signal, onRecord);
    },
    async stop() {
      leads = false;
      stopping.abort();
      await renewing;
      await writing;
      if (producer !== undefined) await closeClient(producer);
      await reading;
    },
  };
}
