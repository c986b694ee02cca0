/** `kidp broker` as a program: it passes its own conformance suite, and being killed at any moment loses and repeats nothing. */
import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import { afterAll, expect, test } from 'vitest';
import { type KeyRing, openKeyRing, secretKeyStore } from '../../src/broker/index.ts';
import { declareBroker } from '../../src/cli/broker/command.ts';
import { freePort } from '../../src/controlplane/ports.ts';
import { connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';
import { startTestPlatform, type TestPlatform } from './support/platform.ts';
import { type BrokerProcess, endBrokerProcesses, startBrokerProcess } from './support/process.ts';

const cluster = sharedCluster();
const client = connect(loadKubeconfig({ file: cluster.kubeconfig }));
endBrokerProcesses();

afterAll(async () => {
  await client.close();
});

const inTime = { within: 400_000 };

const startProcess = (flags: readonly string[]): Promise<BrokerProcess> =>
  startBrokerProcess(['kubernetes', '--kubeconfig', cluster.kubeconfig, '--host', '127.0.0.1', ...flags]);

async function runBrokerCommand(words: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const written = { out: '', err: '' };
  let code = -1;
  const command = new Command('broker').exitOverride();
  const streams = {
    out: { write: (text: string) => (written.out += text) },
    err: { write: (text: string) => (written.err += text) },
  };
  declareBroker(command, (result) => (code = result), streams as never);
  await command.parseAsync([...words], { from: 'user' });
  return { code, ...written };
}

test('passes the conformance suite and shuts down cleanly', async () => {
  const [port, name] = [await freePort(), uniqueName('verified')];
  const broker = await startProcess([
    ...['--name', name, '--namespace', uniqueName('kidp-brokers'), '--port', '0', '--lease', '60'],
    ...['--platform-keys', `http://127.0.0.1:${port}/.well-known/jwks.json`],
    ...['--status-url', `http://127.0.0.1:${port}/v1/status`],
  ]);
  const namespace = uniqueName('conformance');
  const words = ['verify', broker.url, '--listen', `127.0.0.1:${port}`, '--namespace', namespace, '-o', 'json'];
  const { code, out } = await broker.whileRunning(runBrokerCommand(words));
  const { results } = JSON.parse(out) as { results: { id: string; result: string; message?: string }[] };
  expect(results.filter(({ result }) => result === 'fail')).toEqual([]);
  expect(results.length).toBeGreaterThan(30);
  expect(code).toBe(0);
  expect(await broker.kill('SIGTERM')).toBe(0);
});

test('executes every request once and in order although it is killed repeatedly', async () => {
  const [name, recordNamespace] = [uniqueName('killed'), uniqueName('kidp-brokers')];
  const namespace = await cluster.uniqueNamespace('team');
  // The broker creates its keys at its first start; the platform must know them before.
  await cluster.kubectl(['create', 'namespace', recordNamespace]);
  const store = secretKeyStore({ client, namespace: recordNamespace, name: `kidp-broker-${name}-keys` });
  const keys: KeyRing = await openKeyRing(store, { issuer: name, subject: name });
  const platform: TestPlatform = await startTestPlatform(name, keys);
  const flags = [
    ...['--name', name, '--namespace', recordNamespace, '--port', '0', '--lease', '10', '--debug-ledger'],
    ...['--platform-keys', platform.statusUrl.replace('/v1/status', '/.well-known/jwks.json')],
    ...['--status-url', platform.statusUrl],
  ];
  try {
    let broker = await startProcess(flags);
    const uids = Array.from({ length: 12 }, () => randomUUID());
    /** Sends a request until it is accepted, like the outbox of the platform. */
    const delivered = (uid: string, generation: number, action: 'Deploy' | 'Delete') =>
      eventually(async () => {
        const spec = { image: `app:${generation}`, replicas: 1 };
        const event = platform.request({
          kind: 'Service',
          namespace,
          name: `s-${uid.slice(0, 8)}`,
          uid,
          generation,
          action,
          spec,
        });
        return (await platform.post(broker.url, event)).status === 202;
        // The broker is killed meanwhile, and its restart can take as long as `startBrokerProcess` allows.
      }, inTime);
    const story = async (uid: string, isGone: boolean) => {
      await delivered(uid, 1, 'Deploy');
      await delivered(uid, 2, 'Deploy');
      if (isGone) await delivered(uid, 3, 'Delete');
    };
    const work = Promise.all(uids.map((uid, index) => story(uid, index % 3 === 0)));
    for (let times = 0; times < 2; times += 1) {
      await broker.whileRunning(eventually(() => platform.events.length > times * 6, inTime));
      await broker.kill('SIGKILL');
      broker = await startProcess(flags);
    }
    await broker.whileRunning(work);
    for (const [index, uid] of uids.entries()) {
      const [generation, phase] = index % 3 === 0 ? [3, 'deleted'] : [2, 'ready'];
      await broker.whileRunning(platform.untilPhase(`${uid}/${generation}/0`, phase));
    }
    // On a machine that stalls, the broker can lose its lease and restart: then it loads its records a moment later.
    const inLedger = async () => {
      const { body } = await platform.get(`${broker.url}/v1/ledger`);
      const records = body.records as { uid: string; ledger: { deploymentId: string }[] }[];
      for (const [index, uid] of uids.entries()) {
        const claims = records.find((each) => each.uid === uid)?.ledger.map(({ deploymentId }) => deploymentId);
        expect(claims).toEqual((index % 3 === 0 ? [1, 2, 3] : [1, 2]).map((generation) => `${uid}/${generation}/0`));
      }
    };
    await broker.whileRunning(eventually(inLedger, inTime));
    expect(await broker.kill('SIGTERM')).toBe(0);
  } finally {
    await platform.stop();
    keys.close();
  }
});
