/** How many operators and clusters there are, how many clusters were registered, and how many definitions validated (requirement 002, metrics). */
import { Counter, Gauge, type Registry } from 'prom-client';
import { cluster, operator } from '../../api/index.ts';
import type { Manager, Resource } from '../../runtime/index.ts';

interface Inventory {
  /** A Cluster is there that was not before. */
  clusterRegistered(): void;
  /** What becomes of a definition was found out: by a rollout, for a version of an Operator, or for who asked over REST. */
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
        // Every replica sees them; what the leader says is counted once.
        const all = manager.election?.leading === false ? undefined : inCache(manager, resource);
        if (all === undefined) this.reset();
        else this.set(all);
      },
    });
  count('kidp_operators_count', 'Operators that are registered', operator.resource);
  count('kidp_clusters_count', 'Clusters that are registered', cluster.resource);
  const registered = new Counter({
    name: 'kidp_clusters_registered_total',
    help: 'Clusters that were registered since this process began',
    registers,
  });
  const validated = new Counter({
    name: 'kidp_crds_validated_total',
    help: 'Definitions that were compared with what is there: on a cluster, in the version before, or as known to the REST API',
    registers,
  });
  return { clusterRegistered: () => registered.inc(), definitionValidated: () => validated.inc() };
}

/** Undefined before the caches are started. */
function inCache(manager: Manager, resource: Resource): number | undefined {
  try {
    return [...manager.caches.store(resource).list()].length;
  } catch {
    return undefined;
  }
}
