/** The topics of platform and brokers, created if they do not exist. */
import type { Admin as AdminClient } from '@platformatic/kafka';
import { clientOptions, closeClient, type KafkaConnection, loadClient } from './connection.ts';
import { describeFailure, failureOf, kafkaError } from './failure.ts';
import { guardClient } from './guarded.ts';

export const REQUEST_TOPIC = 'deployment-requests';
export const STATUS_TOPIC = 'deployment-status';
export const deadLetterTopicOf = (topic: string): string => `${topic}-dead-letter`;

export interface TopicRequest {
  readonly name: string;
  /** Default: 6, which is how many consumers of a group can share the work. */
  readonly partitions?: number;
  /** Default: that of the cluster. */
  readonly replicas?: number;
  readonly configuration?: Readonly<Record<string, string>>;
}

/**
 * The topics of requests and reports, and their dead-letter topics. A dead letter is the original with more headers, so
 * it may be larger.
 */
export const platformTopics: readonly TopicRequest[] = [REQUEST_TOPIC, STATUS_TOPIC].flatMap((name) => [
  { name },
  { name: deadLetterTopicOf(name), partitions: 1, configuration: { 'max.message.bytes': String(2 * 1024 * 1024) } },
]);

/** Creates missing topics and leaves existing ones unchanged. Rejects with a `ChannelError`. */
export async function ensureTopics(
  options: KafkaConnection & { readonly topics?: readonly TopicRequest[] },
): Promise<void> {
  const { topics = platformTopics, log, ...connection } = options;
  const library = await loadClient();
  const admin = guardClient(new library.Admin(clientOptions({ ...connection, log })), connection, library);
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
    // Another process created the topic at the same time.
    if (!/TOPIC_ALREADY_EXISTS/.test(describeFailure(error))) throw error;
  }
}

/**
 * Waits for partition leaders: a new topic has none at first, and until then nothing can be sent to it. The client
 * retries a few times.
 */
async function waitForLeaders(admin: AdminClient, topics: readonly TopicRequest[]): Promise<void> {
  if (topics.length > 0) await admin.metadata({ topics: topics.map(({ name }) => name), forceUpdate: true });
}
