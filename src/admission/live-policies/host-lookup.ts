/** Looks up hosts for the hosts gate: in the caches, and on the API server before a denial. */
import { service, type Team, team, teamOfNamespace } from '../../api/index.ts';
import { type Client, isNotFound, type Reflector, type UnknownObject } from '../../runtime/index.ts';
import { exposedBy, type HostLookup, type HostUser, type TeamHosts } from '../gates/hosts/lookup.ts';

interface HostCaches {
  readonly client: Client;
  readonly teams: Reflector<UnknownObject>;
  /** The Services, indexed by their host. */
  readonly services: Reflector<UnknownObject>;
}

export const serviceIndexes = {
  host: (object: UnknownObject): string[] => {
    const exposed = exposedBy(object);
    return exposed === undefined ? [] : [exposed.host];
  },
};

/** Keeps only what this lookup reads: a cluster can have very many Services. */
export function withHostOnly({ apiVersion, kind, metadata, spec }: UnknownObject): UnknownObject {
  const { namespace, name, uid, resourceVersion, creationTimestamp } = metadata;
  const { loadBalancer } = (spec ?? {}) as { loadBalancer?: unknown };
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp } as UnknownObject['metadata'],
    spec: { loadBalancer },
  };
}

export function hostLookup({ client, teams, services }: HostCaches): HostLookup {
  const all = async ({ live = false, signal }: { live?: boolean; signal?: AbortSignal }) =>
    live ? (await client.list(team.resource, signal === undefined ? {} : { signal })).items : teams.store.list();
  return {
    teams: async (options = {}) => (await all(options)).map(hostsOf).filter(({ hosts }) => hosts.length > 0),
    async teamOf(namespace, options = {}) {
      const found = options.live === true ? await all(options) : teams.store.byIndex('namespace', namespace);
      const named = (found as unknown as readonly Team[]).filter(({ spec }) => spec?.namespace === namespace);
      const owner = teamOfNamespace(namespace, named);
      return owner === undefined ? undefined : hostsOf(owner as unknown as UnknownObject);
    },
    async servicesWith(host, except, { live = false, signal } = {}) {
      const known = services.store
        .byIndex('host', host)
        .filter(({ metadata }) => metadata.namespace !== except.namespace || metadata.name !== except.name);
      if (!live) return known.map(userOf);
      const read = await Promise.all(
        known.map(({ metadata: { namespace = '', name } }) =>
          client
            .get(service.resource, { namespace, name }, signal === undefined ? {} : { signal })
            .catch((error: unknown) => {
              if (isNotFound(error)) return undefined;
              throw error;
            }),
        ),
      );
      return read
        .filter((each) => each !== undefined && exposedBy(each)?.host === host)
        .map((each) => userOf(each as UnknownObject));
    },
  };
}

const userOf = (object: UnknownObject): HostUser => ({
  namespace: object.metadata.namespace ?? '',
  name: object.metadata.name,
  path: exposedBy(object)?.path ?? '/',
  createdAt: object.metadata.creationTimestamp ?? '',
});

const hostsOf = ({ metadata, spec }: UnknownObject): TeamHosts => ({
  name: metadata.name,
  hosts: (spec as Partial<Team['spec']> | undefined)?.hosts ?? [],
});
