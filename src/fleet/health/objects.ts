/**
 * Read access to the objects of a cluster: fresh reads for rollouts, or one shared read for all operators of a cluster
 * (src/reconcile/operators/health). The checks do not know which.
 */
import { type Client, eachObject, isNotFound, type ObjectKey, type Resource } from '../../runtime/index.ts';
import { pods } from './resources.ts';
import type { CustomResource, Pod } from './shapes.ts';

export interface ClusterObjects {
  get<T extends object>(resource: Resource, key: ObjectKey): Promise<T | undefined>;
  list<T extends object>(resource: Resource, namespace?: string): Promise<readonly T[]>;
  /** At most one object. */
  some(resource: Resource): Promise<readonly CustomResource[]>;
  /** The pods of a namespace by workload; see `workloadKey`. */
  podsByWorkload(namespace: string): Promise<ReadonlyMap<string, readonly Pod[]>>;
  /** Visits objects of all namespaces one by one, because there can be very many. */
  eachCustomResource(resource: Resource, each: (object: CustomResource) => void): Promise<void>;
}

/** `freshObjects` reads from the API server every time, past its cache. */
export function freshObjects(client: Client, signal?: AbortSignal): ClusterObjects {
  const options = signal === undefined ? {} : { signal };
  const list = async <T>(resource: Resource, namespace?: string) => {
    const found: T[] = [];
    const where = { ...options, omitManagedFields: true, ...(namespace === undefined ? {} : { namespace }) };
    await eachObject(client, resource, where, (object) => found.push(object as T));
    return found;
  };
  return {
    list,
    async get<T>(resource: Resource, key: ObjectKey) {
      try {
        return (await client.get(resource, key, options)) as T;
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    some: async (resource) => (await client.list(resource, { ...options, limit: 1 })).items as CustomResource[],
    podsByWorkload: async (namespace) => groupPods(await list<Pod>(pods, namespace)),
    eachCustomResource: async (resource, each) => {
      await eachObject(client, resource, { ...options, omitManagedFields: true }, (object) =>
        each(object as CustomResource),
      );
    },
  };
}

export const workloadKey = (kind: string, name: string): string => `${kind}/${name}`;

/** `groupPods` needs one pass over the pods; selectors would need one pass per workload. */
export function groupPods(all: readonly Pod[]): Map<string, Pod[]> {
  const groups = new Map<string, Pod[]>();
  for (const pod of all) {
    const key = keyOfWorkload(pod);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [pod]);
    else group.push(pod);
  }
  return groups;
}

/** A ReplicaSet is named after its Deployment and the pod template hash. */
function keyOfWorkload({ metadata }: Pod): string | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return undefined;
  if (owner.kind !== 'ReplicaSet') return workloadKey(owner.kind, owner.name);
  const suffix = `-${metadata.labels?.['pod-template-hash'] ?? ''}`;
  return owner.name.endsWith(suffix)
    ? workloadKey('Deployment', owner.name.slice(0, -suffix.length))
    : workloadKey('ReplicaSet', owner.name);
}
