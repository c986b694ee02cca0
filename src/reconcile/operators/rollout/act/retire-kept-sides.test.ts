import { describe, expect, test } from 'vitest';
import type { OperatorInstallation } from '../../../../api/index.ts';
import { FleetError } from '../../../../fleet/index.ts';
import { ApiError } from '../../../../runtime/index.ts';
import { type RetireOptions, retireKeptSides } from './retire-kept-sides.ts';

const now = Date.parse('2026-02-01T12:00:00Z');
const kept = (namespace: string, seconds: number) => ({
  version: 'v1.0.0',
  snapshot: `of-${namespace}`,
  namespace,
  keptUntil: new Date(now + seconds * 1_000).toISOString(),
});
const installation = (spec: object, uid = 'u'): OperatorInstallation =>
  ({
    metadata: { name: 'tool.here', uid, resourceVersion: '1' },
    spec: { operator: 'tool', cluster: 'here', namespace: 'green', snapshot: 'of-green', ...spec },
  }) as OperatorInstallation;

interface Given {
  /** As the cache has it. */
  readonly cached: object;
  /** As it is when nobody else works there; left out, as the cache has it. Null: it is gone. */
  readonly live?: object | null;
  readonly liveUid?: string;
  readonly isBusy?: boolean;
  /** Digests of what is in the namespaces, where it is not what was kept. */
  readonly there?: Readonly<Record<string, string>>;
  readonly missing?: boolean;
  /** Why `red` has to be kept. */
  readonly held?: string;
}

async function retiring({
  cached,
  live = cached,
  liveUid = 'u',
  isBusy = false,
  there = {},
  missing = false,
  held,
}: Given) {
  const removed: string[] = [];
  const patches: object[] = [];
  const parts = {
    client: {
      get: async () => {
        if (live === null) throw new ApiError({ doing: 'get', status: 404, reason: 'NotFound', message: '' });
        return installation(live, liveUid);
      },
      patch: async (_: unknown, __: unknown, { body }: { body: { spec: object } }) => void patches.push(body.spec),
    },
    fleet: { connect: async () => ({}) },
    snapshots: {
      get: async (name: string) => {
        if (missing) throw new FleetError('snapshot/missing', name);
        return { name, digest: name, namespace: name.slice(3), releaseName: 'tool' };
      },
    },
    installer: {
      current: async (_: unknown, { namespace }: { namespace: string }) => ({
        snapshotDigest: there[namespace] ?? `of-${namespace}`,
      }),
    },
    switcher: {
      retire: async (_: unknown, { namespace }: { namespace: string }) => {
        if (held !== undefined && namespace === 'red') return held;
        removed.push(namespace);
        return undefined;
      },
    },
    leases: {
      withLease: async (_: unknown, work: () => Promise<void>) => {
        if (isBusy) return false;
        await work();
        return true;
      },
    },
    clock: { now: () => now },
    retryMilliseconds: 7,
  };
  const result = await retireKeptSides(
    installation(cached),
    parts as unknown as RetireOptions,
    new AbortController().signal,
  );
  return {
    removed,
    patches,
    again: (result as { requeueAfterMilliseconds?: number } | undefined)?.requeueAfterMilliseconds,
  };
}

describe('what was kept of blue-green deployments', () => {
  const over = { previous: { keptUntil: null } };
  test.each<{ reason: string; given: Given; removed?: string[]; patches?: object[]; again?: number }>([
    { reason: 'is nothing', given: { cached: {} } },
    { reason: 'has time left', given: { cached: { previous: kept('blue', 60) } }, again: 60_000 },
    {
      reason: 'goes when its time is over',
      given: { cached: { previous: kept('blue', 0) } },
      removed: ['blue'],
      patches: [over],
    },
    {
      reason: 'goes also where something else was installed after it',
      given: { cached: { previous: { namespace: 'green', snapshot: 'of-green' }, kept: [kept('blue', 0)] } },
      removed: ['blue'],
      patches: [{ kept: null }],
    },
    {
      reason: 'goes side by side, each in its time',
      given: { cached: { previous: kept('blue', 60), kept: [kept('red', 0), kept('grey', 30)] } },
      removed: ['red'],
      patches: [{ kept: [kept('grey', 30)] }],
    },
    {
      reason: 'waits for the first of several',
      given: { cached: { previous: kept('blue', 60), kept: [kept('red', 30)] } },
      again: 30_000,
    },
    { reason: 'waits where somebody works', given: { cached: { previous: kept('blue', 0) }, isBusy: true }, again: 7 },
    {
      reason: 'stays where a rollout has made it the one in use since',
      given: { cached: { previous: kept('blue', 0) }, live: { namespace: 'blue', previous: kept('green', 60) } },
    },
    {
      reason: 'stays where it is the one in use, whatever else is written',
      given: { cached: { namespace: 'blue', previous: kept('blue', 0) } },
      patches: [over],
    },
    {
      reason: 'stays where its time was made longer since',
      given: { cached: { previous: kept('blue', 0) }, live: { previous: kept('blue', 60) } },
    },
    {
      reason: 'stays where something else is in its namespace by now',
      given: { cached: { previous: kept('blue', 0) }, there: { blue: 'of-a-rollout-that-was-aborted' } },
      patches: [over],
    },
    {
      reason: 'is of nobody where the installation is gone',
      given: { cached: { previous: kept('blue', 0) }, live: null },
    },
    {
      reason: 'is of nobody where another installation has its name',
      given: { cached: { previous: kept('blue', 0) }, liveUid: 'other' },
    },
    {
      reason: 'is forgotten where nobody knows any more what it was',
      given: { cached: { previous: kept('blue', 0) }, missing: true },
      patches: [over],
    },
  ])('$reason', async ({ given, removed = [], patches = [], again }) => {
    expect(await retiring(given)).toEqual({ removed, patches, again });
  });

  test('that nobody else can convert for stays, and that is said', async () => {
    const parts = { cached: { previous: kept('red', 0), kept: [kept('blue', 0)] }, held: 'nobody else converts' };
    await expect(retiring(parts)).rejects.toMatchObject({ message: 'nobody else converts', temporary: true });
  });
});
