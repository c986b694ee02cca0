/** What the gate itself reads from a definition. The API server has validated it before it asks; still nothing is taken on trust. */
import type { Resource } from '../../../runtime/index.ts';
import { type AdmissionRequest, isObject, type Json } from '../../review/decode.ts';

export const definitionGroup = 'apiextensions.k8s.io';
export const definitionKind = 'CustomResourceDefinition';
export const definitionPlural = 'customresourcedefinitions';

/** The definitions themselves, not their status: that is the API server's own to write. */
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
 * Where its objects are read: in the version they are stored in, so that nothing is converted, or where that is not served in any
 * that is. None where no version is served.
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

/** Whether the API server says that it serves it. Objects can be made from then on. */
export function isEstablished({ status }: Json): boolean {
  if (!isObject(status) || !Array.isArray(status.conditions)) return false;
  return status.conditions.some((each) => isObject(each) && each.type === 'Established' && each.status === 'True');
}
