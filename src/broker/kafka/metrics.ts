/** What became of the messages that consumers took, one set a registry. */
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
    help: 'Messages taken from Kafka by what became of them',
    labelNames: ['group', 'topic', 'result'],
    registers,
  });
  const deadLetters = new Counter({
    name: 'kidp_kafka_dead_letters_total',
    help: 'Messages that could not be taken, by the reason',
    labelNames: ['topic', 'code'],
    registers,
  });
  const restarts = new Counter({
    name: 'kidp_kafka_consumer_restarts_total',
    help: 'How often a consumer connected anew after a failure',
    labelNames: ['group'],
    registers,
  });
  const waiting = new Gauge({
    name: 'kidp_kafka_messages_waiting',
    help: 'Messages taken from Kafka that are not done',
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
