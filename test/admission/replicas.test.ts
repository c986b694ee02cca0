/** Replicas of the webhook come and go while the API server asks them: what users see of it, which is to be nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { ProcessGroup } from '../support/test-process.ts';
import {
  applyPolicy,
  configMap,
  configMaps,
  type Platform,
  policy,
  refusal,
  startPlatform,
} from './support/platform.ts';
import { type Replica, startLoad, startReplica } from './support/replicas.ts';

let platform: Platform;
let client: Client;
let first: Replica;
let second: Replica;
const processes = new ProcessGroup();
const patient = { within: 180_000 };

/** Refused while the webhook is there: the proof that it is asked. */
const forbidden = configMap('forbidden', { fine: 'no' });
const isAsked = () =>
  processes.eventually(async () => (await refusal(client, configMaps, forbidden)).includes('all-fine'), patient);
const served = (load: { requests: number }, requests: number) => {
  const until = load.requests + requests;
  return processes.eventually(() => load.requests >= until, patient);
};

beforeAll(async () => {
  platform = await startPlatform();
  client = platform.client;
  first = await startReplica(platform, { identity: 'first', leads: true }, processes);
  second = await startReplica(platform, { identity: 'second', port: first.port }, processes);
  await applyPolicy(client, policy('all-fine', ['core/v1/ConfigMap'], "object.data.fine == 'yes'"));
  await isAsked();
});
afterAll(async () => {
  await Promise.all([first?.kill(), second?.kill()]);
  await platform?.stop();
});

describe('a replica', () => {
  test('that is stopped under load takes no request down with it', async () => {
    const load = startLoad(client);
    await served(load, 50);
    await second.stop();
    await served(load, 50);
    second = await startReplica(platform, { identity: 'second', port: first.port }, processes);
    await served(load, 50);
    await load.stop();
    expect(load.failures).toEqual([]);
  });

  test('that is killed under load takes down only what was in flight there', async () => {
    const load = startLoad(client);
    await served(load, 50);
    await second.kill();
    const inFlight = 8;
    await served(load, 100);
    await load.stop();
    expect(load.failures.length).toBeLessThanOrEqual(inFlight);
    for (const failure of load.failures) expect(failure).toContain('failed calling webhook');
    const later = startLoad(client);
    await served(later, 50);
    await later.stop();
    expect(later.failures).toEqual([]);
    second = await startReplica(platform, { identity: 'second-again', port: first.port }, processes);
  });
});

test('recovers automatically after a restart of the API server', async () => {
  await platform.plane.apiServer.kill();
  await platform.plane.apiServer.start();
  await isAsked();
  expect(await refusal(client, configMaps, configMap('fine', { fine: 'yes' }))).toBe('');
  // And it still hears of policies.
  await applyPolicy(client, policy('no-odd', ['core/v1/ConfigMap'], "!('odd' in object.data)"));
  const odd = configMap('odd', { fine: 'yes', odd: 'yes' });
  await processes.eventually(async () => (await refusal(client, configMaps, odd)).includes('no-odd'), patient);
});

test('judges every request by one revision while policies change a thousand times a minute', async () => {
  const names = ['one', 'two', 'three'];
  const numbered = (number: number) =>
    policy('numbered', ['core/v1/ConfigMap'], 'false', {
      selector: { matchLabels: { numbered: 'yes' } },
      spec: { rules: names.map((name) => ({ name, expression: 'false', message: `number ${number}` })) },
    });
  const judged = configMap('numbered', { fine: 'yes' }, { labels: { numbered: 'yes' } });
  await applyPolicy(client, numbered(0));
  await processes.eventually(async () => (await refusal(client, configMaps, judged)).includes('number 0'), patient);
  // A replica that has just found the API server again may hear of it later than the other.
  await processes.eventually(() => [first, second].every(({ policies }) => policies.has('numbered')), patient);
  const changes = 80;
  const seen = new Set<string>();
  const mixed: string[] = [];
  let changing = true;
  const watching = Promise.all(
    Array.from({ length: 3 }, async () => {
      for (; changing; await sleep(5)) {
        const said = await refusal(client, configMaps, judged);
        const numbers = [...said.matchAll(/number (\d+)/g)].map(([, number]) => number ?? '');
        for (const number of numbers) seen.add(number);
        if (numbers.length !== names.length || new Set(numbers).size !== 1) mixed.push(said);
      }
    }),
  );
  const began = performance.now();
  for (let number = 1; number <= changes; number += 1) {
    await applyPolicy(client, numbered(number));
    const due = began + (number * 60_000) / 1000;
    await sleep(Math.max(0, due - performance.now()));
  }
  await processes.eventually(() => seen.has(String(changes)), patient);
  changing = false;
  await watching;
  expect(mixed).toEqual([]);
  expect(seen.size).toBeGreaterThan(3);
});

test('without any replica, Fail denies with a clear message and Ignore lets through', async () => {
  const ignoring = policy('lenient', ['core/v1/Secret'], 'false', { spec: { failurePolicy: 'Ignore' } });
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a', namespace: 'default' } };
  const secrets = { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true };
  await applyPolicy(client, ignoring);
  await processes.eventually(async () => (await refusal(client, secrets, secret)).includes('lenient'), patient);
  await Promise.all([first.kill(), second.kill()]);
  const said = await refusal(client, configMaps, configMap('fine', { fine: 'yes' }));
  expect(said).toContain('failed calling webhook "validate-fail.kidp.platform.company.com"');
  expect(said).toMatch(/connection refused|EOF|connection reset|broken pipe/);
  expect(await refusal(client, secrets, secret)).toBe('');
  // Exempt namespaces are never blocked, and the break-glass group, and nobody else, can fix a Policy meanwhile.
  expect(await refusal(client, configMaps, configMap('x', {}, { namespace: 'kube-system' }))).toBe('');
  const fixed = policy('all-fine', ['core/v1/ConfigMap'], 'true');
  await expect(applyPolicy(client, fixed)).rejects.toThrow('failed calling webhook');
  const file = await platform.plane.kubeconfigFor({ name: 'fixer', groups: ['kidp:break-glass', 'system:masters'] });
  const fixer = connect(loadKubeconfig({ file }));
  await applyPolicy(fixer, fixed).finally(() => fixer.close());
  first = await startReplica(platform, { identity: 'third', port: first.port, leads: true }, processes);
  await processes.eventually(async () => (await refusal(client, configMaps, forbidden)) === '', patient);
});
