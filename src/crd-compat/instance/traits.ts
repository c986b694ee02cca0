/**
 * What there is anywhere in a schema: most have no rules, no resources inside, no lists with keys or no defaults, and then nobody need
 * look for them. Found in one walk for all who ask.
 */
import type { CrdSchema } from '../schema.ts';

export interface Traits {
  readonly rules: boolean;
  /** Lists that are sets or maps. */
  readonly lists: boolean;
  readonly embedded: boolean;
  readonly defaults: boolean;
}

const KNOWN = new WeakMap<CrdSchema, Traits>();

/** Of the schema and all that is inside it, allOf, anyOf, oneOf and not aside: a structural schema has none of these there. */
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
