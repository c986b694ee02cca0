/**
 * Stores records in a compacted topic with one partition, and elects the one instance that may write them. Kafka has no compare
 * and swap, so there is one writer at a time. The writer renews a lease entry in the same topic, and every write is a
 * transaction under one transactional id: Kafka itself rejects a writer that was superseded, however late it wakes up.
 *
 * Every instance reads the topic, standbys too: a new leader knows all records as soon as it has read back its first write.
 */
import { randomUUID } from 'node:crypto';
import type { KafkaRecord } from '@platformatic/kafka';
import type { Clock } from '../../../runtime/index.ts';
import { sleep } from '../../../runtime/internal.ts';
import type { KafkaConnection } from '../../kafka/connection.ts';
import { ensureTopics } from '../../kafka/index.ts';
import { type Leadership, NotLeader, type RecordStore, type StoredRecord } from '../provider.ts';
import type { DeploymentRecord } from '../record.ts';
import { type CommittedReader, committedReader, endOfCommitted } from './committed.ts';
import { recordsTopicOf } from './former-records.ts';
import { TransactionalWriter } from './transactional-writer.ts';

interface RecordLogOptions extends KafkaConnection {
  readonly broker: string;
  /** How long a writer that does not renew its lease still counts as the leader. */
  readonly leaseMilliseconds: number;
  readonly clock: Clock;
}

interface LeaseEntry {
  readonly instance: string;
  /** Unique for each write, so that every renewal is a new value. */
  readonly beat: string;
  readonly released?: boolean;
}

/** The key of the lease entry. No object has a uid with a space. */
const leaseKey = 'the lease';

