/** Metrics of consumers. */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface KafkaMetrics {
  message(group: string, topic: string, result: 'handled' | 'retried' | 'dead-letter'): void;
  deadLetter(topic: string, code: string): void;
  restarted(group: string): void;
  waiting(group: string, messages: number): void;
}

export function kafkaMetrics(registry: Registry): KafkaMetrics {
  const registers = [registry];
  const messages = new Counter({
    name: 'kidp_kafka_messages_total',
    help: 'Messages consumed from Kafka, by result',
    labelNames: ['group', 'topic', 'result'],
    registers,
  });
  const deadLetters = new Counter({
    name: 'kidp_kafka_dead_letters_total',
    help: 'Messages sent to the dead-letter topic, by code',
    labelNames: ['topic', 'code'],
    registers,
  });
  const restarts = new Counter({
    name: 'kidp_kafka_consumer_restarts_total',
    help: 'Reconnects of a consumer after a failure',
    labelNames: ['group'],
    registers,
  });
  const waiting = new Gauge({
    name: 'kidp_kafka_messages_waiting',
    help: 'Messages consumed from Kafka that are not handled yet',
    labelNames: ['group'],
    registers,
  });
  return {
    message: (group, topic, result) => messages.inc({ group, topic, result }),
    deadLetter: (topic, code) => deadLetters.inc({ topic, code }),
    restarted: (group) => restarts.inc({ group }),
    waiting: (group, count) => waiting.set({ group }, count),
  };
}
