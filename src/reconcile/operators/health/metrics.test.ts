/** What is measured of health, and the profiles that rounds keep of snapshots. */
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { FleetError, type Snapshot } from '../../../fleet/index.ts';
import { healthMetrics } from './metrics.ts';
import { SnapshotProfiles } from './profiles.ts';

describe('metrics', () => {
  it('tell operators that are well everywhere from those that are not, and forget those that are gone', async () => {
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

  it('cost nothing where nobody asks', () => {
    const metrics = healthMetrics(undefined);
    metrics.operator('well', 1, 1);
    metrics.alerted('well');
    metrics.checked(1);
    metrics.round({ seconds: 1, installations: 1 });
    expect(() => metrics.deleted('well')).not.toThrow();
  });
});

describe('the profile of a snapshot', () => {
  const snapshot = { namespace: 'operators', manifests: [], definitions: [] } as unknown as Snapshot;

  it('is read once, also where many ask at the same time', async () => {
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

  it('is missing where the snapshot is, and asked for again: it may only have been damaged for a moment', async () => {
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

  it('is no answer where the store itself fails', async () => {
    const profiles = new SnapshotProfiles({ get: () => Promise.reject(new Error('no connection')) });
    await expect(profiles.of('a')).rejects.toThrow('no connection');
  });
});
