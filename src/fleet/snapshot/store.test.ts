import { randomBytes } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { type Loose, type MemoryCluster, memoryCluster } from '../../../test/support/memory-cluster.ts';
import type { Resource } from '../../runtime/index.ts';
import { FakeClock } from '../../runtime/testing/index.ts';
import { ContentStore } from './store.ts';

const secrets: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
const namespace = 'kidp-system';
const hour = 3_600_000;

let cluster: MemoryCluster;
let clock: FakeClock;
let store: ContentStore;
beforeEach(() => {
  cluster = memoryCluster([secrets]);
  clock = new FakeClock();
  store = new ContentStore('snapshot', { client: cluster.client, namespace, clock });
});

const there = async () => (await cluster.client.list(secrets, { namespace })).items;
const one = (name: string) => cluster.get(secrets, { namespace, name }) as unknown as Loose & { data: object };
/** Incompressible content. */
const large = (bytes: number) =>
  randomBytes(bytes / 2)
    .toString('hex')
    .slice(0, bytes);

test('put and get round-trip, and the same content is stored once', async () => {
  const { name, digest } = await store.put('{"a":1}');
  expect(name).toMatch(/^snapshot-[0-9a-f]{32}$/);
  expect(digest).toMatch(new RegExp(`^sha256:${name.replace('snapshot-', '')}`));
  expect(await store.get(name)).toEqual({ text: '{"a":1}', digest });
  expect(await store.put('{"a":1}')).toEqual({ name, digest });
  expect(await there()).toMatchObject([{ immutable: true, type: 'platform.company.com/snapshot' }]);
});

test('large content is split, and the first part is written last', async () => {
  const text = large(4_000_000);
  const { name } = await store.put(text);
  expect(cluster.calls.filter((call) => call.startsWith('create')).at(-1)).toContain(name);
  const parts = await there();
  expect(parts.length).toBeGreaterThan(2);
  expect((await store.get(name)).text).toBe(text);
});

test('too large content is rejected before anything is written', async () => {
  await expect(store.put(large(34_000_000))).rejects.toMatchObject({ code: 'snapshot/too-large' });
  expect(await there()).toEqual([]);
});

test.each([
  {
    reason: 'a part is gone',
    damage: (name: string) => cluster.remove(secrets, { namespace, name: `${name}-1` }),
  },
  {
    reason: 'a part has other content',
    damage: (name: string) => {
      const part = one(`${name}-1`);
      cluster.put(secrets, { ...part, data: { content: Buffer.from('other').toString('base64') } });
    },
  },
  {
    reason: 'another content has its name',
    damage: async (name: string) => {
      const other = await store.put('other');
      const { data, metadata } = one(other.name);
      cluster.put(secrets, { ...one(name), data, metadata: { ...metadata, name } });
    },
  },
])('damaged: $reason', async ({ damage }) => {
  const { name } = await store.put(large(2_000_000));
  await damage(name);
  await expect(store.get(name)).rejects.toMatchObject({ code: 'snapshot/damaged' });
});

test('unknown content is missing', async () => {
  await expect(store.get('snapshot-nothing')).rejects.toMatchObject({ code: 'snapshot/missing' });
});

test('unnamed content is deleted after an hour, unless it is put again; named content is kept', async () => {
  const [wanted, unwanted, again] = [
    await store.put('wanted'),
    await store.put(large(2_000_000)),
    await store.put('again'),
  ];
  await store.retain(new Set([wanted.name]));
  expect((await store.get(unwanted.name)).digest).toBe(unwanted.digest);
  clock.jump(hour + 1);
  await store.put('again');
  await store.retain(new Set([wanted.name]));
  expect((await there()).map(({ metadata }) => metadata.name).sort()).toEqual([again.name, wanted.name].sort());
});
