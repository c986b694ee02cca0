import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { cluster } from '../../api/index.ts';
import type { Manager, Resource } from '../../runtime/index.ts';
import { inventoryMetrics } from './inventory.ts';

const valuesOf = async (registry: Registry) =>
  Object.fromEntries((await registry.getMetricsAsJSON()).map(({ name, values }) => [name, values[0]?.value]));

test('only the leader counts objects, once its caches are started', async () => {
  const registry = new Registry();
  const state = { leading: true, started: false };
  const manager = {
    election: {
      get leading() {
        return state.leading;
      },
    },
    caches: {
      store(resource: Resource) {
        if (!state.started) throw new Error('not started');
        return { list: () => (resource === cluster.resource ? [1, 2, 3] : [1]) };
      },
    },
  } as unknown as Manager;
  const inventory = inventoryMetrics(manager, registry);
  expect(await valuesOf(registry)).toMatchObject({ kidp_clusters_count: 0, kidp_clusters_registered_total: 0 });
  state.started = true;
  inventory.clusterRegistered();
  for (let time = 1; time <= 2; time += 1) inventory.definitionValidated();
  expect(await valuesOf(registry)).toEqual({
    kidp_operators_count: 1,
    kidp_clusters_count: 3,
    kidp_clusters_registered_total: 1,
    kidp_crds_validated_total: 2,
  });
  state.leading = false;
  expect(await valuesOf(registry)).toMatchObject({ kidp_operators_count: 0, kidp_clusters_count: 0 });
});
