/** Metrics of the registered operators and clusters, and of validated CRDs (docs/requirements.md, 002 Metrics). */
import { Counter, Gauge, type Registry } from 'prom-client';
import { cluster, operator } from '../../api/index.ts';
import type { Manager, Resource } from '../../runtime/index.ts';

interface Inventory {
  /** Counts a new Cluster. */
  clusterRegistered(): void;
  /** Counts a CRD validation: by a rollout, for a version of an Operator, or for a REST request. */
  definitionValidated(): void;
}

export function inventoryMetrics(manager: Manager, registry: Registry): Inventory {
  const registers = [registry];
  const count = (name: string, help: string, resource: Resource) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        // Every replica has the caches, but only the leader reports, or objects would be counted twice.
        const all = manager.election?.leading === false ? undefined : inCache(manager, resource);
        if (all === undefined) this.reset();
        else this.set(all);
      },
    });
  count('kidp_operators_count', 'Registered Operators', operator.resource);
  count('kidp_clusters_count', 'Registered Clusters', cluster.resource);
  const registered = new Counter({
    name: 'kidp_clusters_registered_total',
    help: 'Clusters registered since this process started',
    registers,
  });
  const validated = new Counter({
    name: 'kidp_crds_validated_total',
    help: 'CRDs compared with an existing one: on a cluster, in the previous version, or over the REST API',
    registers,
  });
  return { clusterRegistered: () => registered.inc(), definitionValidated: () => validated.inc() };
}

/** Returns undefined if the caches are not started yet. */
function inCache(manager: Manager, resource: Resource): number | undefined {
  try {
    return [...manager.caches.store(resource).list()].length;
  } catch {
    return undefined;
  }
}
