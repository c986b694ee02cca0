/**
 * Determines the merge type of any kind: from the table for Kubernetes kinds, from our schemas for platform kinds, and
 * from the CRD for custom resources.
 */
import { GROUP, openApiOf, kinds as platformKinds, VERSION } from '../../api/index.ts';
import type { Schema } from '../../cel/index.ts';
import { pluralOf } from '../native/plural.ts';
import type { GroupVersionKind, Json } from '../request.ts';
import type { World } from '../world.ts';
import { isJsonObject } from './json.ts';
import { DEDUCED, kubernetesMergeType, type MergeType, mergeTypeOf } from './merge-type.ts';

/** The merge type of an unknown kind: objects merge and lists are replaced. */
export function mergeTypeFor(kind: GroupVersionKind, world: World): MergeType {
  return kubernetesMergeType(kind) ?? definedType(kind, world) ?? platformType(kind) ?? DEDUCED;
}

// Caches by schema and by kind.
const CUSTOM = new WeakMap<Schema, MergeType>();

/** Returns the merge type from the schema of a custom resource, if the world has it, or from its CRD. */
function definedType(kind: GroupVersionKind, world: World): MergeType | undefined {
  const schema = world.schema?.(kind) ?? definedSchema(kind, world);
  if (schema === undefined) return undefined;
  const type = CUSTOM.get(schema) ?? mergeTypeOf(schema);
  CUSTOM.set(schema, type);
  return type;
}

function definedSchema(kind: GroupVersionKind, world: World): Schema | undefined {
  const { versions } = (definitionOf(kind, world)?.spec ?? {}) as { versions?: unknown };
  const all = Array.isArray(versions) ? versions.filter(isJsonObject) : [];
  const { schema } = all.find(({ name }) => name === kind.version) ?? {};
  const { openAPIV3Schema } = (schema ?? {}) as { openAPIV3Schema?: Schema };
  return isJsonObject(openAPIV3Schema) ? openAPIV3Schema : undefined;
}

function definitionOf({ group, kind }: GroupVersionKind, world: World): Json | undefined {
  const query = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
  const isIt = (object: Json): boolean => {
    const { spec } = object;
    return isJsonObject(spec) && spec.group === group && isJsonObject(spec.names) && spec.names.kind === kind;
  };
  // Most CRDs have the guessed name; all CRDs are searched only if there is none of that name.
  const guess = world.find({ ...query, name: `${pluralOf(kind)}.${group}` })?.find(isIt);
  return guess ?? world.find(query)?.find(isIt);
}

const PLATFORM = new Map<string, MergeType>();

function platformType({ group, version, kind }: GroupVersionKind): MergeType | undefined {
  const found = group === GROUP && version === VERSION ? platformKinds.find((each) => each.kind === kind) : undefined;
  if (found === undefined) return undefined;
  let type = PLATFORM.get(kind);
  if (type === undefined) {
    type = mergeTypeOf(openApiOf(found) as Schema);
    PLATFORM.set(kind, type);
  }
  return type;
}
