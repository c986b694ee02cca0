/** What the API server fills in, after it has dropped the nulls that may not be there and have no default. */
import type { CrdSchema } from '../schema.ts';
import { copied, isObject, type JsonObject } from './json.ts';

/** The value with its defaults; the value itself where there is nothing to fill in or to drop. */
export function applyDefaults(value: unknown, schema: CrdSchema): unknown {
  return fillIn(withoutNulls(value, schema), schema);
}

const hasDefault = (schema: CrdSchema): boolean => schema.default !== undefined && schema.default !== null;

const belowKey = ({ properties, additionalProperties }: CrdSchema, key: string): CrdSchema | undefined => {
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
};

/** Nulls in lists stay. */
function withoutNulls(value: unknown, schema: CrdSchema | undefined): unknown {
  if (schema === undefined) return value;
  return mapped(value, schema, (element, inner, isKey) => {
    if (isKey && element === null && inner?.nullable !== true && inner !== undefined && !hasDefault(inner))
      return undefined;
    return withoutNulls(element, inner);
  });
}

function fillIn(value: unknown, schema: CrdSchema | undefined): unknown {
  if (schema === undefined || (Array.isArray(value) && !fillsItems(schema))) return value;
  const filled = isObject(value) ? withMissing(value, schema) : value;
  return mapped(filled, schema, (element, inner) => {
    const replaced = element === null && inner !== undefined && inner.nullable !== true ? defaultOf(inner) : element;
    return fillIn(replaced, inner);
  });
}

function defaultOf(schema: CrdSchema): unknown {
  const filled = hasDefault(schema) ? schema.default : null;
  return typeof filled === 'object' && filled !== null ? copied(filled) : filled;
}

function withMissing(value: JsonObject, schema: CrdSchema): JsonObject {
  const { properties } = schema;
  if (properties === undefined) return value;
  let copy: Record<string, unknown> | undefined;
  for (const name of defaultedIn(schema)) {
    if (Object.hasOwn(value, name)) continue;
    copy ??= { ...value };
    copy[name] = defaultOf(properties[name] as CrdSchema);
  }
  return copy ?? value;
}

const DEFAULTED = new WeakMap<CrdSchema, readonly string[]>();

function defaultedIn(schema: CrdSchema): readonly string[] {
  let names = DEFAULTED.get(schema);
  if (names === undefined) {
    names = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => (hasDefault(property) ? [name] : []));
    DEFAULTED.set(schema, names);
  }
  return names;
}

const FILLED = new WeakMap<CrdSchema, boolean>();

/** Whether there is a default anywhere in the items of a list: mostly there is none, and lists can be long. */
function fillsItems({ items }: CrdSchema): boolean {
  if (items === undefined) return false;
  const known = FILLED.get(items) ?? hasDefaults(items);
  FILLED.set(items, known);
  return known;
}

function hasDefaults(schema: CrdSchema): boolean {
  if (hasDefault(schema)) return true;
  const { items, additionalProperties, properties = {} } = schema;
  const inner = [items, additionalProperties, ...Object.values(properties)];
  return inner.some((each) => typeof each === 'object' && hasDefaults(each));
}

type Change = (element: unknown, schema: CrdSchema | undefined, isKey: boolean) => unknown;

/** The value with each element changed, an undefined one left out; itself where that changes nothing. */
function mapped(value: unknown, schema: CrdSchema, change: Change): unknown {
  if (Array.isArray(value)) {
    let copy: unknown[] | undefined;
    for (let index = 0; index < value.length; index++) {
      const changed = change(value[index], schema.items, false);
      if (changed === value[index]) continue;
      copy ??= [...value];
      copy[index] = changed;
    }
    return copy ?? value;
  }
  if (!isObject(value)) return value;
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const changed = change(value[key], belowKey(schema, key), true);
    if (changed === value[key]) continue;
    copy ??= { ...value };
    if (changed === undefined) delete copy[key];
    else copy[key] = changed;
  }
  return copy ?? value;
}
