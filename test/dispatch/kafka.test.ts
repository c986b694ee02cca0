/**
 * Dispatch end to end through a real Kafka with mutual TLS: the normal case, rotating certificates, an unavailable broker and an
 * unavailable Kafka. The ledgers of the brokers show whether every deployment was executed once and in order.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Admin } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Broker, broker as brokerKind } from '../../src/api/index.ts';
import { type KafkaTls, memoryKeyStore, openKeyRing } from '../../src/broker/index.ts';
import type { UnknownObject } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type Relay, startRelay } from '../kafka/support/relay.ts';
import { type Kafka, startKafka } from '../support/kafka.ts';
import { lifecycleTests, live } from './support/lifecycle.ts';
import {
  conditionOf,
  coreSecrets,
  isReady,
  ledgerFaults,
  ledgerOf,
  namespace,
  Objects,
  patient,
  type Stage,
  startStage,
} from './support/stage.ts';

let kafka: Kafka;
let relay: Relay;
let stage: Stage;
let objects: Objects;
/** The client certificate of all clients, read at each connection. */
let certificate: KafkaTls;

beforeAll(async () => {
  relay = await startRelay();
  // Clients connect through the relay.
  kafka = await startKafka({ tls: true, settings: { 'advertised.listeners': `CLIENT://127.0.0.1:${relay.port}` } });
  relay.to(Number(kafka.bootstrapServers[0]?.split(':')[1]));
  certificate = kafka.clientCertificate('kidp');
  const address = { bootstrapServers: [`127.0.0.1:${relay.port}`], tls: () => certificate };
  stage = await startStage({ kafka: address, topics: address });
  objects = new Objects(stage);
});
afterAll(async () => {
  await stage?.stop();
  await kafka?.stop();
  await relay?.stop();
});

lifecycleTests(() => stage, 'Kafka');

test('urgent requests are sent over HTTP although Kafka is available, and over Kafka again when they are no longer urgent', async () => {
  const { metadata } = await objects.create('Secret', 'urgent', { urgent: true });
  await objects.ready('Secret', 'urgent');
  await objects.change('Secret', 'urgent', { urgent: false });
  await objects.ready('Secret', 'urgent');
  const channels = (who: string, message: string) =>
    stage.lines
      .filter((line) => line.who === who && line.message === message)
      .flatMap(({ correlationId, channel }) => {
        const generation = [1, 2].find((each) => correlationId === `${metadata.uid}/${each}/1`);
        return generation === undefined ? [] : [`${generation} by ${channel}`];
      });
  await eventually(() => {
    for (const [who, message] of [
      ['platform', 'message acknowledged'],
      [stage.cluster.name, 'request received'],
    ] as const) {
      expect([...new Set(channels(who, message))], message).toEqual(['1 by HTTP', '2 by Kafka']);
    }
  }, patient);
});

test('a silent broker: the phase is unknown, with an event; the broker is queried and responds after its restart', async () => {
  await stage.stopPlatform();
  await stage.startPlatform({ answerMilliseconds: 1_000 });
  await stage.cluster.stop();
  await objects.create('Secret', 'silent');
  const unknown = await objects.until('Secret', 'silent', ({ status }) => status?.phase === 'unknown');
  expect(conditionOf(unknown, 'Ready')).toMatchObject({ status: 'Unknown', reason: 'NoAnswer' });
  expect(conditionOf(unknown, 'Ready')?.message).toContain('kubectl get brokers');
  await eventually(async () => (await objects.events('silent')).some(({ reason }) => reason === 'NoAnswer'), patient);
  await stage.cluster.start();
  const ready = await objects.ready('Secret', 'silent');
  expect(ready.status?.deploymentId).toBe(`${ready.metadata.uid}/1/1`);
  // The query follows its request in the topic, and can be read after the object is ready.
  await eventually(
    () =>
      stage.lines.some(
        ({ who, message, action, deploymentId }) =>
          who === stage.cluster.name &&
          message === 'request received' &&
          action === 'Query' &&
          deploymentId === ready.status?.deploymentId,
      ),
    patient,
  );
  expect(ledgerOf(stage.cluster, ready.metadata.uid)).toHaveLength(1);
  await stage.stopPlatform();
  await stage.startPlatform();
});

