/** Reads definitions and their objects from a cluster. */
import type { Crd, Json } from '../../crd-compat/index.ts';
import { type Client, eachObject, isNotFound, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { InputError } from '../common/failure.ts';
import { type Definitions, liveDefinition } from './definitions.ts';

const customResourceDefinitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** `clusterDefinitions` reads the definitions of these names; a missing one is an error if `demanded`, else skipped. */
export async function clusterDefinitions(
  client: Client,
  names: readonly string[],
  demanded: boolean,
): Promise<Definitions> {
  const found: Definitions = { definitions: [], problems: [] };
  for (const name of [...new Set(names)].sort()) {
    let object: UnknownObject;
    try {
      object = await client.get(customResourceDefinitions, { name });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (!demanded) continue;
      throw new InputError('no-such-definition', `the cluster has no CustomResourceDefinition ${name}.`);
    }
    const { definitions, problems } = liveDefinition({ ...object, ...typeOf }, `cluster:${name}`);
    found.definitions.push(...definitions);
    found.problems.push(...problems);
  }
  return found;
}

/** Objects may come without apiVersion and kind, so these are set explicitly. */
const typeOf = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };

/**
 * `eachStoredObject` calls `each` for every object of a definition, in the storage version if that is served. It calls it for none if
 * the cluster does not have the definition.
 */
export async function eachStoredObject(client: Client, crd: Crd, each: (object: Json) => void): Promise<void> {
  const { group, names, scope, versions } = crd.spec;
  const served = versions.filter((version) => version.served);
  const version = served.find(({ storage }) => storage) ?? served[0];
  if (version === undefined) return;
  const { plural, kind } = names;
  const resource = { group, version: version.name, plural, kind, namespaced: scope === 'Namespaced' };
  const apiVersion = `${group}/${version.name}`;
  try {
    await eachObject(client, resource, {}, (object) => each({ ...object, apiVersion, kind }));
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
