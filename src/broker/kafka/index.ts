/**
 * Kafka, the primary way to brokers and back.
 *
 * In: messages to send, and a function that takes those that come. Out: acknowledgements, and each message at least once, those of one
 * key in order. It must not know what a message means.
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
