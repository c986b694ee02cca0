/** The provider whose things are topics of a Kafka cluster. Its records are in a topic of the same cluster. */
import { type Clock, type Logger, sleep, systemClock } from '../../../runtime/index.ts';
import type { KafkaTls } from '../../kafka/index.ts';
import { revisionOf } from '../kubernetes/credentials.ts';
import { formerUnseen, type Provider, permanent, type Removal, type Seen } from '../provider.ts';
import { type DeploymentRecord, stable } from '../record.ts';
import { type TopicAdmin, topicAdmin } from './admin.ts';
import { formerRecords } from './former.ts';
import { recordLog } from './log.ts';
import { differences, type PresentTopic, topicNameOf, type WantedTopic, wantedTopic } from './topic.ts';

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

  const connectionOf = (wanted: WantedTopic): Record<string, string> => ({
    type: 'kafka',
    'bootstrap-servers': (options.advertised ?? options.bootstrapServers).join(','),
    topic: wanted.name,
    ...(wanted.group === undefined ? {} : { group: wanted.group }),
  });

  const ready = (wanted: WantedTopic, present: PresentTopic): Seen => {
    const values = connectionOf(wanted);
    const outputs = { ...values, partitions: String(present.partitions), replication: String(present.replication) };
    return { report: { phase: 'ready', outputs, credentialsRevision: revisionOf(values) } };
  };

  /** Looks at all topics at once, and has those looked at closely that are no longer as they were. */
  async function poll(changed: (uid: string) => void): Promise<void> {
    const last = new Map<string, string>();
    while (!stopping.signal.aborted) {
      await sleep(clock, options.pollMilliseconds ?? 15_000, stopping.signal);
      if (stopping.signal.aborted || !store.leadership.leads) continue;
      try {
        const watched = [...records.all()].filter(
          ({ record }) => record.state === 'done' && record.notes.topic !== undefined,
        );
        const present = await admin.read(watched.map(({ record }) => record.notes.topic ?? ''));
        for (const { record } of watched) {
          const seen = stable(present.get(record.notes.topic ?? '') ?? null);
          if (last.get(record.uid) !== seen) changed(record.uid);
          last.set(record.uid, seen);
        }
      } catch (error) {
        log.warn('topics cannot be looked at, trying again', { error });
      }
    }
  }

  async function bring(record: DeploymentRecord): Promise<Seen> {
    const wanted = wantedTopic(record.request);
    let present = (await admin.read([wanted.name])).get(wanted.name);
    if (present === undefined) await admin.create(wanted);
    else await adapt(admin, wanted, present, settingsIn(record));
    present = (await admin.read([wanted.name])).get(wanted.name);
    const notes = { ...record.notes, settings: JSON.stringify(Object.keys(wanted.config)) };
    if (present === undefined || differences(wanted, present).length > 0) {
      // Servers learn of it one after the other.
      return {
        report: { phase: 'deploying', message: 'the topic is being made' },
        notes,
        againAfterMilliseconds: 500,
      };
    }
    return { ...ready(wanted, present), notes };
  }

  /** The notes of a record, with the topic of the brokers that it was taken over from. */
  async function adopted(record: DeploymentRecord): Promise<DeploymentRecord['notes']> {
    const { formerBrokers = [] } = record.request;
    if (formerBrokers.length === 0 || record.notes.adopted === formerBrokers.join()) return record.notes;
    let notes: DeploymentRecord['notes'] = {};
    for (const former of formerBrokers) {
      const theirs = await others.of(former, record.uid);
      if (theirs === 'unseen') throw formerUnseen([former], 'it keeps no records in this Kafka');
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
      polling = poll(changed);
    },
    /** Kafka has no place for whose a topic is, so the record says so before the topic is made. */
    async prepare(record) {
      const notes = await adopted(record);
      const fresh = notes === record.notes ? undefined : notes;
      if (record.request.action === 'Delete') return fresh;
      const wanted = wantedTopic(record.request);
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
    bring,
    async observe(record) {
      const wanted = wantedTopic(record.request);
      const present = (await admin.read([wanted.name])).get(wanted.name);
      const found = present === undefined ? ['it was deleted'] : differences(wanted, present);
      if (present !== undefined && found.length === 0) return ready(wanted, present);
      // It has not been in line yet, so what is missing is still ours to do.
      if (record.report.phase === 'deploying') return bring(record);
      return { report: { phase: 'drifted', message: `topic ${wanted.name}: ${found.join('; ')}` } };
    },
    async remove(record) {
      const { topic } = record.notes;
      // What has no note was never made by this broker.
      return topic === undefined ? { gone: true } : removeTopic(admin, topic);
    },
    async credentials(record) {
      const values = connectionOf({ ...wantedTopic(record.request), name: topicOf(record) });
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
  return { gone: false, message: `waiting for the topic ${topic} to be gone`, againAfterMilliseconds: 300 };
}

/** Settings of ours that are not wanted any more go back to the default; those of others stay. */
async function adapt(
  admin: TopicAdmin,
  wanted: WantedTopic,
  present: PresentTopic,
  earlier: readonly string[],
): Promise<void> {
  const { name, partitions, replication, config } = wanted;
  if (replication !== undefined && replication !== present.replication) {
    throw permanent(
      'replication-fixed',
      `topic ${name} has each message on ${present.replication} servers and this broker moves none: set spec.replication to ${present.replication}, or make another Topic`,
    );
  }
  if (present.partitions < partitions) await admin.grow(name, partitions);
  const set = Object.fromEntries(Object.entries(config).filter(([key, value]) => present.config[key] !== value));
  await admin.configure(
    name,
    set,
    earlier.filter((key) => !(key in config)),
  );
}

const settingsIn = (record: DeploymentRecord): string[] => JSON.parse(record.notes.settings ?? '[]');
