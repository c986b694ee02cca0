/** Maps objects to resources and scope with the discovery of the cluster, one request per group version. */
import type { Client, Resource, UnknownObject } from '../../runtime/index.ts';
import { servedByDefinition } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';

export interface Kinds {
  /** Throws FleetError if the cluster does not know the kind. */
  resourceOf(object: Pick<UnknownObject, 'apiVersion' | 'kind'>): Resource;
  /** Undefined if the cluster does not know the kind. */
  isNamespaced(object: Pick<UnknownObject, 'apiVersion' | 'kind'>): boolean | undefined;
}

export async function kindsOf(
  client: Client,
  objects: readonly UnknownObject[],
  definitions: readonly UnknownObject[] = [],
): Promise<Kinds> {
  const resources = new Map<string, Resource>();
  for (const definition of definitions) {
    const established = { ...definition, status: { conditions: [{ type: 'Established', status: 'True' }] } };
    for (const each of servedByDefinition(established))
      resources.set(`${each.group}/${each.version} ${each.kind}`, each);
  }
  const apiVersions = new Set(
    objects.filter((each) => !resources.has(keyOf(each))).map(({ apiVersion }) => apiVersion),
  );
  await Promise.all(
    [...apiVersions].map(async (apiVersion) => {
      const [group, version] = partsOf(apiVersion);
      const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
      const { status, text } = await client.request({ method: 'GET', path });
      if (status !== 200) return;
      const { resources: served = [] } = JSON.parse(text) as {
        resources?: { name: string; kind: string; namespaced?: boolean }[];
      };
      for (const { name, kind, namespaced = false } of served) {
        if (!name.includes('/'))
          resources.set(`${apiVersion} ${kind}`, { group, version, plural: name, kind, namespaced });
      }
    }),
  );
  const resourceOf: Kinds['resourceOf'] = (object) => {
    const resource = resources.get(keyOf(object));
    if (resource === undefined) {
      throw new FleetError('helm/failed', `The cluster does not know ${object.kind} of ${object.apiVersion}`);
    }
    return resource;
  };
  return { resourceOf, isNamespaced: (object) => resources.get(keyOf(object))?.namespaced };
}

const keyOf = ({ apiVersion, kind }: Pick<UnknownObject, 'apiVersion' | 'kind'>): string => `${apiVersion} ${kind}`;

function partsOf(apiVersion: string): readonly [group: string, version: string] {
  const [group = '', version] = apiVersion.split('/');
  return version === undefined ? ['', group] : [group, version];
}
