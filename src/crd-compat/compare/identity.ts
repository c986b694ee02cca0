/**
 * Adds to a schema what holds for the type and name of every resource. A new constraint on them then counts as a
 * constraint on an existing field, not as a new field, and kind and apiVersion are known to be fixed.
 */
import type { CrdSchema } from '../schema.ts';

/** The type of the objects that a schema describes; `embedded` for embedded resources, which can have any type. */
export type ResourceType = { readonly apiVersion: string; readonly kind: string } | 'embedded';

type Fields = Readonly<Record<string, CrdSchema>>;

const names: Fields = {
  name: { pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$', maxLength: 253 },
  generateName: { pattern: '^[-.a-z0-9]*$' },
};
const embeddedNames: Fields = { name: { pattern: '^[^/%]*$' }, generateName: { pattern: '^[^/%]*$' } };

/** Adds it to both schemas. They stay unchanged if neither mentions these fields. */
export function withIdentity(before: CrdSchema, after: CrdSchema, type: ResourceType): readonly [CrdSchema, CrdSchema] {
  if (!speaksOfIdentity(before) && !speaksOfIdentity(after)) return [before, after];
  return [identified(before, type), identified(after, type)];
}

function speaksOfIdentity(schema: CrdSchema): boolean {
  const { apiVersion, kind, metadata } = schema.properties ?? {};
  if (metadata?.properties !== undefined) return true;
  if ([apiVersion, kind].some((field) => field !== undefined && isRestricted(field))) return true;
  return (schema['x-kubernetes-validations'] ?? []).some(({ rule }) => rule.includes('metadata'));
}

const isRestricted = ({ type: _, description: _text, ...rest }: CrdSchema): boolean => Object.keys(rest).length > 0;

function identified(schema: CrdSchema, type: ResourceType): CrdSchema {
  const { metadata = { type: 'object' } } = schema.properties ?? {};
  const properties = {
    ...schema.properties,
    metadata: { ...metadata, properties: narrowed(metadata.properties, type === 'embedded' ? embeddedNames : names) },
  };
  if (type === 'embedded') return { ...schema, properties };
  const { apiVersion, kind } = type;
  return {
    ...schema,
    properties: narrowed(properties, { apiVersion: { enum: [apiVersion] }, kind: { enum: [kind] } }),
  };
}

function narrowed(fields: Fields | undefined, always: Fields): Fields {
  const found: Record<string, CrdSchema> = { ...fields };
  for (const [name, truth] of Object.entries(always)) {
    const { allOf = [], ...rest } = found[name] ?? { type: 'string' };
    found[name] = { ...rest, allOf: [...allOf, truth] };
  }
  return found;
}
