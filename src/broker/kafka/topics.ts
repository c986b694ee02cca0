/** The topics that platform and brokers talk through, made where they are missing. */
import type { Admin as AdminClient } from '@platformatic/kafka';
import { clientOptions, closeClient, type KafkaConnection, loadClient } from './connection.ts';
import { describeFailure, failureOf, kafkaError } from './failure.ts';

export const REQUEST_TOPIC = 'deployment-requests';
export const STATUS_TOPIC = 'deployment-status';
export const deadLetterTopicOf = (topic: string): string => `${topic}-dead-letter`;

export interface TopicRequest {
  readonly name: string;
  /** The default is 6: as many consumers of a group can share the work. */
  readonly partitions?: number;
  /** The default is the cluster's. */
  readonly replicas?: number;
  readonly configuration?: Readonly<Record<string, string>>;
}

/** Requests and reports, and what could not be taken of them. A dead letter is the original with more headers, so it may be larger. */
export const platformTopics: readonly TopicRequest[] = [REQUEST_TOPIC, STATUS_TOPIC].flatMap((name) => [
  { name },
  { name: deadLetterTopicOf(name), partitions: 1, configuration: { 'max.message.bytes': String(2 * 1024 * 1024) } },
]);

/** Leaves alone what is there. Rejects with a `ChannelError`. */
export async function ensureTopics(
  options: KafkaConnection & { readonly topics?: readonly TopicRequest[] },
): Promise<void> {
  const { topics = platformTopics, log, ...connection } = options;
  const { Admin } = await loadClient();
  const admin = new Admin(clientOptions({ ...connection, log }));
  try {
    const existing = new Set(await admin.listTopics());
    for (const topic of topics) if (!existing.has(topic.name)) await create(admin, topic);
    await waitForLeaders(admin, topics);
  } catch (error) {
    throw kafkaError(failureOf(error), describeFailure(error), error);
  } finally {
    await closeClient(admin);
  }
}

async function create(admin: AdminClient, { name, partitions = 6, replicas = -1, configuration = {} }: TopicRequest) {
  try {
    await admin.createTopics({
      topics: [name],
      partitions,
      replicas,
      configs: Object.entries(configuration).map(([key, value]) => ({ name: key, value })),
    });
  } catch (error) {
    // Somebody was quicker.
    if (!/TOPIC_ALREADY_EXISTS/.test(describeFailure(error))) throw error;
  }
}

/** A topic is made before its partitions have a leader; until then nothing can be sent to them. The client tries a few times. */
async function waitForLeaders(admin: AdminClient, topics: readonly TopicRequest[]): Promise<void> {
  if (topics.length > 0) await admin.metadata({ topics: topics.map(({ name }) => name), forceUpdate: true });
}
