/** The broker whose things are topics, on a real Kafka: requests and reports go through the same one. */
import { randomUUID } from 'node:crypto';
import { Admin } from '@platformatic/kafka';
import { exportJWK, generateKeyPair } from 'jose';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type BrokerEvent,
  brokerEventKinds,
  consume,
  encodeEvent,
  ensureTopics,
  type KafkaConsumer,
  type KafkaProducer,
  kafkaProducer,
  kafkaProvider,
  platformTopics,
  type RequestEvent,
  type RunningBroker,
  readEvent,
  type StatusReport,
  startBroker,
  verifyBroker,
} from '../../src/broker/index.ts';
import { topicAdmin } from '../../src/broker/reference/kafka/admin.ts';
import { silentLogger } from '../../src/runtime/index.ts';
import { tokenAccess } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { useKafka } from '../support/kafka.ts';
import { brokerKeys, log, type ResourceSketch, startTestPlatform, type TestPlatform } from './support/platform.ts';
import { startPretendBroker } from './support/pretend-broker.ts';

const name = uniqueName('kafka');
const requestTopic = `requests-${name}`;
const statusTopic = `status-${name}`;
const keys = await brokerKeys(name);
/** Of the conformance suite, which this broker believes too. */
const suiteKey = await makeKey();
let platform: TestPlatform;
let broker: RunningBroker;
let bootstrapServers: readonly string[];
let producer: KafkaProducer;
let consumer: KafkaConsumer;
let admin: Admin;
const events: BrokerEvent[] = [];

async function makeKey() {
  const pair = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  const more = { kid: randomUUID(), use: 'sig', alg: 'EdDSA' };
  return {
    privateKey: { ...(await exportJWK(pair.privateKey)), ...more },
    publicKey: { ...(await exportJWK(pair.publicKey)), ...more },
  };
}

async function start(): Promise<RunningBroker> {
  const provider = await kafkaProvider({
    broker: name,
    bootstrapServers,
    // It is given up in order here: a machine that stands still for a while must not take it away.
    leaseMilliseconds: 60_000,
    pollMilliseconds: 500,
    log,
  });
  return startBroker({
    name,
    provider,
    keys,
    platform: { jwks: () => ({ keys: [...platform.keys.jwks().keys, suiteKey.publicKey] }) },
    http: {},
    kafka: { bootstrapServers, requestTopic, statusTopic },
    registry: new Registry(),
    metricsAccess: tokenAccess(() => 'for-tests'),
    log,
  });
}

beforeAll(async () => {
  ({ bootstrapServers } = await useKafka());
  const topics = [requestTopic, statusTopic, `${requestTopic}-dead-letter`].map((each) => ({
    name: each,
    partitions: 2,
  }));
  await ensureTopics({ bootstrapServers, clientId: 'test', log: silentLogger, topics: [...platformTopics, ...topics] });
  platform = await startTestPlatform(name, keys);
  producer = kafkaProducer({ bootstrapServers, clientId: 'test', log: silentLogger });
  admin = new Admin({ clientId: 'test', bootstrapBrokers: [...bootstrapServers] });
  consumer = consume({
    bootstrapServers,
    clientId: 'test',
    log: silentLogger,
    groupId: `test-${name}`,
    topics: [statusTopic],
    deadLetterTopic: 'deployment-status-dead-letter',
    async handle({ value, headers }) {
      const read = readEvent(value, brokerEventKinds);
      if (!('event' in read)) throw new Error(read.problem.message);
      expect(headers.get('signature')).toMatch(/^[\w-]+\.\.[\w-]+$/);
      events.push(read.event);
    },
  });
  broker = await start();
  await Promise.all([broker.ready(), consumer.ready()]);
});
afterAll(async () => {
  await broker?.stop();
  await consumer?.stop();
  await producer?.close();
  await admin?.close();
  await platform?.stop();
});

const sketch = (spec: Record<string, unknown> = {}): ResourceSketch => ({
  kind: 'Topic',
  namespace: 'team',
  name: uniqueName('events'),
  uid: randomUUID(),
  spec,
});
const idOf = ({ uid, generation = 1, attempt = 0 }: ResourceSketch) => `${uid}/${generation}/${attempt}`;
const reportsOf = (deploymentId: string): StatusReport[] =>
  events.flatMap(({ data }) => ('phase' in data && data.deploymentId === deploymentId ? [data] : []));
