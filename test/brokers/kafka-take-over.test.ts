/** Two brokers of one Kafka: one takes over the topics of the other, and removes them. */
import { randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kafkaProvider, startBroker } from '../../src/broker/index.ts';
import { type TopicAdmin, topicAdmin } from '../../src/broker/reference/kafka/admin.ts';
import { silentLogger } from '../../src/runtime/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { useKafka } from '../support/kafka.ts';
import { brokerKeys, log, type ResourceSketch, startTestPlatform } from './support/platform.ts';

let bootstrapServers: readonly string[];
let admin: TopicAdmin;
let old: Awaited<ReturnType<typeof start>>;
let next: Awaited<ReturnType<typeof start>>;

async function start() {
  const name = uniqueName('kafka');
  const keys = await brokerKeys(name);
  const platform = await startTestPlatform(name, keys);
  const running = await startBroker({
    name,
    provider: await kafkaProvider({ broker: name, bootstrapServers, leaseMilliseconds: 6_000, log }),
    keys,
    platform: { jwks: () => platform.keys.jwks(), statusUrl: platform.statusUrl },
    http: {},
    registry: new Registry(),
    log,
  });
  await running.ready();
  return {
    name,
    async ask(resource: ResourceSketch, phase: string, formerBrokers: readonly string[] = []) {
      const { uid, generation = 1, attempt = 0 } = resource;
      const { body } = await platform.post(running.url ?? '', platform.request(resource, { formerBrokers }));
      expect(body.outcome).toBe('accepted');
      return platform.untilPhase(`${uid}/${generation}/${attempt}`, phase);
    },
    async stop() {
      await running.stop();
      await platform.stop();
    },
  };
}

beforeAll(async () => {
  ({ bootstrapServers } = await useKafka());
  admin = topicAdmin({ bootstrapServers, clientId: 'test', log: silentLogger });
  [old, next] = await Promise.all([start(), start()]);
});
afterAll(async () => {
  await old?.stop();
  await next?.stop();
  await admin?.close();
});

const sketch = (spec: Record<string, unknown> = {}): ResourceSketch => ({
  kind: 'Topic',
  namespace: 'team',
  name: uniqueName('events'),
  uid: randomUUID(),
  spec,
});

test('a topic of another broker is maintained and removed', async () => {
  const topic = sketch({ config: { 'retention.ms': '60000' } });
  await old.ask(topic, 'ready');
  const taken = { ...topic, attempt: 1, spec: { partitions: 2 } };
  expect((await next.ask(taken, 'ready', [old.name])).outputs).toMatchObject({ topic: topic.name, partitions: '2' });
  // The setting of the former deployment is no longer requested.
  expect((await admin.read([topic.name])).get(topic.name)?.config['retention.ms']).not.toBe('60000');
  await next.ask({ ...topic, generation: 2, action: 'Delete' }, 'deleted', [old.name]);
  expect(await admin.exists(topic.name)).toBe(false);
});

test('a topic of another broker is removed by a broker that never deployed it', async () => {
  const topic = sketch();
  await old.ask(topic, 'ready');
  await next.ask({ ...topic, generation: 2, action: 'Delete' }, 'deleted', [old.name]);
  expect(await admin.exists(topic.name)).toBe(false);
});

test('a topic of another broker elsewhere is neither reported as deleted nor created again', async () => {
  const topic = sketch();
  const elsewhere = [uniqueName('elsewhere')];
  const unseen = { class: 'permanent', code: 'former-unseen' };
  expect((await next.ask(topic, 'failed', elsewhere)).error).toMatchObject(unseen);
  expect(await admin.exists(topic.name)).toBe(false);
  const gone = { ...topic, generation: 2, action: 'Delete' as const };
  expect((await next.ask(gone, 'failed', elsewhere)).error).toMatchObject(unseen);
});
