import { hostname } from 'node:os';
import { gzipSync } from 'node:zlib';
import { beforeEach, expect, test } from 'vitest';
import { type MemoryCluster, memoryCluster } from '../../../test/support/memory-cluster.ts';
import { type Clock, type Resource, systemClock } from '../../runtime/index.ts';
import { FakeClock } from '../../runtime/testing/index.ts';
import { currentRunner } from '../scratch/index.ts';
import { hooklessMilliseconds, settledRelease } from './pending.ts';
import { readRelease, revisionsOf } from './releases.ts';
import { runnerAnnotation } from './snapshot-chart.ts';

const secrets: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
const name = { name: 'shop', namespace: 'shops' };

let cluster: MemoryCluster;
let clock: FakeClock;
beforeEach(() => {
  cluster = memoryCluster([secrets]);
  clock = new FakeClock();
});

/** As Helm writes it. */
function put(
  status: string,
  { runner, hooks = [], at = clock }: { runner?: string; hooks?: readonly object[]; at?: Clock } = {},
): void {
  const annotations = runner === undefined ? {} : { [runnerAnnotation]: runner };
  const release = {
    name: name.name,
    info: { status, last_deployed: new Date(at.now()).toISOString() },
    chart: { metadata: { name: 'shop', version: '1.0.0', annotations } },
    manifest: '---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n',
    hooks,
  };
  const packed = gzipSync(JSON.stringify(release)).toString('base64');
  cluster.put(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: 'sh.helm.release.v1.shop.v1',
      namespace: name.namespace,
      labels: { owner: 'helm', name: name.name, status, version: '1' },
    },
    data: { release: Buffer.from(packed).toString('base64') },
  });
}

const settled = (isOurs = false, by: Clock = clock) =>
  settledRelease(cluster.client, name, { clock: by, timeoutMilliseconds: 300_000, isOurs: () => isOurs });

const elsewhere = 'another-host/1/2';
const gone = `${hostname()}/999999999/1`;

test('a missing or completed release is not waited for', async () => {
  expect(await settled()).toBeUndefined();
  put('deployed', { runner: elsewhere });
  expect(await settled()).toMatchObject({ status: 'deployed', revision: 1, chart: { name: 'shop', version: '1.0.0' } });
});

test.each([
  { reason: 'the runner has exited', runner: gone },
  { reason: 'this process no longer runs it', runner: currentRunner() },
])('$reason: it is marked failed at once, with its content', async ({ runner }) => {
  put('pending-upgrade', { runner });
  expect(await settled()).toMatchObject({ status: 'failed' });
  const [revision] = await revisionsOf(cluster.client, name);
  expect(revision?.status).toBe('failed');
  expect(await readRelease(revision as NonNullable<typeof revision>)).toMatchObject({
    status: 'failed',
    manifest: expect.stringContaining('ConfigMap'),
  });
});

test.each([
  { reason: 'a runner elsewhere has a minute', runner: elsewhere, hooks: [], milliseconds: hooklessMilliseconds },
  { reason: 'hooks have their time', runner: elsewhere, hooks: [{ manifest: 'a: 1' }], milliseconds: 360_000 },
  { reason: 'a user may run Helm with --wait', runner: undefined, hooks: [], milliseconds: 360_000 },
])('$reason', async ({ runner, hooks, milliseconds }) => {
  put('pending-install', { hooks, ...(runner === undefined ? {} : { runner }) });
  let status: string | undefined;
  const done = settled().then((release) => {
    status = release?.status;
  });
  await clock.advance(milliseconds - 2_000);
  expect(status).toBeUndefined();
  await clock.advance(5_000);
  await done;
  expect(status).toBe('failed');
});

test('a release that completes meanwhile is left alone', async () => {
  put('pending-upgrade', { runner: currentRunner(), at: systemClock });
  const done = settled(true, systemClock);
  put('deployed', { runner: currentRunner(), at: systemClock });
  expect(await done).toMatchObject({ status: 'deployed' });
  expect(cluster.calls.filter((call) => call.startsWith('update'))).toEqual([]);
});