const untilPhase = (deploymentId: string, phase: string) =>
  eventually(() => {
    const newest = reportsOf(deploymentId)
      .sort((a, b) => a.sequence - b.sequence)
      .at(-1);
    if (newest?.phase === phase) return newest;
    throw new Error(`${deploymentId} is not ${phase}: ${JSON.stringify(reportsOf(deploymentId))}`);
  });
async function send(event: RequestEvent, signature?: string): Promise<void> {
  const value = encodeEvent(event);
  const headers = { signature: signature ?? (await platform.keys.sign(value)) };
  await producer.send({ topic: requestTopic, key: event.data.resource.uid, value, headers });
}
/** Reports go to Kafka alone. */
const request = (resource: ResourceSketch) =>
  platform.request(resource, { replyTo: { statusTopic, encryptionKey: platform.keys.encryptionKey() } });
const deploy = async (resource: ResourceSketch, phase = 'ready') => {
  await send(request(resource));
  return untilPhase(idOf(resource), phase);
};
const configOf = async (topic: string, key: string) => {
  const [described] = await admin.describeConfigs({ resources: [{ resourceType: 2, resourceName: topic }] });
  return described?.configs.find((each) => each.name === key)?.value;
};
/** What the controller of Kafka has written down, its servers show a moment later. */
const untilConfig = (topic: string, key: string, matches: (value: string | null | undefined) => boolean) =>
  eventually(async () => {
    const value = await configOf(topic, key);
    if (!matches(value)) throw new Error(`${key} of ${topic} is ${value}`);
  });
const untilGone = (topic: string) => eventually(async () => expect(await admin.listTopics()).not.toContain(topic));
const setConfig = (topic: string, key: string, value: string) =>
  admin.incrementalAlterConfigs({
    resources: [{ resourceType: 2, resourceName: topic, configs: [{ name: key, value, configOperation: 0 }] }],
  });

describe('from request to report, through Kafka', () => {
  test('a Topic: created, grown and configured, set back, deleted', async () => {
    const topic = sketch({ partitions: 2, config: { 'retention.ms': 60_000, 'cleanup.policy': 'delete' } });
    const { credentials } = await deploy(topic);
    if (credentials === undefined || !('jwe' in credentials)) throw new Error('no connection');
    expect(await platform.keys.decrypt(credentials.jwe)).toMatchObject({ topic: topic.name, type: 'kafka' });
    await untilConfig(topic.name, 'retention.ms', (value) => value === '60000');

    const grown = { ...topic, generation: 2, spec: { partitions: 4, config: { 'cleanup.policy': 'compact' } } };
    expect((await deploy(grown)).outputs).toMatchObject({ partitions: '4', replication: '1' });
    await untilConfig(topic.name, 'cleanup.policy', (value) => value === 'compact');
    await untilConfig(topic.name, 'retention.ms', (value) => value !== '60000');

    await deploy({ ...topic, generation: 3, action: 'Delete' }, 'deleted');
    await untilGone(topic.name);
  });

  test('a queue is a topic that one group shares', async () => {
    const queue = sketch({ type: 'queue', queue: { retentionSeconds: 120 } });
    expect((await deploy(queue)).outputs).toMatchObject({ group: `${queue.name}.workers` });
    await untilConfig(queue.name, 'retention.ms', (value) => value === '120000');
  });

  test.each([
    {
      spec: { config: { 'no.such.setting': 'x' } },
      code: 'invalid-config',
      reason: 'a setting that Kafka does not know',
    },
    { spec: { replication: 3 }, code: 'invalid-replication-factor', reason: 'more servers than there are' },
    { spec: { type: 'queue', queue: { maxDeliveries: 3 } }, code: 'unsupported-queue-setting', reason: 'a promise' },
  ])('cannot be had: $reason', async ({ spec, code }) => {
    expect((await deploy(sketch(spec), 'failed')).error).toMatchObject({ class: 'permanent', code });
  });

  test('a topic that somebody else has is never taken, nor deleted', async () => {
    const topic = sketch();
    await admin.createTopics({ topics: [topic.name], partitions: 1, replicas: 1 });
    expect((await deploy(topic, 'failed')).error).toMatchObject({ class: 'permanent', code: 'name-taken' });
    await deploy({ ...topic, generation: 2, action: 'Delete' }, 'deleted');
    expect(await admin.listTopics()).toContain(topic.name);
  });

  test('drift is reported and repaired', async () => {
    const topic = sketch({ config: { 'retention.ms': '60000' } });
    await deploy(topic);
    await setConfig(topic.name, 'retention.ms', '1');
    expect((await untilPhase(idOf(topic), 'drifted')).message).toContain('retention.ms is 1, not 60000');
    const repaired = { ...topic, attempt: 1 };
    await deploy(repaired);
    await untilConfig(topic.name, 'retention.ms', (value) => value === '60000');
    await admin.deleteTopics({ topics: [topic.name] });
    expect((await untilPhase(idOf(repaired), 'drifted')).message).toContain('it was deleted');
  });
});

