/** Sends rejected messages to the dead-letter topic: the original bytes, with headers that say why and where it was. */
import { plainLine } from '../../runtime/internal.ts';
import { ChannelError } from '../channel.ts';
import type { DeadLetter, IncomingMessage, OutgoingMessage } from './message.ts';
import type { KafkaProducer } from './producer.ts';

const longestReason = 1_000;

/**
 * Sends a dead letter. If the original with the added headers is too large, only the headers are sent: they name its
 * place. Rejects with a `ChannelError`.
 */
export async function sendToDeadLetterTopic(
  producer: KafkaProducer,
  topic: string,
  message: IncomingMessage,
  why: DeadLetter,
): Promise<void> {
  const letter = deadLetter(topic, message, why);
  try {
    await producer.send(letter);
  } catch (error) {
    if (!(error instanceof ChannelError) || error.failure !== 'refused' || letter.value.length === 0) throw error;
    const headers = { ...letter.headers, 'omitted-bytes': String(letter.value.length) };
    await producer.send({ ...letter, value: Buffer.alloc(0), headers });
  }
}

function deadLetter(topic: string, message: IncomingMessage, why: DeadLetter): OutgoingMessage {
  return {
    topic,
    key: message.key,
    value: message.value,
    headers: {
      ...Object.fromEntries(message.headers),
      reason: plainLine(why.message).slice(0, longestReason),
      code: why.code,
      'source-topic': message.topic,
      'source-partition': String(message.partition),
      'source-offset': String(message.offset),
    },
  };
}
