/** Looks up Teams and Applications for the gates: in the caches, and on the API server if a cache may be stale. */
import { application, type Team, team, teamOfNamespace } from '../../api/index.ts';
import {
  type Client,
  isNotFound,
  type ObjectKey,
  type Reflector,
  type Resource,
  type UnknownObject,
} from '../../runtime/index.ts';
import { type OwnerLookup, ownerOf, type ReadOwner } from '../gates/ownership/owner-chain.ts';

interface OwnerCaches {
  readonly client: Client;
  /** The Teams, indexed by the namespace in their spec. */
  readonly teams: Reflector<UnknownObject>;
  readonly applications: Reflector<UnknownObject>;
}

export const teamIndexes = {
  namespace: (object: UnknownObject): string[] => {
    const namespace = namespaceOf(object);
    return namespace === undefined ? [] : [namespace];
  },
};

export function ownerLookup({ client, teams, applications }: OwnerCaches): OwnerLookup {
  const read = async (
    { store }: Reflector<UnknownObject>,
    resource: Resource,
    key: ObjectKey,
    { live = false, signal }: ReadOwner,
  ): Promise<UnknownObject | undefined> => {
    const known = live ? undefined : store.get(key);
    if (known !== undefined) return known;
    try {
      return await client.get(resource, key, signal === undefined ? {} : { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };
  return {
    async team(name, options = {}) {
      const found = await read(teams, team.resource, { name }, options);
      const namespace = found === undefined ? undefined : namespaceOf(found);
      return namespace === undefined ? undefined : { namespace };
    },
    async application(namespace, name, options = {}) {
      const found = await read(applications, application.resource, { namespace, name }, options);
      return found === undefined ? undefined : { owner: ownerOf(found, namespace) };
    },
    // Most namespaces have no Team: a miss is common, and only a pending denial justifies a live read.
    async teamOf(namespace, { live = false, signal } = {}) {
      const teamIn = (found: readonly UnknownObject[]) =>
        teamOfNamespace(namespace, found as unknown as readonly Team[])?.metadata.name;
      if (!live) return teamIn(teams.store.byIndex('namespace', namespace));
      const { items } = await client.list(team.resource, signal === undefined ? {} : { signal });
      return teamIn(items.filter((each) => namespaceOf(each) !== undefined));
    },
  };
}

/** Returns the namespace in the spec of a Team. */
function namespaceOf(object: UnknownObject): string | undefined {
  const { namespace } = (object.spec ?? {}) as Partial<Team['spec']>;
  return typeof namespace === 'string' && namespace !== '' ? namespace : undefined;
}
