/** Maps a request to a desired topic, and compares topics. These are pure functions. */
import type { Topic } from '../../../api/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import { permanent } from '../provider.ts';

type Spec = Topic['spec'];

export interface DesiredTopic {
  readonly name: string;
  readonly partitions: number;
  /** Default: that of the cluster. */
  readonly replication?: number;
  readonly config: Readonly<Record<string, string>>;
  /** The one consumer group that shares the messages of a queue. */
  readonly group?: string;
}

export interface PresentTopic {
  readonly partitions: number;
  /** For each partition, the current number of replicas and the one after pending reassignments. */
  readonly copies: readonly { readonly now: number; readonly planned: number }[];
  /** All settings, including defaults. */
  readonly config: Readonly<Record<string, string>>;
}

export function topicNameOf({ spec, resource, target }: DeploymentRequest): string {
  return `${target.parameters?.topicPrefix ?? ''}${(spec as Spec | undefined)?.topicName ?? resource.name}`;
}

/** Throws a `ProviderFailure` if Kafka cannot provide the topic. */
export function desiredTopic(request: DeploymentRequest): DesiredTopic {
  const spec = request.spec as Spec;
  const name = topicNameOf(request);
  if (!/^[a-zA-Z0-9._-]{1,249}$/.test(name) || name === '.' || name === '..') {
    throw permanent(
      'invalid-name',
      `"${name}" is not a valid Kafka topic name: use at most 249 letters, digits, ".", "_" and "-"`,
    );
  }
  if (name.startsWith('__') || name.startsWith('kidp-broker-records-')) {
    throw permanent('reserved-name', `the topic name "${name}" has a reserved prefix: choose another topicName`);
  }
  const config = Object.fromEntries(Object.entries(spec.config ?? {}).map(([key, value]) => [key, String(value)]));
  const wanted = {
    name,
    partitions: spec.partitions ?? 1,
    ...(spec.replication === undefined ? {} : { replication: spec.replication }),
    config,
  };
  return spec.type === 'queue' ? queue(wanted, spec.queue ?? {}) : wanted;
}

/**
 * A queue is a topic that one consumer group shares: each message is handled by one member. Settings that a topic
 * cannot guarantee are refused.
 */
function queue(wanted: DesiredTopic, settings: NonNullable<Spec['queue']>): DesiredTopic {
  const unkept = (['visibilityTimeoutSeconds', 'maxDeliveries'] as const).filter(
    (each) => settings[each] !== undefined,
  );
  if (unkept.length > 0) {
    throw permanent(
      'unsupported-queue-setting',
      `a queue on Kafka hands a message to one consumer at a time and again until it is committed: it has no ${unkept.join(' and no ')}. Leave it out, or aim the queue at a target whose broker has queues`,
    );
  }
  const { retentionSeconds } = settings;
  return {
    ...wanted,
    config:
      retentionSeconds === undefined
        ? wanted.config
        : { ...wanted.config, 'retention.ms': String(retentionSeconds * 1000) },
    group: `${wanted.name}.workers`,
  };
}

/** The differences, one sentence each. Surplus partitions are not a difference: partitions never decrease. */
export function differences(wanted: DesiredTopic, present: PresentTopic): string[] {
  const { partitions, replication, config } = wanted;
  return [
    ...(present.partitions < partitions ? [`it has ${present.partitions} partitions, not ${partitions}`] : []),
    ...(replication === undefined ? [] : replicationDifferences(replication, present)),
    ...Object.entries(config)
      .filter(([key, value]) => present.config[key] !== value)
      .map(([key, value]) => `${key} is ${present.config[key] ?? 'not set'}, not ${value}`),
  ];
}

function replicationDifferences(replication: number, { copies }: PresentTopic): string[] {
  const others = [...new Set(copies.map(({ planned }) => planned))].filter((planned) => planned !== replication);
  if (others.length === 0) return [];
  const all = copies.every(({ planned }) => planned === others[0]);
  return [`${all ? 'each message is' : 'some messages are'} on ${others.join(' or ')} servers, not ${replication}`];
}

/** Whether replicas are being added or removed. Moves that keep the number of replicas are not this broker's. */
export const isBeingReplicated = ({ replication }: DesiredTopic, { copies }: PresentTopic): boolean =>
  replication !== undefined && copies.some(({ now, planned }) => now !== planned);
