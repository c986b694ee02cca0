/** The broker whose things are topics, while its Kafka and it itself are killed: nothing is lost, nothing done twice. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fileKeyStore, type KeyRing, openKeyRing } from '../../src/broker/index.ts';
import { freePort } from '../../src/controlplane/ports.ts';
import { eventually } from '../../src/runtime/testing.ts';
import { uniqueName } from '../support/cluster.ts';
import { type Kafka, startKafka } from '../support/kafka.ts';
import { startTestPlatform, type TestPlatform } from './support/platform.ts';
import { endBrokerProcesses, startBrokerProcess } from './support/process.ts';

const name = uniqueName('kafka');
let directory: string;
let kafka: Kafka;
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
  await eventually(() => platform.events.some(({ data }) => 'phase' in data));
  await kafka.kill();
  await kafka.start();
  await broker.kill('SIGKILL');
  broker = await startBrokerProcess(words);
  await work;
  for (const [index, uid] of uids.entries()) {
    const [generation, phase] = index % 2 === 0 ? [3, 'deleted'] : [2, 'ready'];
    await platform.untilPhase(`${uid}/${generation}/0`, phase);
  }
  // One that lost the right to write begins anew, and knows its records a moment later.
  await eventually(async () => {
    const { body } = await platform.get(`${url}/v1/ledger`);
    const records = body.records as { uid: string; ledger: { deploymentId: string }[] }[];
    for (const [index, uid] of uids.entries()) {
      const claims = records.find((each) => each.uid === uid)?.ledger.map(({ deploymentId }) => deploymentId);
      expect(claims).toEqual((index % 2 === 0 ? [1, 2, 3] : [1, 2]).map((generation) => `${uid}/${generation}/0`));
    }
  });
  expect(await broker.kill('SIGTERM')).toBe(0);
});
