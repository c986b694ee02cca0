/** A schema as if it did not have a keyword, at any depth. */
import type { CrdSchema } from '../schema.ts';

const made = new WeakMap<CrdSchema, Map<string, CrdSchema>>();

export function without(schema: CrdSchema, keyword: 'allOf' | 'x-kubernetes-validations'): CrdSchema {
  const known = made.get(schema) ?? new Map<string, CrdSchema>();
  made.set(schema, known);
  const found = known.get(keyword) ?? removed(schema, keyword);
  known.set(keyword, found);
  return found;
}

function removed(schema: CrdSchema, keyword: 'allOf' | 'x-kubernetes-validations'): CrdSchema {
  const { [keyword]: _, items, properties, additionalProperties, ...rest } = schema;
  const inner = (each: CrdSchema): CrdSchema => removed(each, keyword);
  const named = Object.entries(properties ?? {}).map(([name, each]) => [name, inner(each)] as const);
  return {
    ...rest,
    ...(items === undefined ? {} : { items: inner(items) }),
    ...(properties === undefined ? {} : { properties: Object.fromEntries(named) }),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties:
            typeof additionalProperties === 'object' ? inner(additionalProperties) : additionalProperties,
        }),
  };
}
