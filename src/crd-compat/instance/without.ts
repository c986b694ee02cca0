/** Removes a keyword from a schema at every depth. */
import type { CrdSchema } from '../schema.ts';

type Keyword = 'allOf' | 'x-kubernetes-validations';

/** A cache: the result depends on the schema and the keyword only. */
const made = new WeakMap<CrdSchema, Map<string, CrdSchema>>();

/** Returns the schema itself if it does not have the keyword; unchanged parts are shared with it. */
export function without(schema: CrdSchema, keyword: Keyword): CrdSchema {
  const known = made.get(schema) ?? new Map<string, CrdSchema>();
  made.set(schema, known);
  const found = known.get(keyword) ?? removed(schema, keyword);
  known.set(keyword, found);
  return found;
}

function removed(schema: CrdSchema, keyword: Keyword): CrdSchema {
  const { items, properties, additionalProperties } = schema;
  const changed: Record<string, unknown> = {};
  if (items !== undefined) changed.items = removed(items, keyword);
  if (typeof additionalProperties === 'object') changed.additionalProperties = removed(additionalProperties, keyword);
  if (properties !== undefined) changed.properties = removedIn(properties, keyword);
  const isSame =
    schema[keyword] === undefined &&
    Object.keys(changed).every((name) => changed[name] === schema[name as keyof CrdSchema]);
  if (isSame) return schema;
  const { [keyword]: _, ...rest } = schema;
  return { ...rest, ...changed };
}

function removedIn(
  properties: Readonly<Record<string, CrdSchema>>,
  keyword: Keyword,
): Readonly<Record<string, CrdSchema>> {
  let copy: Record<string, CrdSchema> | undefined;
  for (const [name, property] of Object.entries(properties)) {
    const kept = removed(property, keyword);
    if (kept === property) continue;
    copy ??= { ...properties };
    copy[name] = kept;
  }
  return copy ?? properties;
}
