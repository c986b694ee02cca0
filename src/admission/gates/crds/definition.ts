/**
 * Reads the fields of a CustomResourceDefinition that the gate needs. The API server has validated them; the types are
 * checked anyway.
 */
import { type Client, isNotFound, type Resource } from '../../../runtime/index.ts';
import { type AdmissionRequest, isObject, type Json } from '../../review/decode.ts';

export const definitionGroup = 'apiextensions.k8s.io';
export const definitionKind = 'CustomResourceDefinition';
export const definitionPlural = 'customresourcedefinitions';

const definitions: Resource = {
  group: definitionGroup,
  version: 'v1',
  plural: definitionPlural,
  kind: definitionKind,
  namespaced: false,
};

/** A DNS subdomain, as the API server requires of names of definitions. */
const definitionName = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/**
 * `liveDefinition` returns the definition of this name in the cluster; undefined if there is none. Objects are read by
 * its group, version and plural, never by those that a review contains.
 */
export async function liveDefinition(client: Client, name: string, signal: AbortSignal): Promise<Json | undefined> {
  if (!definitionName.test(name)) return undefined;
  try {
    return (await client.get(definitions, { name }, { signal })) as unknown as Json;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** `isDefinition` matches definitions, but not their status, which the API server writes. */
export const isDefinition = ({ kind, subResource, operation }: AdmissionRequest): boolean =>
  kind.group === definitionGroup &&
  kind.kind === definitionKind &&
  subResource === undefined &&
  (operation === 'CREATE' || operation === 'UPDATE' || operation === 'DELETE');

export const metadataOf = (object: Json | undefined): Json => (isObject(object?.metadata) ? object.metadata : {});

export const textIn = (object: Json, field: string): string => {
  const value = object[field];
  return typeof value === 'string' ? value : '';
};

export function annotationOf(object: Json | undefined, key: string): string | undefined {
  const { annotations } = metadataOf(object);
  const value = isObject(annotations) ? annotations[key] : undefined;
  return typeof value === 'string' ? value : undefined;
}

interface Version {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
}

export function versionsOf(definition: Json): readonly Version[] {
  const { spec } = definition;
  if (!isObject(spec) || !Array.isArray(spec.versions)) return [];
  return spec.versions.filter(isObject).map((version) => ({
    name: textIn(version, 'name'),
    served: version.served === true,
    storage: version.storage === true,
  }));
}

/**
 * `resourceOf` returns the resource for reading the objects: in the storage version, so that nothing is converted, or
 * else in any served version. It returns undefined if no version is served.
 */
export function resourceOf(definition: Json): Resource | undefined {
  const { spec } = definition;
  const served = versionsOf(definition).filter((version) => version.served);
  const version = served.find(({ storage }) => storage) ?? served[0];
  if (version === undefined || !isObject(spec) || !isObject(spec.names)) return undefined;
  return {
    group: textIn(spec, 'group'),
    version: version.name,
    plural: textIn(spec.names, 'plural'),
    kind: textIn(spec.names, 'kind'),
    namespaced: spec.scope === 'Namespaced',
  };
}

/** `isEstablished` reports whether the API server serves the definition. Objects can exist from then on. */
export function isEstablished({ status }: Json): boolean {
  if (!isObject(status) || !Array.isArray(status.conditions)) return false;
  return status.conditions.some((each) => isObject(each) && each.type === 'Established' && each.status === 'True');
}
