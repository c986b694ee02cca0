/**
 * How the objects of a cluster are read: each anew for one who must not be told anything old, or once for all operators of a cluster
 * (src/reconcile/operators/health). Those who judge do not know which.
 */
import { type Client, eachObject, isNotFound, type ObjectKey, type Resource } from '../../runtime/index.ts';
import { pods } from './resources.ts';
import type { CustomResource, Pod } from './shapes.ts';

export interface ClusterObjects {
  get<T extends object>(resource: Resource, key: ObjectKey): Promise<T | undefined>;
  list<T extends object>(resource: Resource, namespace?: string): Promise<readonly T[]>;
  /** One object, where there is any. */
  some(resource: Resource): Promise<readonly CustomResource[]>;
  /** The pods of a namespace, by what runs them: see `workloadKey`. */
  podsByWorkload(namespace: string): Promise<ReadonlyMap<string, readonly Pod[]>>;
  /** Of all namespaces, given out one by one: there may be very many. */
  eachCustomResource(resource: Resource, each: (object: CustomResource) => void): Promise<void>;
}

/** Asks the API server each time, past its cache. */
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

/** One pass over the pods, whatever the number of workloads: selectors would be one pass for each. */
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

/** A Deployment names its ReplicaSets after itself and the hash that their pods carry. */
function keyOfWorkload({ metadata }: Pod): string | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return undefined;
  if (owner.kind !== 'ReplicaSet') return workloadKey(owner.kind, owner.name);
  const suffix = `-${metadata.labels?.['pod-template-hash'] ?? ''}`;
  return owner.name.endsWith(suffix)
    ? workloadKey('Deployment', owner.name.slice(0, -suffix.length))
    : workloadKey('ReplicaSet', owner.name);
}
