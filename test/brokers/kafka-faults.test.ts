/**
 * The broker whose things are topics, on a Kafka of its own: while that and it itself are killed nothing is lost and nothing done twice,
 * and on a second server it keeps the copies that were asked for.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Admin, alterPartitionReassignmentsV0 } from '@platformatic/kafka';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fileKeyStore, type KeyRing, kafkaProvider, openKeyRing, startBroker } from '../../src/broker/index.ts';
import { listReassignments } from '../../src/broker/reference/kafka/reassignment.ts';
import { freePort } from '../../src/controlplane/ports.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { joinKafka, type Kafka, startKafka } from '../support/kafka.ts';
import { log, type ResourceSketch, startTestPlatform, type TestPlatform } from './support/platform.ts';
import { endBrokerProcesses, startBrokerProcess } from './support/process.ts';

const name = uniqueName('kafka');
let directory: string;
let kafka: Kafka;
let second: Kafka | undefined;
let keys: KeyRing;
let platform: TestPlatform;
endBrokerProcesses();

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'kidp-broker-'));
  kafka = await startKafka({ directory: join(directory, 'kafka') });
  keys = await openKeyRing(fileKeyStore(join(directory, 'keys.json')), { issuer: name, subject: name });
  platform = await startTestPlatform(name, keys);
});
afterAll(async () => {
  keys?.close();
  await platform?.stop();
  await second?.kill();
  await second?.stop();
  await kafka?.stop();
  rmSync(directory, { recursive: true, force: true });
});

test('Kafka and broker are killed while topics are made, changed and deleted', async () => {
  const port = await freePort();
  const words = [
    ...[
      'kafka',
      '--name',
      name,
      '--topics-kafka',
      kafka.bootstrapServers.join(),
      '--keys',
      join(directory, 'keys.json'),
    ],
    ...['--platform-keys', platform.statusUrl.replace('/v1/status', '/.well-known/jwks.json')],
    ...[
      '--status-url',
      platform.statusUrl,
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      '--lease',
      '10',
      '--debug-ledger',
    ],
  ];
  let broker = await startBrokerProcess(words);
  const url = `http://127.0.0.1:${port}`;
  const uids = Array.from({ length: 8 }, () => randomUUID());
  /** As the platform's outbox does. */
  const delivered = (uid: string, generation: number, action: 'Deploy' | 'Delete') =>
    eventually(
      async () => {
        const spec = { partitions: generation };
        const sketch = {
          kind: 'Topic' as const,
          namespace: 'team',
          name: `t-${uid.slice(0, 8)}`,
          uid,
          generation,
          action,
          spec,
        };
        return (await platform.post(url, platform.request(sketch))).status === 202;
      },
      // Kafka is killed and the broker too meanwhile, and each takes as long to start as it may.
      { every: 200, within: 400_000 },
    );
  const work = Promise.all(
    uids.map(async (uid, index) => {
      await delivered(uid, 1, 'Deploy');
      await delivered(uid, 2, 'Deploy');
      if (index % 2 === 0) await delivered(uid, 3, 'Delete');
    }),
  );
  await broker.whileRunning(eventually(() => platform.events.some(({ data }) => 'phase' in data)));
  await kafka.kill();
  await kafka.start();
  await broker.kill('SIGKILL');
  broker = await startBrokerProcess(words);
  await broker.whileRunning(work);
  for (const [index, uid] of uids.entries()) {
    const [generation, phase] = index % 2 === 0 ? [3, 'deleted'] : [2, 'ready'];
    await broker.whileRunning(platform.untilPhase(`${uid}/${generation}/0`, phase));
  }
  // One that lost the right to write begins again, and knows its records a moment later.
  const inLedger = async () => {
    const { body } = await platform.get(`${url}/v1/ledger`);
    const records = body.records as { uid: string; ledger: { deploymentId: string }[] }[];
    for (const [index, uid] of uids.entries()) {
      const claims = records.find((each) => each.uid === uid)?.ledger.map(({ deploymentId }) => deploymentId);
      expect(claims).toEqual((index % 2 === 0 ? [1, 2, 3] : [1, 2]).map((generation) => `${uid}/${generation}/0`));
    }
  };
  await broker.whileRunning(eventually(inLedger));
  expect(await broker.kill('SIGTERM')).toBe(0);
});

