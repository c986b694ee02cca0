/** Tests of the health metrics and the cache of health profiles. */
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { FleetError, type Snapshot } from '../../../fleet/index.ts';
import { healthMetrics } from './metrics.ts';
import { SnapshotProfiles } from './profiles.ts';

describe('metrics', () => {
  it('separate healthy from unhealthy operators and drop deleted ones', async () => {
    const registry = new Registry();
    const metrics = healthMetrics(registry);
    metrics.operator('well', 3, 3);
    metrics.operator('partly', 3, 2);
    metrics.operator('nowhere', 0, 0);
    metrics.alerted('partly');
    metrics.checked(0.2);
    metrics.round({ seconds: 2, installations: 6 });
    const value = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
    expect(await value('kidp_operators_healthy')).toBe(1);
    expect(await value('kidp_operators_unhealthy')).toBe(1);
    expect(await value('kidp_operator_unhealthy_total')).toBe(1);
    expect(await value('kidp_operator_health_round_installations')).toBe(6);
    metrics.deleted('partly');
    expect(await value('kidp_operators_unhealthy')).toBe(0);
    expect(await value('kidp_operator_unhealthy_total')).toBeUndefined();
  });

  it('record nothing without a registry', () => {
    const metrics = healthMetrics(undefined);
    metrics.operator('well', 1, 1);
    metrics.alerted('well');
    metrics.checked(1);
    metrics.round({ seconds: 1, installations: 1 });
    expect(() => metrics.deleted('well')).not.toThrow();
  });
});

describe('SnapshotProfiles', () => {
  const snapshot = { namespace: 'operators', manifests: [], definitions: [] } as unknown as Snapshot;

  it('reads a profile once for concurrent callers', async () => {
    let reads = 0;
    const profiles = new SnapshotProfiles({
      get: async () => {
        reads += 1;
        return snapshot;
      },
    });
    const [one, other] = await Promise.all([profiles.of('a'), profiles.of('a')]);
    expect(await profiles.of('a')).toBe(one);
    expect(other).toBe(one);
    expect(reads).toBe(1);
  });

  it('returns undefined for a missing snapshot and does not cache that', async () => {
    let there = false;
    const profiles = new SnapshotProfiles({
      get: async () => {
        if (!there) throw new FleetError('snapshot/missing', 'gone');
        return snapshot;
      },
    });
    expect(await profiles.of('a')).toBeUndefined();
    there = true;
    expect(await profiles.of('a')).toBeDefined();
  });

  it('rejects if the store fails', async () => {
    const profiles = new SnapshotProfiles({ get: () => Promise.reject(new Error('no connection')) });
    await expect(profiles.of('a')).rejects.toThrow('no connection');
  });
});
