/** Sends to the topics of one Kafka cluster. A missing or slow topic does not hold up the others. */
import type { SendOptions } from '../channel.ts';
import type { OutgoingMessage } from './message.ts';
import { TopicSender, type TopicSenderOptions } from './sender.ts';

type KafkaProducerOptions = TopicSenderOptions;

export interface KafkaProducer {
  /** Whether a message could be sent now, according to the last attempts. */
  available(topic: string): boolean;
  /** Resolves once all in-sync replicas have acknowledged the message. Rejects with a `ChannelError`. */
  send(message: OutgoingMessage, options?: SendOptions): Promise<void>;
  /** Sends what is waiting, then disconnects. */
  close(): Promise<void>;
}

/** Connects when the first message is sent. */
export function kafkaProducer(options: KafkaProducerOptions): KafkaProducer {
  const senders = new Map<string, TopicSender>();
  return {
    available: (topic) => senders.get(topic)?.available() ?? true,
    send(message, sendOptions) {
      let sender = senders.get(message.topic);
      if (sender === undefined) {
        sender = new TopicSender(options);
        senders.set(message.topic, sender);
      }
      return sender.send(message, sendOptions);
    },
    async close() {
      await Promise.all([...senders.values()].map((sender) => sender.close()));
    },
  };
}
