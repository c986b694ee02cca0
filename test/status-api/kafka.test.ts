/**
 * Reports through a real Kafka: signed ones reach the sink in order, others the dead-letter topic with the reason, replay changes nothing,
 * and a broker whose keys are away holds up nobody else.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Broker } from '../../src/api/index.ts';
import {
  type BrokerEvent,
  brokerVerifier,
  consume,
  encodeEvent,
  findBroker,
  type IncomingMessage,
  type KafkaConsumer,
  type KafkaProducer,
  type KeyRing,
  kafkaProducer,
  memoryKeyStore,
  openKeyRing,
  type StatusEvent,
  statusConsumer,
  statusEvent,
} from '../../src/broker/index.ts';
import { silentLogger } from '../../src/runtime/index.ts';
import { unhurried } from '../kafka/support/messages.ts';
import { uniqueName } from '../support/cluster.ts';
import { type SharedKafka, useKafka } from '../support/kafka.ts';

let kafka: SharedKafka;
let producer: KafkaProducer;
let azure: KeyRing;
let aws: KeyRing;
let brokers: Broker[];
const consumers: KafkaConsumer[] = [];

beforeAll(async () => {
  kafka = await useKafka();
  producer = kafkaProducer(connection());
  azure = await openKeyRing(memoryKeyStore(), { issuer: 'azure', subject: 'azure' });
  aws = await openKeyRing(memoryKeyStore(), { issuer: 'aws', subject: 'aws' });
  brokers = [azure, aws].map(
    (ring) =>
      ({
        metadata: { name: ring.issuer },
        spec: { channel: 'Kafka', identity: { publicKeys: ring.jwks().keys.map((key) => JSON.stringify(key)) } },
      }) as unknown as Broker,
  );
});
afterAll(async () => {
  await Promise.all(consumers.map((consumer) => consumer.stop()));
  await producer.close();
  azure.close();
  aws.close();
});

const connection = () => ({ bootstrapServers: kafka.bootstrapServers, clientId: 'test', log: silentLogger });

const report = (uid: string, sequence: number, broker = 'azure'): StatusEvent =>
  statusEvent({
    broker,
    deploymentId: `${uid}/1/0`,
    resource: { apiVersion: 'platform.company.com/v1', kind: 'Cache', namespace: 'team', name: 'sessions', uid },
    sequence,
    phase: 'deploying',
  });

test('what is signed is taken, what is not is put aside, and what is replayed has no effect', async () => {
  const topic = await kafka.makeTopic('status');
  const deadLetterTopic = await kafka.makeTopic('status-dead-letter', { partitions: 1 });
  const newest = new Map<string, number>();
  const outcomes: string[] = [];
  const take = async (event: BrokerEvent) => {
    const { deploymentId, sequence } = event.data as StatusEvent['data'];
    const before = newest.get(deploymentId) ?? -1;
    const result = sequence > before ? ('applied' as const) : ('duplicate' as const);
    newest.set(deploymentId, Math.max(before, sequence));
    outcomes.push(`${event.id} ${result}`);
    return { result };
  };
  const start = (fromBeginning: boolean) => {
    const consumer = statusConsumer({
      consume: (handle) =>
        consume({
          ...connection(),
          groupId,
          topics: [topic],
          deadLetterTopic,
          fromBeginning,
          handle,
          ...unhurried,
        }),
      verifier: brokerVerifier({
        broker: (identity) => findBroker(brokers, identity),
        audience: 'kidp',
        log: silentLogger,
      }),
      sink: { receive: take },
      log: silentLogger,
    });
    consumers.push(consumer);
    return consumer;
  };
  const groupId = uniqueName('group');
  const send = (value: Buffer, signature: string | undefined) =>
    producer.send({ topic, key: 'u', value, headers: signature === undefined ? {} : { signature } });
  const signed = async (event: StatusEvent, ring = azure) => {
    const value = encodeEvent(event);
    await send(value, await ring.sign(value));
  };

  await signed(report('u', 1));
  await send(encodeEvent(report('u', 100)), undefined);
  await send(encodeEvent(report('u', 101)), await azure.sign(encodeEvent(report('u', 1))));
  await signed(report('u', 102), aws);
  const garbage = Buffer.from('{"id":1,"id":2}');
  await send(garbage, await azure.sign(garbage));
  await signed(report('u', 2));

  const first = start(false);
  await expect.poll(() => outcomes).toEqual(['u/1/0/1 applied', 'u/1/0/2 applied']);
  await first.stop();

  const dead: IncomingMessage[] = [];
  const reader = consume({
    ...connection(),
    groupId: uniqueName('group'),
    topics: [deadLetterTopic],
    deadLetterTopic,
    ...unhurried,
    handle: async (message) => void dead.push(message),
  });
  consumers.push(reader);
  await expect.poll(() => dead.length).toBe(4);
  expect(dead.map(({ headers }) => headers.get('code'))).toEqual(['malformed', 'forged', 'wrong-broker', 'malformed']);
  expect(dead.at(-1)?.value).toEqual(garbage);

  start(true);
  await expect.poll(() => outcomes.slice(2)).toEqual(['u/1/0/1 duplicate', 'u/1/0/2 duplicate']);
});

test('a thousand reports of a broker whose keys are away hold up nobody else, and are known to be missing', async () => {
  const topic = await kafka.makeTopic('status');
  const deadLetterTopic = await kafka.makeTopic('status-dead-letter', { partitions: 1 });
  const away = { metadata: { name: 'azure' }, spec: { identity: { jwksUri: 'https://away.example' } } };
  const taken: string[] = [];
  const missed = new Set<string>();
  const signed = async (event: StatusEvent, ring: KeyRing) => {
    const value = encodeEvent(event);
    await producer.send({ topic, key: event.data.resource.uid, value, headers: { signature: await ring.sign(value) } });
  };
  const count = 1_200;
  await Promise.all(Array.from({ length: count }, (_, index) => signed(report(`u${index}`, 1), azure)));
  await signed(report('mine', 1, 'aws'), aws);
  const consumer = statusConsumer({
    consume: (handle) =>
      consume({
        ...connection(),
        groupId: uniqueName('group'),
        topics: [topic],
        deadLetterTopic,
        handle,
        ...unhurried,
      }),
    verifier: brokerVerifier({
      broker: (identity) => findBroker([away as unknown as Broker, ...brokers.slice(1)], identity),
      audience: 'kidp',
      fetch: () => Promise.reject(new Error('nobody there')),
      log: silentLogger,
    }),
    sink: {
      async receive({ id }) {
        taken.push(id);
        return { result: 'applied' };
      },
      async recordMissed({ id }, reason) {
        expect(reason).toBe('keys-unavailable');
        missed.add(id);
      },
    },
    log: silentLogger,
  });
  consumers.push(consumer);
  await expect.poll(() => taken).toEqual(['mine/1/0/1']);
  // A hundred may still wait.
  await expect.poll(() => missed.size).toBeGreaterThanOrEqual(count - 100);
});
