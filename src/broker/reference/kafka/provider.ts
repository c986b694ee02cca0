/** The provider that manages topics of a Kafka cluster. Its records are in a topic of the same cluster. */
import { type Clock, type Logger, systemClock } from '../../../runtime/index.ts';
import type { KafkaTls } from '../../kafka/index.ts';
import { revisionOf } from '../kubernetes/credentials.ts';
import {
  type Credentials,
  formerNotVisible,
  type Leadership,
  type Provider,
  type ProviderState,
  permanent,
  type RecordStore,
  type Removal,
} from '../provider.ts';
import type { DeploymentRecord } from '../record.ts';
import { type TopicAdmin, topicAdmin } from './admin.ts';
import { type FormerRecords, formerRecords } from './former-records.ts';
import { RecordLog } from './record-log.ts';
import {
  type DesiredTopic,
  desiredTopic,
  differences,
  isBeingReplicated,
  type PresentTopic,
  topicNameOf,
} from './topic.ts';
import { watchTopics } from './watch.ts';

export interface KafkaProviderOptions {
  /** The name of the broker. */
  readonly broker: string;
  readonly bootstrapServers: readonly string[];
  readonly tls?: () => KafkaTls;
  /** The addresses that clients of the topics get. Default: `bootstrapServers`. */
  readonly advertised?: readonly string[];
  readonly leaseMilliseconds?: number;
  /** How often topics are compared with their requests. */
  readonly pollMilliseconds?: number;
  readonly clock?: Clock;
  readonly log: Logger;
}

type Notes = DeploymentRecord['notes'];

export const kafkaProvider = (options: KafkaProviderOptions): Provider => new KafkaProvider(options);

class KafkaProvider implements Provider {
  readonly capabilities = ['Topic'];
  readonly records: RecordStore;
  readonly leadership: Leadership;
  readonly #options: KafkaProviderOptions;
  readonly #clock: Clock;
  readonly #log: RecordLog;
  readonly #admin: TopicAdmin;
  readonly #formerRecords: FormerRecords;
  readonly #stopping = new AbortController();
  #polling: Promise<void> | undefined;

  constructor(options: KafkaProviderOptions) {
    const { broker, bootstrapServers, tls, log, clock = systemClock, leaseMilliseconds = 15_000 } = options;
    const connection = { bootstrapServers, tls, clientId: `kidp-broker-${broker}`, log };
    this.#options = options;
    this.#clock = clock;
    this.#log = new RecordLog({ ...connection, broker, leaseMilliseconds, clock });
    this.#admin = topicAdmin(connection);
    this.#formerRecords = formerRecords({ ...connection, clock, admin: this.#admin });
    this.records = this.#log.records;
    this.leadership = this.#log.leadership;
  }

  async start(changed: (uid: string) => void): Promise<void> {
    await this.#log.start();
    this.#polling = watchTopics({
      admin: this.#admin,
      topics: () => this.#watchedTopics(),
      changed,
      everyMilliseconds: this.#options.pollMilliseconds,
      clock: this.#clock,
      signal: this.#stopping.signal,
      log: this.#options.log,
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#polling;
    await this.#formerRecords.stop();
    await this.#log.stop();
    await this.#admin.close();
  }