test('reports that were rejected (unknown key, no Broker) are queried once the cause is fixed', async () => {
  await stage.stopPlatform();
  await stage.startPlatform({ answerMilliseconds: 10_000 });
  await objects.create('Secret', 'refused');
  const { uid } = (await objects.ready('Secret', 'refused')).metadata;
  const { client, cluster } = stage;
  const { apiVersion, kind, spec } = await client.get<Broker>(brokerKind.resource, { name: cluster.name });
  const apply = (identity: unknown = spec.identity) =>
    client.apply(
      brokerKind.resource,
      { apiVersion, kind, metadata: { name: cluster.name }, spec: { ...spec, identity } } as UnknownObject,
      { fieldManager: 'test', force: true },
    );
  // Keys of a stranger: the signing key of the broker is not among them.
  const stranger = await openKeyRing(memoryKeyStore(), { issuer: 'stranger', subject: 'stranger' });
  const publicKeys = stranger.jwks().keys.map((key) => JSON.stringify(key));
  stranger.close();
  // The Broker is in use, so its deletion is confirmed.
  const remove = async () => {
    const { metadata } = await client.get(brokerKind.resource, { name: cluster.name });
    const annotations = { 'platform.company.com/confirm-delete': metadata.uid };
    const body = { metadata: { annotations } };
    await client.patch(brokerKind.resource, { name: cluster.name }, { type: 'merge', body });
    await client.delete(brokerKind.resource, { name: cluster.name });
  };
  const faults = [() => apply({ publicKeys }), remove];
  for (const [index, fault] of faults.entries()) {
    const before = stage.lines.length;
    await fault();
    // The platform has observed the change: a heartbeat is rejected.
    await eventually(
      () => stage.lines.slice(before).some(({ message }) => message === 'broker identity rejected'),
      patient,
    );
    await client.delete(coreSecrets, { namespace, name: 'refused' });
    // Kafka has acknowledged the report, so the broker does not send it again.
    await eventually(() => {
      const record = cluster.records().find((each) => each.uid === uid);
      if (record?.acknowledged === record?.sequence && record?.report.phase === 'drifted') return;
      throw new Error(`not reported yet: ${JSON.stringify(record)}`);
    }, patient);
    const lost = await objects.until('Secret', 'refused', ({ status }) => status?.awaiting !== undefined);
    expect(lost.status).toMatchObject({ phase: 'ready', deploymentId: `${uid}/1/${index + 1}` });
    await apply();
    await objects.until('Secret', 'refused', (o) => isReady(o) && o.status?.deploymentId === `${uid}/1/${index + 2}`);
    expect(Object.keys((await objects.secret('refused')) ?? {})).toContain('token');
    expect((await objects.get('Secret', 'refused')).status?.awaiting).toBeUndefined();
  }
  await eventually(async () => {
    const refusals = (await objects.events('refused')).filter(({ reason }) => reason === 'ReportRefused');
    expect(refusals.map(({ note }) => note).join()).toContain('(unknown-key)');
  }, patient);
  await stage.stopPlatform();
  await stage.startPlatform();
});

