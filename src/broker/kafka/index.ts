/**
 * Kafka, the primary channel between platform and brokers.
 *
 * In: messages to send, and a handler for messages to receive. Out: acknowledgements, and each message at least once,
 * messages of one key in order. This module does not know what a message means.
 */
export { kafkaChannel } from './channel.ts';
export type { KafkaConnection, KafkaTls } from './connection.ts';
export { type ConsumeOptions, consume, type KafkaConsumer } from './consumer.ts';
export { DeadLetter, type IncomingMessage, type OutgoingMessage } from './message.ts';
export { type KafkaMetrics, kafkaMetrics } from './metrics.ts';
export { type KafkaProducer, kafkaProducer } from './producer.ts';
export {
  deadLetterTopicOf,
  ensureTopics,
  platformTopics,
  REQUEST_TOPIC,
  STATUS_TOPIC,
  type TopicRequest,
} from './topics.ts';
