/** The primary channel to a broker: its request topic, on its own Kafka cluster or on the shared one. */
import type { Logger } from '../../runtime/index.ts';
import type { AddressGuard } from '../../runtime/internal.ts';
import { type BrokerAddress, type Channel, ChannelError } from '../channel.ts';
import type { RequestEvent } from '../messages.ts';
import type { KafkaTls } from './connection.ts';
import { describeFailure, kafkaError } from './failure.ts';
import { type KafkaProducer, kafkaProducer } from './producer.ts';

interface KafkaChannelOptions {
  /** The shared cluster, for brokers that name no cluster of their own. */
  readonly bootstrapServers?: readonly string[];
  /** Called for each new connection. */
  readonly tls?: (() => KafkaTls) | undefined;
  /** Signs exactly these bytes with a detached JWS: a consumer of a topic cannot see who wrote to it. */
  readonly sign: (bytes: Uint8Array) => Promise<string>;
  readonly log: Logger;
  readonly clientId: string;
  /** How long a message may take until it is acknowledged. */
  readonly timeoutMilliseconds?: number;
  readonly maximumWaiting?: number;
  /** The guard of connections to clusters that Brokers name. The shared cluster is the administrator's own. */
  readonly guard?: AddressGuard | undefined;
}

export function kafkaChannel(options: KafkaChannelOptions): Channel {
  const { sign, bootstrapServers: shared, guard, ...connection } = options;
  const nameOf = (servers: readonly string[]) => [...servers].sort().join();
  /** One producer for each set of servers, connected on first use. */
  const producers = new Map<string, KafkaProducer>();

  function producerFor(broker: BrokerAddress): KafkaProducer | undefined {
    const bootstrapServers = broker.kafka.bootstrapServers ?? shared ?? [];
    if (bootstrapServers.length === 0) return undefined;
    const name = nameOf(bootstrapServers);
    let producer = producers.get(name);
    if (producer === undefined) {
      const isShared = shared !== undefined && name === nameOf(shared);
      producer = kafkaProducer({ ...connection, bootstrapServers, guard: isShared ? undefined : guard });
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
        throw kafkaError('unavailable', `the message cannot be signed (${describeFailure(cause)})`, cause);
      });
      const headers = requestHeaders(event, signature);
      await producer.send({ topic, key: event.data.resource.uid, value, headers }, sendOptions);
    },
    async close() {
      await Promise.all([...producers.values()].map((producer) => producer.close()));
    },
  };
}

/** Headers of a request. They repeat what the body says, for tools that do not parse it. */
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
    message: `no Kafka cluster is configured for Broker ${broker.name}: set spec.kafka.bootstrapServers, or start kidp with the addresses of a cluster`,
  });
}