test('certificates that rotate every other second, under load: nothing is lost, nothing is done twice', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `rotated-${index}`);
  const kindOf = (name: string) => (Number(name.split('-')[1]) % 4 === 0 ? 'Topic' : 'Secret');
  const before = relay.connections;
  let rotating = true;
  const rotation = (async () => {
    while (rotating) {
      certificate = kafka.clientCertificate('kidp', { validMilliseconds: 60_000 });
      relay.cut();
      await sleep(2_000);
    }
  })();
  try {
    for (const name of names) {
      await objects.create(kindOf(name), name);
      await sleep(100);
    }
    for (const name of names) await objects.ready(kindOf(name), name);
    await Promise.all(names.map((name) => objects.change(kindOf(name), name, { costTags: { again: 'yes' } })));
    for (const name of names) await objects.ready(kindOf(name), name);
    // A machine that is quick may be done before there were enough of them.
    await eventually(() => relay.connections > before + 10, patient);
  } finally {
    rotating = false;
    await rotation;
    certificate = kafka.clientCertificate('kidp');
  }
  for (const name of names) {
    const { metadata, status } = await objects.get(kindOf(name), name);
    const broker = kindOf(name) === 'Topic' ? stage.topics : stage.cluster;
    expect(status?.deploymentId).toBe(`${metadata.uid}/2/1`);
    expect(ledgerOf(broker, metadata.uid).map(({ deploymentId }) => deploymentId)).toEqual([
      `${metadata.uid}/1/1`,
      `${metadata.uid}/2/1`,
    ]);
  }
});

test('brokers that read all requests again from the beginning carry out nothing again', async () => {
  const brokers = [stage.cluster, stage.topics];
  const done = () =>
    brokers.map((broker) => new Map(broker.records().map(({ uid, state, ledger }) => [uid, { state, ledger }])));
  const taken = (since = 0) =>
    stage.lines
      .slice(since)
      .filter(
        ({ message, channel, action }) => message === 'request received' && channel === 'Kafka' && action !== 'Query',
      );
  const before = done();
  for (const broker of brokers) await broker.stop();
  const orders = new Set(taken().map(({ deploymentId }) => deploymentId));
  expect(orders.size).toBeGreaterThan(80);
  // Where a group has committed nothing, it begins at the beginning.
  const admin = new Admin({
    clientId: 'test',
    bootstrapBrokers: [`127.0.0.1:${relay.port}`],
    tls: { ...certificate },
  });
  const groups = brokers.map(({ name }) => `kidp-broker-${name}`);
  await eventually(() => admin.deleteGroups({ groups }), patient);
  await admin.close();
  const since = stage.lines.length;
  for (const broker of brokers) await broker.start();
  await eventually(() => {
    const again = new Set(taken(since).map(({ deploymentId }) => deploymentId));
    expect([...orders].filter((deploymentId) => !again.has(deploymentId))).toEqual([]);
  }, patient);
  expect(taken(since).filter(({ outcome }) => outcome === 'accepted')).toEqual([]);
  expect(done()).toEqual(before);
});

describe('Kafka is unavailable', () => {
  test('everything is sent over HTTP; after the restart nothing is repeated, and Kafka is used again', async () => {
    await kafka.kill();
    const kinds = ['Database', 'Service', 'Cache', 'Secret'];
    await Promise.all(kinds.map((kind) => live(stage, kind, 'HTTP', `away-${kind.toLowerCase()}`)));
    const done = stage.cluster.records().map(({ uid, ledger }) => [uid, ledger.length]);
    await kafka.start();
    // It keeps its records in Kafka, and ends where it cannot: somebody starts it again.
    await stage.topics.stop();
    await stage.topics.start();
    await eventually(async () => {
      const name = `back-${Date.now()}`;
      const { metadata } = await objects.create('Secret', name);
      await objects.ready('Secret', name);
      const sent = stage.lines.find(
        ({ who, message, uid }) => who === 'platform' && message === 'message acknowledged' && uid === metadata.uid,
      );
      expect(sent?.channel).toBe('Kafka');
    }, patient);
    const now = new Map(stage.cluster.records().map(({ uid, ledger }) => [uid, ledger.length]));
    expect(done.map(([uid]) => [uid, now.get(String(uid))])).toEqual(done);
    expect(ledgerFaults(stage.cluster, stage.topics)).toEqual([]);
    await objects.create('Topic', 'back');
    expect(isReady(await objects.ready('Topic', 'back'))).toBe(true);
  });
});