  /** Reserves the topic name: Kafka cannot store the owner of a topic, so the record names it before the topic is created. */
  async prepare(record: DeploymentRecord): Promise<Notes | undefined> {
    const notes = await this.#adoptNotes(record);
    const fresh = notes === record.notes ? undefined : notes;
    if (record.request.action === 'Delete') return fresh;
    const wanted = desiredTopic(record.request);
    if (notes.topic === wanted.name) return fresh;
    if (notes.topic !== undefined && (await this.#admin.exists(notes.topic))) {
      throw permanent(
        'name-fixed',
        `the topic name cannot change from ${notes.topic} to ${wanted.name}. Restore topicPrefix of the DeploymentTarget, or create another Topic`,
      );
    }
    const owner = [...this.records.all()].find(
      (each) =>
        each.record.uid !== record.uid && each.record.state !== 'deleted' && each.record.notes.topic === wanted.name,
    );
    if (owner !== undefined || (await this.#admin.exists(wanted.name))) {
      throw permanent(
        'name-taken',
        `topic ${wanted.name} exists and does not belong to this Topic. Create a Topic with another spec.topicName, or delete the existing topic`,
      );
    }
    return { ...notes, topic: wanted.name };
  }

  async apply(record: DeploymentRecord): Promise<ProviderState> {
    const wanted = desiredTopic(record.request);
    const existing = await this.#read(wanted);
    if (existing === undefined) await this.#admin.create(wanted);
    else await updateTopic(this.#admin, wanted, existing, settingsIn(record));
    const present = await this.#read(wanted);
    const notes = { ...record.notes, settings: JSON.stringify(Object.keys(wanted.config)) };
    const waiting = (message: string, requeueAfterMilliseconds: number): ProviderState => ({
      report: { phase: 'deploying', message },
      notes,
      requeueAfterMilliseconds,
    });
    // The servers of a cluster learn of a change one after the other.
    if (present === undefined || differences(wanted, present).length > 0)
      return waiting('the topic is being created', 500);
    // Copying takes longer the more messages the topic has.
    if (isBeingReplicated(wanted, present)) return waiting('messages are being copied to other servers', 2_000);
    return { ...this.#ready(wanted, present), notes };
  }

  async observe(record: DeploymentRecord): Promise<ProviderState> {
    // A deployment that was never complete is continued and not reported as drift.
    if (record.report.phase === 'deploying') return this.apply(record);
    const wanted = desiredTopic(record.request);
    const present = await this.#read(wanted);
    const found = present === undefined ? ['it was deleted'] : differences(wanted, present);
    if (present !== undefined && found.length === 0) return this.#ready(wanted, present);
    return { report: { phase: 'drifted', message: `topic ${wanted.name}: ${found.join('; ')}` } };
  }

  async remove(record: DeploymentRecord): Promise<Removal> {
    const { topic } = record.notes;
    // Without a note, this broker has never created a topic for the object.
    return topic === undefined ? { gone: true } : removeTopic(this.#admin, topic);
  }

  async credentials(record: DeploymentRecord): Promise<Credentials> {
    const name = record.notes.topic ?? topicNameOf(record.request);
    const values = this.#connectionOf({ ...desiredTopic(record.request), name });
    return { revision: revisionOf(values), values };
  }

  async #read({ name }: DesiredTopic): Promise<PresentTopic | undefined> {
    return (await this.#admin.read([name])).get(name);
  }

  #ready(wanted: DesiredTopic, present: PresentTopic): ProviderState {
    const values = this.#connectionOf(wanted);
    const outputs = {
      ...values,
      partitions: String(present.partitions),
      replication: String(present.copies[0]?.planned ?? 0),
    };
    return { report: { phase: 'ready', outputs, credentialsRevision: revisionOf(values) } };
  }

  #connectionOf({ name, group }: DesiredTopic): Record<string, string> {
    const { advertised, bootstrapServers } = this.#options;
    return {
      type: 'kafka',
      'bootstrap-servers': (advertised ?? bootstrapServers).join(','),
      topic: name,
      ...(group === undefined ? {} : { group }),
    };
  }

  /** The deployed topics by uid; none while another instance is the leader. */
  #watchedTopics(): ReadonlyMap<string, string> {
    return new Map(
      [...(this.leadership.isLeader ? this.records.all() : [])].flatMap(({ record: { uid, state, notes } }) =>
        state === 'done' && notes.topic !== undefined ? [[uid, notes.topic] as const] : [],
      ),
    );
  }

  /** The notes of a record, with the topic of the brokers that the object was taken over from. */
  async #adoptNotes(record: DeploymentRecord): Promise<Notes> {
    const { formerBrokers = [] } = record.request;
    if (formerBrokers.length === 0 || record.notes.adopted === formerBrokers.join()) return record.notes;
    let notes: Notes = {};
    for (const former of formerBrokers) {
      const theirs = await this.#formerRecords.of(former, record.uid);
      if (theirs === 'unseen') throw formerNotVisible([former], 'it keeps no records in this Kafka cluster');
      if (theirs !== undefined && theirs.state !== 'deleted') notes = { ...notes, ...theirs.notes };
    }
    return { ...notes, ...record.notes, adopted: formerBrokers.join() };
  }
}

/** Requests the removal before it looks for the topic: a topic that was just created might not be listed yet. */
export async function removeTopic(admin: Pick<TopicAdmin, 'remove' | 'exists'>, topic: string): Promise<Removal> {
  const wasThere = await admin.remove(topic);
  if (!wasThere && !(await admin.exists(topic))) return { gone: true };
  return { gone: false, message: `waiting for topic ${topic} to be deleted`, requeueAfterMilliseconds: 300 };
}

/** Resets settings that an earlier deployment set and this one does not; settings of others stay. */
async function updateTopic(
  admin: TopicAdmin,
  wanted: DesiredTopic,
  present: PresentTopic,
  earlier: readonly string[],
): Promise<void> {
  const { name, partitions, replication, config } = wanted;
  if (present.partitions < partitions) await admin.grow(name, partitions);
  const set = Object.fromEntries(Object.entries(config).filter(([key, value]) => present.config[key] !== value));
  await admin.configure(
    name,
    set,
    earlier.filter((key) => !(key in config)),
  );
  const isReplicated = present.copies.every(({ now, planned }) => now === replication && planned === replication);
  if (replication !== undefined && !isReplicated) await admin.replicate(name, replication);
}

const settingsIn = (record: DeploymentRecord): string[] => JSON.parse(record.notes.settings ?? '[]');
