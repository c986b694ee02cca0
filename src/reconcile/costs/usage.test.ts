import { describe, expect, test } from 'vitest';
import { memoryCluster } from '../../../test/support/memory-cluster.ts';
import type { Client } from '../../runtime/index.ts';
import { listedOwnership, type OwnedObject } from '../platform/ownership.ts';
import { configMaps } from '../platform/resources.ts';
import type { CostConfigMap } from './entry-store.ts';
import { costRows } from './report.ts';
import {
  DELETED_RESOURCE_LABEL,
  type DeletedResource,
  readSettled,
  type SettledCost,
  settledCosts,
} from './settled.ts';
import { totalCosts } from './totals.ts';
import { deletedResourceOf, settlementOf } from './usage.ts';

test('the newest months are kept, up to the limit', () => {
  const costs = Array.from({ length: 60 }, (_, index) => ({
    month: `${2020 + Math.floor(index / 12)}-${String((index % 12) + 1).padStart(2, '0')}`,
    currency: 'EUR',
    amount: '1',
  }));
  const totals = totalCosts(costs);
  expect(totals).toHaveLength(48);
  expect(totals[0]?.month).toBe('2024-12');
});

const gone = (uid: string, amount: string, over: Partial<SettledCost> = {}): SettledCost => ({
  uid,
  kind: 'Database',
  namespace: 'team-a',
  name: uid,
  team: 'team-a',
  applications: [],
  month: '2026-01',
  currency: 'EUR',
  amount,
  ...over,
});

const remembered = (uid: string, at = '2026-01-10T00:00:00Z'): DeletedResource => ({
  uid,
  kind: 'Database',
  namespace: 'team-a',
  name: uid,
  team: 'team-a',
  applications: [],
  broker: 'b',
  formerBrokers: ['a'],
  at,
});

