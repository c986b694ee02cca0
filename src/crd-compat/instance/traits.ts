/**
 * The features that occur anywhere in a schema. Most schemas have no rules, embedded resources, keyed lists or
 * defaults, and the passes for them can then be skipped. One walk finds all features.
 */
import type { CrdSchema } from '../schema.ts';

export interface Traits {
  readonly rules: boolean;
  /** Lists of type set or map. */
  readonly lists: boolean;
  readonly embedded: boolean;
  readonly defaults: boolean;
}

/** A cache: the traits of a schema never change. */
const KNOWN = new WeakMap<CrdSchema, Traits>();

/**
 * Covers the schema and everything inside it except allOf, anyOf, oneOf and not, where a structural schema has none of
 * these.
 */
export function traitsOf(schema: CrdSchema): Traits {
  const known = KNOWN.get(schema);
  if (known !== undefined) return known;
  const bits = bitsOf(schema);
  const found = {
    rules: (bits & RULES) !== 0,
    lists: (bits & LISTS) !== 0,
    embedded: (bits & EMBEDDED) !== 0,
    defaults: (bits & DEFAULTS) !== 0,
  };
  KNOWN.set(schema, found);
  return found;
}

const RULES = 1;
const LISTS = 2;
const EMBEDDED = 4;
const DEFAULTS = 8;

function bitsOf(schema: CrdSchema): number {
  const { properties, items, additionalProperties, 'x-kubernetes-list-type': listType } = schema;
  const hasRules = (schema['x-kubernetes-validations']?.length ?? 0) > 0;
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  const hasDefault = schema.default !== undefined && schema.default !== null;
  let bits =
    (listType === 'map' || listType === 'set' ? LISTS : 0) |
    (hasRules ? RULES : 0) |
    (isEmbedded ? EMBEDDED : 0) |
    (hasDefault ? DEFAULTS : 0) |
    (items === undefined ? 0 : bitsOf(items)) |
    (typeof additionalProperties === 'object' ? bitsOf(additionalProperties) : 0);
  if (properties !== undefined)
    for (const name of Object.keys(properties)) bits |= bitsOf(properties[name] as CrdSchema);
  return bits;
}