export class RecordLog {
  readonly records: RecordStore;
  readonly leadership: Leadership;
  readonly #options: RecordLogOptions;
  readonly #topic: string;
  readonly #instance = randomUUID();
  readonly #reader: CommittedReader;
  readonly #writer: TransactionalWriter;
  readonly #known = new Map<string, StoredRecord>();
  readonly #subscribers = new Set<(uid: string) => void>();
  readonly #writesByUid = new Map<string, Promise<void>>();
  readonly #lost = new AbortController();
  readonly #stopping = new AbortController();
  /** Resolves the wait for a lease entry that this instance wrote, by its `beat`. */
  readonly #awaitedBeats = new Map<string, () => void>();
  #versions = 0;
  #isLeader = false;
  #lease: LeaseEntry | undefined;
  #leaseSeen: number;
  #renewing: Promise<void> | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: RecordLogOptions) {
    this.#options = options;
    this.#topic = recordsTopicOf(options.broker);
    this.#leaseSeen = options.clock.monotonic();
    this.#reader = committedReader({ ...options, topic: this.#topic });
    this.#writer = new TransactionalWriter(options, this.#topic, (reason) => this.#loseLeadership(reason));
    this.records = this.#recordStore();
    this.leadership = this.#leadership();
  }

  async start(): Promise<void> {
    const configuration = { 'cleanup.policy': 'compact', 'min.cleanable.dirty.ratio': '0.1' };
    await ensureTopics({ ...this.#options, topics: [{ name: this.#topic, partitions: 1, configuration }] });
    this.#reading = this.#reader.read(this.#stopping.signal, (record) => this.#onRecord(record));
  }

  async stop(): Promise<void> {
    this.#isLeader = false;
    this.#stopping.abort();
    await this.#renewing;
    await this.#writer.close();
    await this.#reading;
  }

  #recordStore(): RecordStore {
    const known = this.#known;
    return {
      known: (uid) => known.get(uid),
      get: async (uid) => {
        this.#requireLeadership();
        return known.get(uid);
      },
      all: () => known.values(),
      put: async (record, over) => {
        this.#requireLeadership();
        if (known.get(record.uid)?.version !== over || !(await this.#writeRecord(record.uid, record))) return undefined;
        return known.get(record.uid);
      },
      drop: async (uid, version) => {
        this.#requireLeadership();
        if (known.get(uid)?.version === version) await this.#writeRecord(uid, undefined);
      },
      subscribe: (changed) => {
        this.#subscribers.add(changed);
        for (const uid of known.keys()) changed(uid);
        return () => this.#subscribers.delete(changed);
      },
    };
  }

  #leadership(): Leadership {
    const isLeader = () => this.#isLeader;
    return {
      exclusive: true,
      get isLeader() {
        return isLeader();
      },
      lost: this.#lost.signal,
      acquire: (signal) => this.#acquire(signal),
      release: () => this.#release(),
    };
  }

  #onRecord({ key, value }: KafkaRecord): void {
    const uid = key?.toString('utf8') ?? '';
    const text = value === null || value.length === 0 ? undefined : value.toString('utf8');
    if (uid === leaseKey) {
      this.#onLease(text === undefined ? undefined : (JSON.parse(text) as LeaseEntry));
      return;
    }
    // The leader stores its own writes when they are acknowledged.
    if (this.#isLeader) return;
    this.#store(uid, text === undefined ? undefined : (JSON.parse(text) as DeploymentRecord));
  }

  #onLease(lease: LeaseEntry | undefined): void {
    this.#lease = lease;
    this.#leaseSeen = this.#options.clock.monotonic();
    this.#awaitedBeats.get(lease?.beat ?? '')?.();
    if (this.#isLeader && lease?.instance !== this.#instance) this.#loseLeadership('another instance has taken over');
  }

  #store(uid: string, record: DeploymentRecord | undefined): void {
    this.#versions += 1;
    if (record === undefined) this.#known.delete(uid);
    else this.#known.set(uid, { record, version: String(this.#versions) });
    for (const notify of this.#subscribers) notify(uid);
  }

  /**
   * Writes a record, and only then stores it: nothing acts on a record before it is written, and a failed write never happened.
   * Resolves to false, after waiting, if another write of this record is in progress.
   */
  async #writeRecord(uid: string, record: DeploymentRecord | undefined): Promise<boolean> {
    const other = this.#writesByUid.get(uid);
    if (other !== undefined) {
      await other.catch(() => {});
      return false;
    }
    const write = this.#writer.write(uid, record === undefined ? undefined : JSON.stringify(record));
    this.#writesByUid.set(uid, write);
    try {
      await write;
    } finally {
      this.#writesByUid.delete(uid);
    }
    this.#requireLeadership();
    this.#store(uid, record);
    return true;
  }

  async #acquire(signal: AbortSignal): Promise<void> {
    const { clock, leaseMilliseconds } = this.#options;
    this.#leaseSeen = clock.monotonic();
    while (!(await this.#isLeaseFree())) {
      signal.throwIfAborted();
      await sleep(clock, Math.min(1_000, leaseMilliseconds / 5), signal);
    }
    signal.throwIfAborted();
    await this.#takeLease(signal);
    this.#isLeader = true;
    this.#renewing = this.#renew();
  }

  /** A lease that was not renewed for its whole duration is free, even if this instance has not read the whole topic. */
  async #isLeaseFree(): Promise<boolean> {
    const { clock, leaseMilliseconds } = this.#options;
    if (clock.monotonic() - this.#leaseSeen > leaseMilliseconds) return true;
    const lease = this.#lease;
    const isHeld = lease !== undefined && lease.released !== true && lease.instance !== this.#instance;
    return !isHeld && (await this.#isCaughtUp());
  }

  /** Whether this instance has read everything that was committed before the call. */
  async #isCaughtUp(): Promise<boolean> {
    try {
      return this.#reader.position >= (await endOfCommitted({ ...this.#options, topic: this.#topic }));
    } catch {
      return false;
    }
  }

  /** Fences the previous writer, writes the lease, and resolves once it was read back: everything before it is then known. */
  async #takeLease(signal: AbortSignal): Promise<void> {
    this.#writer.open();
    const beat = randomUUID();
    const readBack = new Promise<void>((resolve, reject) => {
      this.#awaitedBeats.set(beat, resolve);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    readBack.catch(() => {});
    await this.#writeLease({ beat });
    await readBack;
    this.#awaitedBeats.delete(beat);
  }

  async #renew(): Promise<void> {
    const { clock, leaseMilliseconds } = this.#options;
    const { signal } = this.#stopping;
    while (this.#isLeader && !signal.aborted) {
      await sleep(clock, leaseMilliseconds / 3, signal);
      if (!this.#isLeader || signal.aborted) return;
      await this.#writeLease({}).catch(() => {});
    }
  }

  async #release(): Promise<void> {
    if (!this.#isLeader) return;
    await this.#writeLease({ released: true }).catch(() => {});
    this.#isLeader = false;
  }

  #writeLease(fields: Partial<LeaseEntry>): Promise<void> {
    const entry: LeaseEntry = { instance: this.#instance, beat: randomUUID(), ...fields };
    return this.#writer.write(leaseKey, JSON.stringify(entry));
  }

  #loseLeadership(reason: string): void {
    if (this.#lost.signal.aborted) return;
    this.#isLeader = false;
    this.#options.log.error('lost the lease to write records', { reason });
    this.#lost.abort(new NotLeader());
    this.#writer.rejectPending();
  }

  #requireLeadership(): void {
    if (!this.#isLeader) throw new NotLeader();
  }
}
