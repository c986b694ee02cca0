/**
 * Reads the objects that policies declare and that are not watched, once: for evaluating many objects against a policy
 * that is not in force (a new Policy, or a native one of Kubernetes).
 */
import type { Json, PolicyModel, World } from '../../policy/index.ts';
import { type Client, eachObject, type UnknownObject } from '../../runtime/index.ts';
import type { ResourceMapping } from '../../runtime/internal.ts';
import { byKey, isAsked, servedAs } from './objects.ts';
import { needsOf } from './registry.ts';

interface NeedsOptions {
  readonly client: Client;
  readonly mapping: ResourceMapping;
  readonly models: readonly PolicyModel[];
  readonly world: World;
  readonly signal: AbortSignal | undefined;
}

/**
 * `worldWithNeeds` adds the declared objects to a world. Objects that cannot be read stay unknown, and rules that read
 * them fail.
 */
export async function worldWithNeeds({ client, mapping, models, world, signal }: NeedsOptions): Promise<World> {
  const read = new Map<string, readonly UnknownObject[]>();
  for (const need of models.flatMap(needsOf)) {
    const { apiVersion, kind, namespace } = need;
    const resource = servedAs(mapping, apiVersion, kind);
    const id = JSON.stringify([apiVersion, kind, namespace]);
    if (resource === undefined || read.has(id) || world.find(need) !== undefined) continue;
    const objects: UnknownObject[] = [];
    const options = {
      ...(namespace === undefined || !resource.namespaced ? {} : { namespace }),
      ...(signal === undefined ? {} : { signal }),
    };
    await eachObject(client, resource, options, (object) => void objects.push(object)).then(
      () => read.set(id, objects.sort(byKey)),
      () => {},
    );
  }
  if (read.size === 0) return world;
  return {
    ...world,
    find(query): readonly Json[] | undefined {
      const known = world.find(query);
      if (known !== undefined) return known;
      const { apiVersion, kind, namespace } = query;
      const all =
        read.get(JSON.stringify([apiVersion, kind, namespace])) ??
        read.get(JSON.stringify([apiVersion, kind, undefined]));
      return all?.filter((object) => isAsked(object, query));
    },
  };
}
