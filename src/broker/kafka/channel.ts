/** The primary way to a broker: its request topic, on its own cluster or on the one that everybody shares. */
import type { Logger } from '../../runtime/index.ts';
import { type BrokerAddress, type Channel, ChannelError } from '../channel.ts';
import type { RequestEvent } from '../messages.ts';
import type { KafkaTls } from './connection.ts';
import { describeFailure, kafkaError } from './failure.ts';
import { type KafkaProducer, kafkaProducer } from './producer.ts';

interface KafkaChannelOptions {
  /** Of brokers that name none of their own. */
  readonly bootstrapServers?: readonly string[];
  /** Asked at each new connection. */
  readonly tls?: (() => KafkaTls) | undefined;
  /** A detached JWS over exactly these bytes: who reads a topic cannot see who wrote to it. */
  readonly sign: (bytes: Uint8Array) => Promise<string>;
  readonly log: Logger;
  readonly clientId: string;
  /** How long a message may take until it is acknowledged. */
  readonly timeoutMilliseconds?: number;
  readonly maximumWaiting?: number;
}

export function kafkaChannel(options: KafkaChannelOptions): Channel {
  const { sign, bootstrapServers: shared, ...connection } = options;
  /** One for each set of servers, connected when it is first used. */
  const producers = new Map<string, KafkaProducer>();

  function producerFor(broker: BrokerAddress): KafkaProducer | undefined {
    const bootstrapServers = broker.kafka.bootstrapServers ?? shared ?? [];
    if (bootstrapServers.length === 0) return undefined;
    const name = [...bootstrapServers].sort().join();
    let producer = producers.get(name);
    if (producer === undefined) {
      producer = kafkaProducer({ ...connection, bootstrapServers });
      producers.set(name, producer);
    }
    return producer;
  }

  return {
    name: 'Kafka',
    available: (broker) => producerFor(broker)?.available(broker.kafka.requestTopic) ?? false,
    async send(event, broker, sendOptions) {
      const producer = producerFor(broker);
      if (producer === undefined) throw noServers(broker);
      const { requestTopic: topic } = broker.kafka;
      const value = Buffer.from(JSON.stringify(event));
      const signature = await sign(value).catch((cause: unknown) => {
        throw kafkaError('unavailable', `the message could not be signed (${describeFailure(cause)})`, cause);
      });
      const headers = requestHeaders(event, signature);
      await producer.send({ topic, key: event.data.resource.uid, value, headers }, sendOptions);
    },
    async close() {
      await Promise.all([...producers.values()].map((producer) => producer.close()));
    },
  };
}

/** The body says the same; headers can be read without it, and by tools that know only these. */
function requestHeaders(event: RequestEvent, signature: string): Record<string, string> {
  return {
    'content-type': 'application/cloudevents+json; charset=UTF-8',
    signature,
    ...(event.traceparent === undefined ? {} : { traceparent: event.traceparent }),
    ...(event.tracestate === undefined ? {} : { tracestate: event.tracestate }),
  };
}

function noServers(broker: BrokerAddress): ChannelError {
  return new ChannelError({
    channel: 'Kafka',
    failure: 'unavailable',
    message: `No Kafka is known for the broker ${broker.name}: set spec.kafka.bootstrapServers, or start kidp with the addresses of a cluster`,
  });
}
