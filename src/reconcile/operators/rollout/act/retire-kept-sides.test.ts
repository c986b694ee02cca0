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
  /** The installation in the cache. */
  readonly cached: object;
  /** The installation on the API server. Default: the one in the cache. Null: it is deleted. */
  readonly live?: object | null;
  readonly liveUid?: string;
  readonly isBusy?: boolean;
  /** Digests of the releases in the namespaces, if they are not the kept ones. */
  readonly there?: Readonly<Record<string, string>>;
  readonly missing?: boolean;
  /** The cause to keep `red`. */
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

describe('kept sides of blue-green deployments', () => {
  const over = { previous: { keptUntil: null } };
  test.each<{ reason: string; given: Given; removed?: string[]; patches?: object[]; again?: number }>([
    { reason: 'nothing is kept', given: { cached: {} } },
    { reason: 'the retention period is not over', given: { cached: { previous: kept('blue', 60) } }, again: 60_000 },
    {
      reason: 'removes a side after its retention period',
      given: { cached: { previous: kept('blue', 0) } },
      removed: ['blue'],
      patches: [over],
    },
    {
      reason: 'removes an older side after a later in-place upgrade',
      given: { cached: { previous: { namespace: 'green', snapshot: 'of-green' }, kept: [kept('blue', 0)] } },
      removed: ['blue'],
      patches: [{ kept: null }],
    },
    {
      reason: 'removes each side after its own period',
      given: { cached: { previous: kept('blue', 60), kept: [kept('red', 0), kept('grey', 30)] } },
      removed: ['red'],
      patches: [{ kept: [kept('grey', 30)] }],
    },
    {
      reason: 'waits for the earliest of several',
      given: { cached: { previous: kept('blue', 60), kept: [kept('red', 30)] } },
      again: 30_000,
    },
    {
      reason: 'waits while the Lease is held',
      given: { cached: { previous: kept('blue', 0) }, isBusy: true },
      again: 7,
    },
    {
      reason: 'keeps a side that a rollout uses again',
      given: { cached: { previous: kept('blue', 0) }, live: { namespace: 'blue', previous: kept('green', 60) } },
    },
    {
      reason: 'keeps the side in use',
      given: { cached: { namespace: 'blue', previous: kept('blue', 0) } },
      patches: [over],
    },
    {
      reason: 'keeps a side whose period was extended',
      given: { cached: { previous: kept('blue', 0) }, live: { previous: kept('blue', 60) } },
    },
    {
      reason: 'keeps another release in its namespace',
      given: { cached: { previous: kept('blue', 0) }, there: { blue: 'of-a-rollout-that-was-aborted' } },
      patches: [over],
    },
    {
      reason: 'ignores a deleted installation',
      given: { cached: { previous: kept('blue', 0) }, live: null },
    },
    {
      reason: 'ignores a re-created installation',
      given: { cached: { previous: kept('blue', 0) }, liveUid: 'other' },
    },
    {
      reason: 'forgets a side whose snapshot is missing',
      given: { cached: { previous: kept('blue', 0) }, missing: true },
      patches: [over],
    },
  ])('$reason', async ({ given, removed = [], patches = [], again }) => {
    expect(await retiring(given)).toEqual({ removed, patches, again });
  });

  test('keeps and reports a side that still serves conversion', async () => {
    const parts = { cached: { previous: kept('red', 0), kept: [kept('blue', 0)] }, held: 'nobody else converts' };
    await expect(retiring(parts)).rejects.toMatchObject({ message: 'nobody else converts', temporary: true });
  });
});