test('each message is kept on as many servers as asked for: more, fewer, more than there are, and what was changed by hand', async () => {
  const { bootstrapServers } = kafka;
  second = await joinKafka(kafka, join(directory, 'second'), 2);
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: [...bootstrapServers] });
  const broker = await startBroker({
    name,
    provider: await kafkaProvider({
      broker: name,
      bootstrapServers,
      leaseMilliseconds: 60_000,
      pollMilliseconds: 500,
      log,
    }),
    keys,
    platform: { jwks: () => platform.keys.jwks(), statusUrl: platform.statusUrl },
    http: {},
    registry: new Registry(),
    log,
  });
  const topic: ResourceSketch = { kind: 'Topic', namespace: 'team', name: 'kept', uid: randomUUID() };
  const idOf = ({ uid, generation = 1, attempt = 0 }: ResourceSketch) => `${uid}/${generation}/${attempt}`;
  const ask = async (resource: ResourceSketch, phase: string) => {
    expect((await platform.post(broker.url ?? '', platform.request(resource))).status).toBe(202);
    return platform.untilPhase(idOf(resource), phase);
  };
  /** Of each partition those that have all messages. */
  const inSync = async () => {
    const { topics } = await admin.metadata({ topics: [topic.name], forceUpdate: true });
    return topics.get(topic.name)?.partitions.map(({ replicas, isr }) => replicas.filter((id) => isr.includes(id)));
  };
  const copies = async () => (await inSync())?.map((servers) => servers.length);
  const reassign = async (...replicas: number[]) => {
    const [connection] = (await admin.connectToBrokers([1])).values();
    if (connection === undefined) throw new Error('no connection');
    const partitions = [{ partitionIndex: 1, replicas }];
    await alterPartitionReassignmentsV0.api.async(connection, 10_000, true, [{ name: topic.name, partitions }]);
  };
  try {
    await broker.ready();
    const deploy = (generation: number, spec: object, phase = 'ready') =>
      ask({ ...topic, generation, spec: { ...spec } }, phase);
    await deploy(1, { partitions: 2, replication: 1 });
    // Together with a third partition, which Kafka gives as many servers as the others have in that moment.
    expect((await deploy(2, { partitions: 3, replication: 2 })).outputs).toMatchObject({ replication: '2' });
    // Nothing is called ready that is still being copied. What its controller has decided, servers of Kafka show a moment later.
    expect((await listReassignments(admin, 1)).get(topic.name)).toBeUndefined();
    await eventually(async () => expect(await copies()).toEqual([2, 2, 2]));

    const refused = await deploy(3, { partitions: 3, replication: 3 }, 'failed');
    expect(refused.error).toMatchObject({ class: 'permanent', code: 'invalid-replication-factor' });
    expect(refused.message).toContain('needs 3 Kafka servers, but 2 are up');
    await deploy(4, { partitions: 3, replication: 2 });

    await reassign(2);
    expect((await platform.untilPhase(idOf({ ...topic, generation: 4 }), 'drifted')).message).toContain(
      'some messages are on 1 servers, not 2',
    );
    await ask({ ...topic, generation: 4, attempt: 1, spec: { partitions: 3, replication: 2 } }, 'ready');
    await eventually(async () => expect((await inSync())?.[1]).toEqual([2, 1]));

    expect((await deploy(5, { partitions: 3, replication: 1 })).outputs).toMatchObject({ replication: '1' });
    await eventually(async () => expect(await copies()).toEqual([1, 1, 1]));
  } finally {
    await broker.stop();
    await admin.close();
  }
});