describe('a deleted resource', () => {
  /** The memory cluster has no patches; this applies a merge patch of data. */
  function cluster() {
    const memory = memoryCluster([configMaps]);
    const patch = async (
      _resource: unknown,
      key: { name: string; namespace?: string },
      { body }: { body: { data: object } },
    ) => {
      const there = memory.get(configMaps, key) as unknown as CostConfigMap;
      const data = Object.entries({ ...there.data, ...body.data }).filter(([, text]) => text !== null);
      return memory.put(configMaps, { ...there, data: Object.fromEntries(data) } as never);
    };
    const client = { ...memory.client, patch } as unknown as Client;
    const all = async () => (await client.list<CostConfigMap>(configMaps)).items;
    return { client, all, calls: memory.calls };
  }

  test('is stored once, however often it is settled', async () => {
    const { client, all } = cluster();
    const settled = settledCosts(client, 'kidp-system');
    await settled.keep([gone('u', '1')]);
    await settled.keep([gone('u', '1')]);
    expect((await all()).flatMap((map) => readSettled(map))).toEqual([gone('u', '1')]);
    expect(await settled.find(gone('u', '1'), '2026-01')).toMatchObject({ uid: 'u', team: 'team-a' });
    expect(await settled.find(gone('u', '1'), '2026-02')).toBeUndefined();
    expect(await settled.find(gone('v', '1'), '2026-01')).toBeUndefined();
  });

  test('accepts late reports of any month once each, and settling again drops none of them', async () => {
    const { client, all } = cluster();
    const settled = settledCosts(client, 'kidp-system');
    const before = gone('u', '1', { broker: 'b', asOf: '2026-01-10T00:00:00Z' });
    const last = { month: '2026-01', currency: 'EUR', amount: '2', broker: 'b', asOf: '2026-01-10T00:30:00Z' };
    await settled.keep([before]);
    await settled.remember(remembered('u', '2026-01-10T00:31:00Z'));
    const payer = await settled.find(before, '2026-02');
    if (payer === undefined) throw new Error('it is unknown');
    expect(await settled.add(payer, last)).toBe('applied');
    expect(await settled.add(payer, last)).toBe('duplicate');
    expect(await settled.add(payer, { ...last, amount: '1.5', asOf: '2026-01-10T00:15:00Z' })).toBe('stale');
    // Another month, another currency, and a former broker.
    expect(await settled.add(payer, { ...last, month: '2026-02', amount: '4' })).toBe('applied');
    expect(await settled.add(payer, { ...last, currency: 'USD' })).toBe('applied');
    expect(await settled.add(payer, { ...last, broker: 'a', amount: '10' })).toBe('applied');
    await settled.keep([before]);
    const kept = (await all()).flatMap((map) =>
      map.metadata.labels?.[DELETED_RESOURCE_LABEL] ? [] : readSettled(map),
    );
    expect(kept.map(({ month, currency, amount }) => [month, currency, amount]).sort()).toEqual([
      ['2026-01', 'EUR', '12'],
      ['2026-01', 'USD', '2'],
      ['2026-02', 'EUR', '4'],
    ]);
  });

  test('many late reports at once are written together, and none is lost', async () => {
    const { client, all, calls } = cluster();
    const settled = settledCosts(client, 'kidp-system');
    const words = Array.from({ length: 300 }, (_, index) => ({
      month: '2026-01',
      currency: 'EUR',
      amount: '1',
      broker: `b${index % 3}`,
      asOf: '2026-01-10T00:30:00Z',
      uid: `u${Math.floor(index / 3)}`,
    }));
    await Promise.all(words.map(({ uid, ...usage }) => settled.add(remembered(uid), usage)));
    const kept = (await all()).flatMap((map) => readSettled(map));
    expect(kept.map(({ amount }) => amount)).toEqual(Array.from({ length: 100 }, () => '3'));
    expect(calls.length).toBeLessThan(10);
  });

  test('is remembered for 90 days, and then dropped', async () => {
    const { client, all } = cluster();
    let now = Date.parse('2026-01-10T00:00:00Z');
    const settled = settledCosts(client, 'kidp-system', () => now);
    const uids = Array.from({ length: 100 }, (_, index) => `u${index}`);
    await Promise.all(uids.map((uid) => settled.remember(remembered(uid, '2026-01-10T00:00:00Z'))));
    expect(await settled.find(gone('u7', '1'), '2026-01')).toEqual(remembered('u7', '2026-01-10T00:00:00Z'));
    const known = async () => (await all()).reduce((sum, { data = {} }) => sum + Object.keys(data).length, 0);
    now = Date.parse('2026-03-10T00:00:00Z');
    await Promise.all(uids.map((uid) => settled.remember(remembered(`${uid}-new`, '2026-03-10T00:00:00Z'))));
    expect(await known()).toBe(200);
    now = Date.parse('2026-04-20T00:00:00Z');
    await Promise.all(uids.map((uid) => settled.remember(remembered(`${uid}-newer`, '2026-04-20T00:00:00Z'))));
    expect(await known()).toBe(200);
    expect(await settled.find(gone('u7', '1'), '2026-01')).toBeUndefined();
  });

  test('is written in batches when many are deleted at once', async () => {
    const { client, all, calls } = cluster();
    const settled = settledCosts(client, 'kidp-system');
    await Promise.all(Array.from({ length: 500 }, (_, index) => settled.keep([gone(`u${index}`, '1')])));
    expect((await all()).flatMap((map) => readSettled(map))).toHaveLength(500);
    expect(calls.filter((call) => call.startsWith('create')).length).toBeLessThan(5);
  });

  test('goes into another ConfigMap when one is full, and is still found', async () => {
    const { client, all } = cluster();
    const settled = settledCosts(client, 'kidp-system');
    const bulky = { costTags: { note: 'x'.repeat(20_000) } };
    for (let index = 0; index < 50; index += 1) await settled.keep([gone(`u${index}`, '1', bulky)]);
    const maps = await all();
    expect(maps.length).toBeGreaterThan(1);
    for (const map of maps) expect(JSON.stringify(map.data).length).toBeLessThan(1_000_000);
    await settled.keep([gone('u0', '2', { ...bulky, asOf: '2026-01-10T00:00:00Z' })]);
    expect((await all()).flatMap((map) => readSettled(map))).toHaveLength(50);
    expect((await all()).flatMap((map) => readSettled(map)).filter(({ amount }) => amount === '2')).toHaveLength(1);
  });

  test('a damaged entry is reported and skipped', () => {
    const damaged: string[] = [];
    const data = {
      good: JSON.stringify([gone('good', '1')]),
      bad: '{',
      formula: JSON.stringify([gone('formula', '=1')]),
    };
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' }, data };
    expect(readSettled(map, (key) => damaged.push(key))).toEqual([gone('good', '1')]);
    expect(damaged).toEqual(['bad', 'formula']);
  });

  test('keeps its team, Applications and tags', () => {
    const apiVersion = 'platform.company.com/v1';
    const objects = [
      { apiVersion, kind: 'Team', metadata: { name: 'a' }, spec: { namespace: 'team-a', costTags: { center: '1' } } },
      {
        apiVersion,
        kind: 'Application',
        metadata: { name: 'shop', namespace: 'team-a' },
        spec: { owner: { kind: 'Team', name: 'a' } },
      },
    ];
    const object = {
      apiVersion,
      kind: 'Database',
      metadata: { name: 'db', namespace: 'team-a', uid: 'u' },
      spec: { owner: { kind: 'Application', name: 'shop' } },
      status: {
        targetRef: { name: 't', broker: 'b', formerBrokers: ['a'] },
        costs: [{ month: '2026-01', currency: 'EUR', amount: '1' }],
      },
    } as unknown as OwnedObject;
    const view = listedOwnership(objects as never);
    expect(settlementOf(object, view)).toMatchObject([
      { uid: 'u', team: 'team-a', applications: ['team-a/shop'], costTags: { center: '1' }, broker: 'b', amount: '1' },
    ]);
    const at = '2026-01-10T00:00:00.000Z';
    expect(deletedResourceOf(object, view, Date.parse(at))).toMatchObject({
      uid: 'u',
      team: 'team-a',
      applications: ['team-a/shop'],
      broker: 'b',
      formerBrokers: ['a'],
      at,
    });
    // A live resource that was settled already is in the report once.
    const rows = costRows([...objects, object] as never, [...settlementOf(object, view), gone('old', '2')]);
    expect(rows.map(({ name, state, amount, application }) => [name, state, amount, application])).toEqual([
      ['old', 'deleted', '2', ''],
      ['db', 'live', '1', 'team-a/shop'],
    ]);
  });
});
