/** The topic operations that the Kafka provider needs, on top of the Kafka admin client. */
import {
  Admin,
  type ClusterPartitionMetadata,
  ConfigResourceTypes,
  IncrementalAlterConfigOperationTypes,
} from '@platformatic/kafka';
import { clientOptions, closeClient, type KafkaConnection } from '../../kafka/connection.ts';
import { describeFailure } from '../../kafka/failure.ts';
import { ProviderFailure } from '../provider.ts';
import { planPlacement } from './placement.ts';
import { listReassignments, type Reassignment, reassign } from './reassignment.ts';
import type { DesiredTopic, PresentTopic } from './topic.ts';

export interface TopicAdmin {
  /** Returns the topics with these names that exist. */
  read(names: readonly string[]): Promise<ReadonlyMap<string, PresentTopic>>;
  exists(name: string): Promise<boolean>;
  create(wanted: DesiredTopic): Promise<void>;
  /** Resolves also if the topic already has that many partitions. */
  grow(name: string, partitions: number): Promise<void>;
  /** Changes the replication factor. Resolves once Kafka has accepted the reassignment; copying the messages takes longer. */
  replicate(name: string, replication: number): Promise<void>;
  configure(name: string, set: Readonly<Record<string, string>>, unset: readonly string[]): Promise<void>;
  /** Returns whether the topic existed. The controller answers, so the result does not depend on a server with stale metadata. */
  remove(name: string): Promise<boolean>;
  close(): Promise<void>;
}

export function topicAdmin(connection: KafkaConnection): TopicAdmin {
  const admin = new Admin(clientOptions(connection));
  const names = async () => new Set(await admin.listTopics());
  return {
    exists: async (name) => (await names()).has(name),
    async read(wanted) {
      const there = await names();
      const topics = wanted.filter((name) => there.has(name));
      if (topics.length === 0) return new Map();
      const metadata = await admin.metadata({ topics, forceUpdate: true });
      const moves = await listReassignments(admin, metadata.controllerId);
      const described = await admin.describeConfigs({
        resources: topics.map((resourceName) => ({ resourceType: ConfigResourceTypes.TOPIC, resourceName })),
      });
      return new Map(
        described.map(({ resourceName, configs }) => {
          const { partitions = [] } = metadata.topics.get(resourceName) ?? {};
          const config = Object.fromEntries(configs.map(({ name, value }) => [name, value ?? '']));
          const copies = placementsOf(partitions, moves.get(resourceName)).map(({ servers, adding, removing }) => ({
            now: servers.length - adding.length + removing.length,
            planned: servers.length,
          }));
          return [resourceName, { partitions: partitions.length, copies, config }];
        }),
      );
    },
    create: ({ name, partitions, replication = -1, config }) =>
      classifyErrors(`create topic ${name}`, async () => {
        const configs = Object.entries(config).map(([key, value]) => ({ name: key, value }));
        await admin.createTopics({ topics: [name], partitions, replicas: replication, configs });
      }),
    grow: (name, count) =>
      classifyErrors(`add partitions to topic ${name}`, async () => {
        try {
          await admin.createPartitions({ topics: [{ name, count }] });
        } catch (error) {
          // The caller has read a smaller number, so partitions were added since: by a previous leader, or by a request whose
          // response was lost.
          if (!/INVALID_PARTITIONS/.test(describeFailure(error))) throw error;
        }
      }),
    replicate: (name, replication) =>
      classifyErrors(`change the replication of topic ${name}`, async () => {
        const { brokers, topics, controllerId } = await admin.metadata({ topics: [name], forceUpdate: true });
        const moves = (await listReassignments(admin, controllerId)).get(name);
        const up = [...brokers].map(([id, { rack }]) => ({ id, rack: rack ?? undefined }));
        const to = planPlacement(name, placementsOf(topics.get(name)?.partitions ?? [], moves), replication, up);
        if (to.size > 0) await reassign(admin, controllerId, name, to);
      }),
    configure: (name, set, unset) =>
      classifyErrors(`configure topic ${name}`, async () => {
        const configs = [
          ...Object.entries(set).map(([key, value]) => ({
            name: key,
            value,
            configOperation: IncrementalAlterConfigOperationTypes.SET,
          })),
          ...unset.map((key) => ({ name: key, configOperation: IncrementalAlterConfigOperationTypes.DELETE })),
        ];
        if (configs.length === 0) return;
        const resources = [{ resourceType: ConfigResourceTypes.TOPIC, resourceName: name, configs }];
        await admin.incrementalAlterConfigs({ resources });
      }),
    async remove(name) {
      try {
        await admin.deleteTopics({ topics: [name] });
        return true;
      } catch (error) {
        if (!/UNKNOWN_TOPIC_OR_PARTITION/.test(describeFailure(error))) throw error;
        return false;
      }
    },
    close: () => closeClient(admin),
  };
}

/** The metadata of a server can be older than the reassignments that the controller knows: these take precedence. */
const placementsOf = (partitions: readonly ClusterPartitionMetadata[], moves: readonly Reassignment[] = []) =>
  partitions.map(({ replicas, leader, isr: inSync }, partition) => {
    const { servers = replicas, adding = [], removing = [] } = moves.find((each) => each.partition === partition) ?? {};
    const planned = servers.filter((id) => !removing.includes(id));
    return { partition, servers: planned, leader, inSync, adding, removing };
  });

const permanentRefusals =
  /INVALID_CONFIG|INVALID_REPLICATION_FACTOR|INVALID_PARTITIONS|INVALID_TOPIC_EXCEPTION|POLICY_VIOLATION|TOPIC_AUTHORIZATION_FAILED|CLUSTER_AUTHORIZATION_FAILED|INVALID_REQUEST/;

/** `classifyErrors` turns errors that a retry cannot fix into a `ProviderFailure`; all other errors are retried. */
async function classifyErrors<T>(doing: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (error instanceof ProviderFailure) throw error;
    const message = `${doing}: ${describeFailure(error)}`;
    if (/THROTTLING_QUOTA_EXCEEDED/.test(message)) {
      throw new ProviderFailure({ class: 'quota', code: 'quota-exceeded', message, cause: error });
    }
    const [code] = permanentRefusals.exec(message) ?? [];
    if (code === undefined) throw error;
    throw new ProviderFailure({
      class: 'permanent',
      code: code.toLowerCase().replaceAll('_', '-'),
      message,
      cause: error,
    });
  }
}
