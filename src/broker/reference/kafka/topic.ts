/** From a request to the topic that it comes to, and whether a topic is that: nothing is asked and nothing is done here. */
import type { Topic } from '../../../api/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import { permanent } from '../provider.ts';

type Spec = Topic['spec'];

export interface DesiredTopic {
  readonly name: string;
  readonly partitions: number;
  /** Left out, the default of the cluster. */
  readonly replication?: number;
  readonly config: Readonly<Record<string, string>>;
  /** Of a queue: the one group of consumers among which its messages are shared. */
  readonly group?: string;
}

export interface PresentTopic {
  readonly partitions: number;
  /** Of each partition, on how many servers its messages are, and on how many they will be when what is under way is done. */
  readonly copies: readonly { readonly now: number; readonly planned: number }[];
  /** All settings, those too that nobody set. */
  readonly config: Readonly<Record<string, string>>;
}

export function topicNameOf({ spec, resource, target }: DeploymentRequest): string {
  return `${target.parameters?.topicPrefix ?? ''}${(spec as Spec | undefined)?.topicName ?? resource.name}`;
}

/** Throws a `ProviderFailure` where it cannot be had on Kafka. */
export function desiredTopic(request: DeploymentRequest): DesiredTopic {
  const spec = request.spec as Spec;
  const name = topicNameOf(request);
  if (!/^[a-zA-Z0-9._-]{1,249}$/.test(name) || name === '.' || name === '..') {
    throw permanent(
      'invalid-name',
      `"${name}" is no name of a Kafka topic: letters, digits, ".", "_" and "-", at most 249`,
    );
  }
  if (name.startsWith('__') || name.startsWith('kidp-broker-records-')) {
    throw permanent(
      'reserved-name',
      `topics whose names begin like "${name}" are not for users: choose another topicName`,
    );
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
 * A queue is a topic that one group of consumers shares: each message is worked on by one of them. What a topic cannot promise is
 * refused, so that nobody counts on it.
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

/** What differs, a sentence for each; empty where it is as wanted. More partitions are no difference: they never become fewer. */
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

/** Messages are being copied to more servers, or taken from some. Where they only change places, nothing of ours is under way. */
export const isBeingReplicated = ({ replication }: DesiredTopic, { copies }: PresentTopic): boolean =>
  replication !== undefined && copies.some(({ now, planned }) => now !== planned);
