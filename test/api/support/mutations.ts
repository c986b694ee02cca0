/**
 * From a valid object and its schema to all the ways in which one bound is just missed: a letter too many, one below the
 * minimum, a choice that is none, a field that is not there or not known. Each with the field that an answer must name.
 */
import type { OpenApiSchema } from '../../../src/api/index.ts';

export interface Mutation {
  reason: string;
  /** The field at fault, as the API server writes it. */
  field: string;
  value: unknown;
}

/** Every mutation of `value`, at any depth, as a whole new value. */
export function mutationsOf(schema: OpenApiSchema, value: unknown, field: string): Mutation[] {
  const here = (reason: string, mutated: unknown, at = field): Mutation => ({ reason, field: at, value: mutated });
  if (Array.isArray(value)) return inList(schema, value, field, here);
  if (typeof value === 'object' && value !== null) {
    return inObject(schema, value as Record<string, unknown>, field, here);
  }
  return inScalar(schema, here);
}

type Here = (reason: string, mutated: unknown, at?: string) => Mutation;

function inScalar(schema: OpenApiSchema, here: Here): Mutation[] {
  const mutations = [here('another type', ['not a scalar'])];
  const { enum: choices, pattern, minLength, maxLength, minimum, maximum } = schema;
  if (choices) mutations.push(here('none of the choices', 'NoSuchChoice'));
  if (pattern) mutations.push(here('against the pattern', '/ !\n'.slice(0, maxLength)));
  if (minLength) mutations.push(here('too short', ''));
  if (maxLength) mutations.push(here('too long', 'a'.repeat(maxLength + 1)));
  if (minimum !== undefined) mutations.push(here('too small', minimum - 1));
  if (maximum !== undefined) mutations.push(here('too big', maximum + 1));
  return mutations;
}

function inList(schema: OpenApiSchema, value: unknown[], field: string, here: Here): Mutation[] {
  const { items, minItems, maxItems = 0 } = schema;
  const mutations = [here('another type', 'not a list')];
  if (minItems) mutations.push(here('too few', []));
  mutations.push(here('too many', Array(maxItems + 1).fill(value[0])));
  if (!items) return mutations;
  const inside = value.flatMap((entry, index) =>
    mutationsOf(items, entry, `${field}[${index}]`).map((mutation) => ({
      ...mutation,
      value: value.with(index, mutation.value),
    })),
  );
  return [...mutations, ...inside];
}

function inObject(schema: OpenApiSchema, value: Record<string, unknown>, field: string, here: Here): Mutation[] {
  const { properties, additionalProperties, required = [], maxProperties } = schema;
  const mutations = [here('another type', 'not an object')];
  if (properties) mutations.push(here('an unknown field', { ...value, noSuchField: 1 }, `${field}.noSuchField`));
  if (maxProperties !== undefined) {
    const sample = Object.values(value)[0];
    const many = Array.from({ length: maxProperties + 1 }, (_, index) => [`key-${index}`, sample]);
    mutations.push(here('too many', Object.fromEntries(many)));
  }
  for (const name of required) {
    const { [name]: _, ...rest } = value;
    mutations.push(here('a required field is missing', rest, `${field}.${name}`));
  }
  for (const [name, entry] of Object.entries(value)) {
    const inner = properties?.[name] ?? additionalProperties;
    if (!inner) continue;
    const at = properties ? `${field}.${name}` : `${field}[${name}]`;
    // A key with dots is written in another way in a map; the map itself is always named.
    const inside = mutationsOf(inner, entry, at).map((mutation) => ({
      ...mutation,
      field: properties ? mutation.field : field,
      value: { ...value, [name]: mutation.value },
    }));
    mutations.push(...inside);
  }
  return mutations;
}

/** The fields of a schema that a value does not have anywhere, for instance in any entry of a list. */
export function fieldsWithout(schema: OpenApiSchema, values: readonly unknown[], field: string): string[] {
  if (schema.items) {
    const items = schema.items;
    return fieldsWithout(
      items,
      values.flatMap((value) => (Array.isArray(value) ? value : [])),
      `${field}[]`,
    );
  }
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const present = values
      .filter((value): value is Record<string, unknown> => typeof value === 'object' && value !== null && name in value)
      .map((value) => value[name]);
    const at = `${field}.${name}`;
    return present.length === 0 ? [at] : fieldsWithout(inner, present, at);
  });
}