test('a topic that has as many partitions already has been grown: by the writer before, or the answer was lost', async () => {
  const own = topicAdmin({ bootstrapServers, clientId: name, log });
  const topic = uniqueName('grown');
  try {
    await own.create({ name: topic, partitions: 2, config: {} });
    await eventually(() => own.grow(topic, 3));
    await own.grow(topic, 3);
    await eventually(async () => expect((await own.read([topic])).get(topic)?.partitions).toBe(3));
  } finally {
    await own.close();
  }
});

test('a request that is not signed by the platform is put aside, and those for others are left alone', async () => {
  const forged = sketch();
  const stranger = await brokerKeys('kidp');
  await send(request(forged), await stranger.sign(encodeEvent(request(forged))));
  const other = sketch();
  await send(platform.request(other, { broker: 'another' }));
  // Of what only the other one knows nothing is put aside; of one partition, so that it comes before what is.
  await send({ ...platform.request(other, { broker: 'another' }), type: 'com.company.platform.later.v1' as never });
  await send({ ...request(other), type: 'com.company.platform.deployment.requested.v9' as never });
  await deploy(sketch());
  expect(reportsOf(idOf(other))).toEqual([]);
  // Two partitions are read side by side, and what is read may be read again.
  expect((await fetch(`${broker.url}/metrics`)).status).toBe(401);
  const headers = { authorization: 'Bearer for-tests' };
  const counted = async () => (await fetch(`${broker.url}/metrics`, { headers })).text();
  const refused = /^kidp_reference_broker_requests_refused_total\{channel="Kafka",reason="unknown-key"\} [1-9]\d*$/m;
  await eventually(async () => expect(await counted()).toMatch(refused));
  await eventually(async () => expect(await counted()).toContain('reason="unknown-version"'));
  expect(await counted()).not.toContain('reason="unknown-type"');
  expect(reportsOf(idOf(forged))).toEqual([]);
  expect(await admin.listTopics()).not.toContain(forged.name);
});

test('it passes the conformance suite, over HTTP and through Kafka', async () => {
  const kafka = { bootstrapServers, requestTopic, statusTopic };
  const results = await verifyBroker({
    url: broker.url ?? '',
    key: suiteKey.privateKey,
    kafka,
    timeoutMilliseconds: 180_000,
  });
  expect(results.filter(({ result }) => result === 'fail')).toEqual([]);
  expect(results.map(({ id }) => id)).toEqual(expect.arrayContaining(['kafka-deploy', 'kafka-forged', 'no-return']));
});

test('a broker that takes nothing from Kafka is found out', async () => {
  const strangers = await brokerKeys('deaf');
  const broken = await startPretendBroker('deaf', strangers, { jwks: 'http://127.0.0.1:9/' }, new Set(), strangers);
  try {
    const kafka = { bootstrapServers, requestTopic, statusTopic };
    const results = await verifyBroker({ url: broken.url, kafka, timeoutMilliseconds: 200 });
    const failed = results.filter(({ result }) => result === 'fail').map(({ id }) => id);
    expect(failed).toEqual(expect.arrayContaining(['kafka-deploy', 'kafka-forged']));
  } finally {
    await broken.stop();
    strangers.close();
  }
});

test('of two at once one writes; the other refuses over HTTP, and takes over with all that is known', async () => {
  const topic = sketch({ partitions: 1 });
  await deploy(topic);
  const second = await start();
  const next = { ...topic, generation: 2, spec: { partitions: 2 } };
  const refused = await platform.post(second.url ?? '', request(next));
  expect(refused).toMatchObject({ status: 503, body: { code: 'not-leading' } });
  await broker.stop();
  broker = second;
  await second.ready();
  await send(request(topic));
  await deploy(next);
  const { body } = await platform.get(`${second.url}/v1/deployments/${topic.uid}`);
  expect((body.ledger as object[]).length).toBe(2);
});
