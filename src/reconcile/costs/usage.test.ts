import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memoryCluster } from '../../../test/support/memory-cluster.ts';
import type { Client } from '../../runtime/index.ts';
import { listedOwnership, type MonthlyCost, type OwnedObject } from '../platform/ownership.ts';
import { configMaps } from '../platform/resources.ts';
import { costRows } from './report.ts';
import { type CostConfigMap, readSettled, type SettledCost, settledCosts } from './settled.ts';
import { totalCosts } from './totals.ts';
import { settlementOf, withUsage } from './usage.ts';

const report = (amount: string, asOf: string, over: object = {}) => ({
  month: '2026-01',
  currency: 'EUR',
  amount,
  asOf,
  ...over,
});

test.each([
  { reason: 'the first', before: [], report: report('1', '2026-01-10T00:00:00Z'), after: ['1'] },
  {
    reason: 'a later one replaces it',
    before: [report('1', '2026-01-10T00:00:00Z')],
    report: report('2', '2026-01-11T00:00:00Z'),
    after: ['2'],
  },
  {
    reason: 'a later one may be less',
    before: [report('2', '2026-01-10T00:00:00Z')],
    report: report('1', '2026-01-11T00:00:00Z'),
    after: ['1'],
  },
  {
    reason: 'an earlier one changes nothing',
    before: [report('1', '2026-01-10T00:00:00Z')],
    report: report('2', '2026-01-09T00:00:00Z'),
    after: 'stale',
  },
  {
    reason: 'the same again changes nothing',
    before: [report('1', '2026-01-10T00:00:00Z')],
    report: report('1', '2026-01-10T00:00:00.000Z'),
    after: 'duplicate',
  },
  {
    reason: 'another amount of the same moment changes nothing',
    before: [report('1', '2026-01-10T00:00:00Z')],
    report: report('2', '2026-01-10T00:00:00Z'),
    after: 'stale',
  },
  {
    reason: 'another currency stands beside it',
    before: [report('1', '2026-01-10T00:00:00Z')],
    report: report('2', '2026-01-10T00:00:00Z', { currency: 'USD' }),
    after: ['1', '2'],
  },
  {
    reason: 'another month stands before it',
    before: [report('1', '2026-01-10T00:00:00Z')],
    report: report('2', '2026-02-10T00:00:00Z', { month: '2026-02' }),
    after: ['2', '1'],
  },
])('$reason', ({ before, report: next, after }) => {
  const costs = withUsage(before, next);
  expect(typeof costs === 'string' ? costs : costs.map(({ amount }) => amount)).toEqual(after);
});

test('in whatever order and however often reports come, the latest of each month counts', () => {
  const day = fc.integer({ min: 1, max: 28 });
  const reports = fc.array(fc.record({ month: fc.constantFrom('2026-01', '2026-02'), day }), {
    minLength: 1,
    maxLength: 30,
  });
  fc.assert(
    fc.property(reports, (days) => {
      let costs: MonthlyCost[] = [];
      for (const { month, day: on } of days) {
        const next = withUsage(
          costs,
          report(String(on), `${month}-${String(on).padStart(2, '0')}T00:00:00Z`, { month }),
        );
        if (typeof next !== 'string') costs = next;
      }
      for (const { month, amount } of costs) {
        const latest = Math.max(...days.filter((each) => each.month === month).map((each) => each.day));
        expect(amount).toBe(String(latest));
      }
    }),
  );
});

test('only as many months are kept as there is room for, the newest', () => {
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
  namespace: 'n',
  name: uid,
  team: 'team-a',
  applications: [],
  month: '2026-01',
  currency: 'EUR',
  amount,
  ...over,
});

describe('what is gone', () => {
  /** The memory cluster has no patches; this is what a merge patch of data does. */
  function cluster() {
    const memory = memoryCluster([configMaps]);
    const patch = async (
      _resource: unknown,
      key: { name: string; namespace?: string },
      { body }: { body: { data: object } },
    ) => {
      const there = memory.get(configMaps, key) as unknown as CostConfigMap;
      return memory.put(configMaps, { ...there, data: { ...there.data, ...body.data } } as never);
    };
    const client = { ...memory.client, patch } as unknown as Client;
    const all = async () => (await client.list<CostConfigMap>(configMaps)).items;
    return { client, all, calls: memory.calls };
  }

  test('is kept once, however often it is settled', async () => {
    const { client, all } = cluster();
    const settled = settledCosts(client, 'kidp-system');
    await settled.keep([gone('u', '1')]);
    await settled.keep([gone('u', '1')]);
    expect((await all()).flatMap((map) => readSettled(map))).toEqual([gone('u', '1')]);
    expect(await settled.find('u', '2026-01')).toEqual([gone('u', '1')]);
    expect(await settled.find('u', '2026-02')).toBeUndefined();
  });

  test('of many at once is written a few times, not once each', async () => {
    const { client, all, calls } = cluster();
    const settled = settledCosts(client, 'kidp-system');
    await Promise.all(Array.from({ length: 500 }, (_, index) => settled.keep([gone(`u${index}`, '1')])));
    expect((await all()).flatMap((map) => readSettled(map))).toHaveLength(500);
    expect(calls.filter((call) => call.startsWith('create')).length).toBeLessThan(5);
  });

  test('has another ConfigMap when one is full, and is still found', async () => {
    const { client, all } = cluster();
    const settled = settledCosts(client, 'kidp-system');
    const bulky = { costTags: { note: 'x'.repeat(20_000) } };
    for (let index = 0; index < 50; index += 1) await settled.keep([gone(`u${index}`, '1', bulky)]);
    const maps = await all();
    expect(maps.length).toBeGreaterThan(1);
    for (const map of maps) expect(JSON.stringify(map.data).length).toBeLessThan(1_000_000);
    await settled.keep([gone('u0', '2', bulky)]);
    expect((await all()).flatMap((map) => readSettled(map))).toHaveLength(50);
    expect((await settled.find('u0', '2026-01'))?.[0]?.amount).toBe('2');
  });

  test('a damaged entry is told and left out', () => {
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

  test('remembers who paid: team, Applications and tags', () => {
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
      status: { targetRef: { name: 't', broker: 'b' }, costs: [{ month: '2026-01', currency: 'EUR', amount: '1' }] },
    } as unknown as OwnedObject;
    const view = listedOwnership(objects as never);
    expect(settlementOf(object, view)).toMatchObject([
      { uid: 'u', team: 'team-a', applications: ['team-a/shop'], costTags: { center: '1' }, broker: 'b', amount: '1' },
    ]);
    // What is there and was settled already is in the report once.
    const rows = costRows([...objects, object] as never, [...settlementOf(object, view), gone('old', '2')]);
    expect(rows.map(({ name, state, amount, application }) => [name, state, amount, application])).toEqual([
      ['old', 'deleted', '2', ''],
      ['db', 'live', '1', 'team-a/shop'],
    ]);
  });
});
