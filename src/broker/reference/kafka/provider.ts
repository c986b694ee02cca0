/** The provider whose things are topics of a Kafka cluster. Its records are in a topic of the same cluster. */
import { type Clock, type Logger, systemClock } from '../../../runtime/index.ts';
import type { KafkaTls } from '../../kafka/index.ts';
import { revisionOf } from '../kubernetes/credentials.ts';
import { formerNotVisible, type Provider, type ProviderState, permanent, type Removal } from '../provider.ts';
import type { DeploymentRecord } from '../record.ts';
import { type TopicAdmin, topicAdmin } from './admin.ts';
import { formerRecords } from './former-records.ts';
import { recordLog } from './record-log.ts';
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
  /** What others are told to connect to; the same, where it is left out. */
  readonly advertised?: readonly string[];
  readonly leaseMilliseconds?: number;
  /** How often topics are compared with what was asked for. */
  readonly pollMilliseconds?: number;
  readonly clock?: Clock;
  readonly log: Logger;
}

export function kafkaProvider(options: KafkaProviderOptions): Provider {
  const { broker, clock = systemClock, log } = options;
  const connection = {
    bootstrapServers: options.bootstrapServers,
    tls: options.tls,
    clientId: `kidp-broker-${broker}`,
    log,
  };
  const store = recordLog({ ...connection, broker, leaseMilliseconds: options.leaseMilliseconds ?? 15_000, clock });
  const { records } = store;
  const admin: TopicAdmin = topicAdmin(connection);
  const others = formerRecords({ ...connection, clock, admin });
  const stopping = new AbortController();
  let polling: Promise<void> | undefined;

  const connectionOf = (wanted: DesiredTopic): Record<string, string> => ({
    type: 'kafka',
    'bootstrap-servers': (options.advertised ?? options.bootstrapServers).join(','),
    topic: wanted.name,
    ...(wanted.group === undefined ? {} : { group: wanted.group }),
  });

  const ready = (wanted: DesiredTopic, present: PresentTopic): ProviderState => {
    const values = connectionOf(wanted);
    const outputs = {
      ...values,
      partitions: String(present.partitions),
      replication: String(present.copies[0]?.planned ?? 0),
    };
    return { report: { phase: 'ready', outputs, credentialsRevision: revisionOf(values) } };
  };

  /** Those that were brought about, by uid; none while another instance leads. */
  const watched = (): ReadonlyMap<string, string> =>
    new Map(
      [...(store.leadership.isLeader ? records.all() : [])].flatMap(({ record: { uid, state, notes } }) =>
        state === 'done' && notes.topic !== undefined ? [[uid, notes.topic] as const] : [],
      ),
    );

  async function bring(record: DeploymentRecord): Promise<ProviderState> {
    const wanted = desiredTopic(record.request);
    let present = (await admin.read([wanted.name])).get(wanted.name);
    if (present === undefined) await admin.create(wanted);
    else await updateTopic(admin, wanted, present, settingsIn(record));
    present = (await admin.read([wanted.name])).get(wanted.name);
    const notes = { ...record.notes, settings: JSON.stringify(Object.keys(wanted.config)) };
    const waiting = (message: string, requeueAfterMilliseconds: number): ProviderState => ({
      report: { phase: 'deploying', message },
      notes,
      requeueAfterMilliseconds,
    });
    // Servers learn of it one after the other.
    if (present === undefined || differences(wanted, present).length > 0)
      return waiting('the topic is being made', 500);
    // That takes as long as there are messages.
    if (isBeingReplicated(wanted, present)) return waiting('messages are being copied to other servers', 2_000);
    return { ...ready(wanted, present), notes };
  }

  /** The notes of a record, with the topic of the brokers that it was taken over from. */
  async function adoptNotes(record: DeploymentRecord): Promise<DeploymentRecord['notes']> {
    const { formerBrokers = [] } = record.request;
    if (formerBrokers.length === 0 || record.notes.adopted === formerBrokers.join()) return record.notes;
    let notes: DeploymentRecord['notes'] = {};
    for (const former of formerBrokers) {
      const theirs = await others.of(former, record.uid);
      if (theirs === 'unseen') throw formerNotVisible([former], 'it keeps no records in this Kafka');
      if (theirs !== undefined && theirs.state !== 'deleted') notes = { ...notes, ...theirs.notes };
    }
    return { ...notes, ...record.notes, adopted: formerBrokers.join() };
  }

  const topicOf = (record: DeploymentRecord) => record.notes.topic ?? topicNameOf(record.request);

  return {
    capabilities: ['Topic'],
    records,
    leadership: store.leadership,
    async start(changed) {
      await store.start();
      const { signal } = stopping;
      const everyMilliseconds = options.pollMilliseconds;
      polling = watchTopics({ admin, topics: watched, changed, everyMilliseconds, clock, signal, log });
    },
    /** Kafka has no place for whose a topic is, so the record says so before the topic is made. */
    async prepare(record) {
      const notes = await adoptNotes(record);
      const fresh = notes === record.notes ? undefined : notes;
      if (record.request.action === 'Delete') return fresh;
      const wanted = desiredTopic(record.request);
      if (notes.topic === wanted.name) return fresh;
      if (notes.topic !== undefined && (await admin.exists(notes.topic))) {
        throw permanent(
          'name-fixed',
          `its topic is ${notes.topic} and would be ${wanted.name} now: let topicPrefix of the target be what it was, or make another Topic`,
        );
      }
      const other = [...records.all()].find(
        (each) =>
          each.record.uid !== record.uid && each.record.state !== 'deleted' && each.record.notes.topic === wanted.name,
      );
      if (other !== undefined || (await admin.exists(wanted.name))) {
        throw permanent(
          'name-taken',
          `there is a topic ${wanted.name} that was not made for this Topic: set spec.topicName of a new Topic to another name, or delete what is there`,
        );
      }
      return { ...notes, topic: wanted.name };
    },
    apply: bring,
    async observe(record) {
      const wanted = desiredTopic(record.request);
      const present = (await admin.read([wanted.name])).get(wanted.name);
      const found = present === undefined ? ['it was deleted'] : differences(wanted, present);
      // It has not been in line yet, so what is missing is still ours to do.
      if (record.report.phase === 'deploying') return bring(record);
      if (present !== undefined && found.length === 0) return ready(wanted, present);
      return { report: { phase: 'drifted', message: `topic ${wanted.name}: ${found.join('; ')}` } };
    },
    async remove(record) {
      const { topic } = record.notes;
      // What has no note was never made by this broker.
      return topic === undefined ? { gone: true } : removeTopic(admin, topic);
    },
    async credentials(record) {
      const values = connectionOf({ ...desiredTopic(record.request), name: topicOf(record) });
      return { revision: revisionOf(values), values };
    },
    async stop() {
      stopping.abort();
      await polling;
      await others.stop();
      await store.stop();
      await admin.close();
    },
  };
}

/** A topic that was just made may not be in any list yet: that it is in none says nothing, before its removal was asked for. */
export async function removeTopic(admin: Pick<TopicAdmin, 'remove' | 'exists'>, topic: string): Promise<Removal> {
  const wasThere = await admin.remove(topic);
  if (!wasThere && !(await admin.exists(topic))) return { gone: true };
  return { gone: false, message: `waiting for the topic ${topic} to be gone`, requeueAfterMilliseconds: 300 };
}

/** Settings of ours that are not wanted any more go back to the default; those of others stay. */
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
