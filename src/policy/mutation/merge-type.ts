/**
 * Merge types: the part of a schema that server-side apply uses. Those of Kubernetes kinds come from a table, those of
 * custom resources from the schema in their CRD.
 */
import type { Schema } from '../../cel/index.ts';
import type { GroupVersionKind } from '../request.ts';
import { KUBERNETES_TYPES } from './kubernetes-types.ts';

export type MergeType = StructType | MapType | ListType | { readonly kind: 'scalar' } | { readonly kind: 'deduced' };

/** An object with declared fields. */
interface StructType {
  readonly kind: 'struct';
  readonly atomic: boolean;
  readonly fields: ReadonlyMap<string, MergeType>;
  /** Whether other fields are allowed. */
  readonly open: boolean;
}

/** An object with any keys and values of one type. */
interface MapType {
  readonly kind: 'map';
  readonly atomic: boolean;
  readonly element: MergeType;
}

export interface ListType {
  readonly kind: 'list';
  readonly relation: 'atomic' | 'set' | 'map';
  readonly keys: readonly { readonly name: string; readonly byDefault?: unknown }[];
  readonly element: MergeType;
}

const SCALAR: MergeType = { kind: 'scalar' };
/** The merge type of an unknown type: objects merge, lists are replaced. */
export const DEDUCED: MergeType = { kind: 'deduced' };

/** Returns the merge type of a Kubernetes kind, or undefined for any other kind. */
export function kubernetesMergeType({ group, version, kind }: GroupVersionKind): MergeType | undefined {
  const name = table().kinds.get(`${group}/${version}/${kind}`);
  return name === undefined ? undefined : typeNamed(name);
}

/** `mergeTypeOf` derives the merge type from a schema like the API server: a list without markers is atomic. */
export function mergeTypeOf(schema: Schema, root = true): MergeType {
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const markings = schema as Schema & { readonly 'x-kubernetes-map-type'?: string };
  const atomic = markings['x-kubernetes-map-type'] === 'atomic';
  if (schema['x-kubernetes-int-or-string'] === true) return SCALAR;
  if (schema.type === 'array') return listOf(schema);
  if (schema.type !== 'object' && schema.type !== undefined) return SCALAR;
  if (schema.type === undefined && schema.properties === undefined) return open ? DEDUCED : SCALAR;
  if (schema.properties === undefined && !root) {
    const { additionalProperties } = schema;
    const element = typeof additionalProperties === 'object' ? mergeTypeOf(additionalProperties, false) : DEDUCED;
    return { kind: 'map', atomic, element };
  }
  const fields = new Map<string, MergeType>();
  for (const [name, each] of Object.entries(schema.properties ?? {})) fields.set(name, mergeTypeOf(each, false));
  if (root || schema['x-kubernetes-embedded-resource'] === true) {
    for (const name of ['apiVersion', 'kind']) fields.set(name, SCALAR);
    fields.set('metadata', typeNamed('meta.v1.ObjectMeta'));
  }
  return { kind: 'struct', atomic, fields, open: open || schema.additionalProperties !== undefined };
}

function listOf(schema: Schema): ListType {
  const relation = schema['x-kubernetes-list-type'];
  const { items = {} } = schema;
  const keys = (schema['x-kubernetes-list-map-keys'] ?? []).map((name) => {
    const byDefault = items.properties?.[name]?.default;
    return byDefault === undefined ? { name } : { name, byDefault };
  });
  return {
    kind: 'list',
    relation: relation === 'set' || relation === 'map' ? relation : 'atomic',
    keys,
    element: mergeTypeOf(items, false),
  };
}

interface Table {
  /** The type name for each `group/version/Kind`. */
  readonly kinds: ReadonlyMap<string, string>;
  /** The table line for each type name. */
  readonly lines: ReadonlyMap<string, string>;
}

// Caches of a constant table.
let read: Table | undefined;
const made = new Map<string, MergeType>();

function table(): Table {
  if (read !== undefined) return read;
  const kinds = new Map<string, string>();
  const lines = new Map<string, string>();
  for (const line of KUBERNETES_TYPES.trim().split('\n')) {
    const space = line.indexOf(' ');
    const [name, rest] = space < 0 ? [line, ''] : [line.slice(0, space), line.slice(space + 1)];
    if (name.startsWith('@')) kinds.set(name.slice(1), rest);
    else lines.set(name, rest);
  }
  read = { kinds, lines };
  return read;
}

/** Created on first use, because types refer to each other, also in cycles. */
function typeNamed(name: string): MergeType {
  const known = made.get(name);
  if (known !== undefined) return known;
  const line = table().lines.get(name) ?? '*';
  if (line === '*') return DEDUCED;
  if (line === '-') return SCALAR;
  const fields = new Map<string, MergeType>();
  const words = line.split(' ').filter((word) => word !== '');
  const atomic = words[0] === '!';
  const type: StructType = { kind: 'struct', atomic, fields, open: false };
  made.set(name, type);
  for (const word of atomic ? words.slice(1) : words) {
    const [, field = '', suffix = ''] = /^([^[{!*:]+)(.*)$/.exec(word) ?? [];
    fields.set(field, typeOfSuffix(suffix));
  }
  return type;
}

/**
 * Parses the suffix of a field name: nothing for a plain value, `*` for any value, `:Type`, `!:Type` (atomic), `[!]`
 * `[=]` `[key,key="default"]` for lists, `{}` `{!}` for maps. Lists and maps are followed by the suffix of their
 * elements.
 */
function typeOfSuffix(suffix: string): MergeType {
  if (suffix === '') return SCALAR;
  if (suffix === '*') return DEDUCED;
  if (suffix.startsWith(':')) return typeNamed(suffix.slice(1));
  if (suffix.startsWith('!:')) return whole(typeNamed(suffix.slice(2)));
  const end = suffix.startsWith('[') ? suffix.indexOf(']') : suffix.indexOf('}');
  const inside = suffix.slice(1, end);
  const element = typeOfSuffix(suffix.slice(end + 1));
  if (suffix.startsWith('{')) return { kind: 'map', atomic: inside === '!', element };
  if (inside === '!') return { kind: 'list', relation: 'atomic', keys: [], element };
  if (inside === '=') return { kind: 'list', relation: 'set', keys: [], element };
  const keys = inside.split(',').map((key) => {
    const [name = '', byDefault] = key.split('=');
    return byDefault === undefined ? { name } : { name, byDefault: JSON.parse(byDefault) as unknown };
  });
  return { kind: 'list', relation: 'map', keys, element };
}

function whole(type: MergeType): MergeType {
  return type.kind === 'struct' ? { ...type, atomic: true } : type;
}
