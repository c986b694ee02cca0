/** Sends to the topics of one Kafka cluster. A topic that is missing or slow holds up no other. */
import type { SendOptions } from '../channel.ts';
import type { OutgoingMessage } from './message.ts';
import { type TopicSender, type TopicSenderOptions, topicSender } from './sender.ts';

type KafkaProducerOptions = TopicSenderOptions;

export interface KafkaProducer {
  /** Whether a message could be sent now, as far as is known. */
  available(topic: string): boolean;
  /** Resolves once it is acknowledged by all replicas in sync. Rejects with a `ChannelError`. */
  send(message: OutgoingMessage, options?: SendOptions): Promise<void>;
  /** After what was asked for before has been sent. */
  close(): Promise<void>;
}

/** Connects when something is first sent. */
export function kafkaProducer(options: KafkaProducerOptions): KafkaProducer {
  const senders = new Map<string, TopicSender>();
  return {
    available: (topic) => senders.get(topic)?.available() ?? true,
    send(message, sendOptions) {
      let sender = senders.get(message.topic);
      if (sender === undefined) {
        sender = topicSender(options);
        senders.set(message.topic, sender);
      }
      return sender.send(message, sendOptions);
    },
    async close() {
      await Promise.all([...senders.values()].map((sender) => sender.close()));
    },
  };
}
