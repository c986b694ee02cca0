/**
 * Applies defaults the way the API server does, after dropping nulls that are neither allowed nor replaced by a
 * default.
 */
import type { CrdSchema } from '../schema.ts';
import { keyOfAlike } from './alike.ts';
import { copied, type JsonObject } from './json.ts';
import { traitsOf } from './traits.ts';

/** `applyDefaults` returns the value with its defaults, or the value itself if nothing changes. */
export function applyDefaults(value: unknown, schema: CrdSchema): unknown {
  return fillIn(holdsNull(value) ? withoutNulls(value, schema) : value, schema);
}

/** Most values contain no null, and then the schema need not be walked. */
function holdsNull(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === null;
  if (Array.isArray(value)) {
    const length = keyOfAlike(value) === undefined ? value.length : 1;
    for (let index = 0; index < length; index++) {
      if (index > 0 && value[index] === value[index - 1]) continue;
      if (holdsNull(value[index])) return true;
    }
    return false;
  }
  for (const key in value) if (holdsNull((value as JsonObject)[key])) return true;
  return false;
}

const hasDefault = (schema: CrdSchema): boolean => schema.default !== undefined && schema.default !== null;

const belowKey = ({ properties, additionalProperties }: CrdSchema, key: string): CrdSchema | undefined => {
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key];
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
};

/** Nulls in lists stay. */
function withoutNulls(value: unknown, schema: CrdSchema | undefined): unknown {
  if (schema === undefined || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined ? value : mappedList(value, (element) => withoutNulls(element, items));
  }
  return mappedObject(value as JsonObject, (element, key) => {
    const inner = belowKey(schema, key);
    if (element !== null || inner === undefined) return withoutNulls(element, inner);
    return inner.nullable === true || hasDefault(inner) ? null : undefined;
  });
}

function fillIn(value: unknown, schema: CrdSchema | undefined): unknown {
  if (schema === undefined || typeof value !== 'object' || value === null || !traitsOf(schema).defaults) return value;
  const fill = (element: unknown, inner: CrdSchema | undefined): unknown => {
    const replaced = element === null && inner !== undefined && inner.nullable !== true ? defaultOf(inner) : element;
    return fillIn(replaced, inner);
  };
  if (Array.isArray(value)) return mappedList(value, (element) => fill(element, schema.items));
  return mappedObject(withMissing(value as JsonObject, schema), (element, key) => fill(element, belowKey(schema, key)));
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

/** A cache: the names of the fields with defaults never change for a schema. */
const DEFAULTED = new WeakMap<CrdSchema, readonly string[]>();

function defaultedIn(schema: CrdSchema): readonly string[] {
  let names = DEFAULTED.get(schema);
  if (names === undefined) {
    names = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => (hasDefault(property) ? [name] : []));
    DEFAULTED.set(schema, names);
  }
  return names;
}

/** Maps the elements of a list that are not scalars; returns the list itself if nothing changes. */
function mappedList(list: readonly unknown[], change: (element: unknown) => unknown): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let index = 0; index < list.length; index++) {
    const element = list[index];
    if (typeof element !== 'object') continue;
    // An element that did not change does not change when it is repeated.
    if (index > 0 && copy === undefined && element === list[index - 1]) continue;
    if (index === 1 && copy === undefined && keyOfAlike(list) !== undefined) break;
    const changed = change(element);
    if (changed === element) continue;
    copy ??= [...list];
    copy[index] = changed;
  }
  return copy ?? list;
}

/** Does the same for an object; a member that is mapped to undefined is dropped. */
function mappedObject(object: JsonObject, change: (element: unknown, key: string) => unknown): JsonObject {
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(object)) {
    const element = object[key];
    if (typeof element !== 'object') continue;
    const changed = change(element, key);
    if (changed === element) continue;
    copy ??= { ...object };
    if (changed === undefined) delete copy[key];
    else copy[key] = changed;
  }
  return copy ?? object;
}
