/** Lists that are sets or maps: no two elements the same, or with the same keys. */
import type { CrdSchema } from '../schema.ts';
import { canonicalText, isInt64, isObject, shown } from './json.ts';
import { Run } from './run.ts';

/**
 * On an update they are only looked at if all of them were right before. There is no walk at all where the schema has no such list, and
 * the old value is only walked where the new one is wrong.
 */
export function checkListTypes(schema: CrdSchema, value: unknown, old: unknown, run: Run): void {
  if (!hasListTypes(schema)) return;
  const before = run.faults.length;
  walk(value, schema, run);
  if (run.faults.length === before || old === undefined) return;
  const earlier = new Run();
  walk(old, schema, earlier);
  if (earlier.faults.length > 0) run.forget(before);
}

const KNOWN = new WeakMap<CrdSchema, boolean>();

function hasListTypes(schema: CrdSchema): boolean {
  const known = KNOWN.get(schema);
  if (known !== undefined) return known;
  const type = schema['x-kubernetes-list-type'];
  const { items, additionalProperties, properties = {} } = schema;
  const inner = [items, additionalProperties, ...Object.values(properties)];
  const found =
    type === 'set' || type === 'map' || inner.some((each) => typeof each === 'object' && hasListTypes(each));
  KNOWN.set(schema, found);
  return found;
}

function walk(value: unknown, schema: CrdSchema, run: Run): void {
  if (!hasListTypes(schema)) return;
  if (Array.isArray(value)) {
    if (schema['x-kubernetes-list-type'] === 'set') checkSet(value, run);
    if (schema['x-kubernetes-list-type'] === 'map') checkMap(value, schema['x-kubernetes-list-map-keys'] ?? [], run);
    const { items } = schema;
    if (items === undefined) return;
    for (const [index, element] of value.entries()) step(index, element, items, run);
  } else if (isObject(value)) {
    const { properties = {}, additionalProperties } = schema;
    for (const key of Object.keys(value)) {
      if (typeof additionalProperties === 'object') step(key, value[key], additionalProperties, run);
      if (Object.hasOwn(properties, key)) step(key, value[key], properties[key] as CrdSchema, run);
    }
  }
}

function step(at: string | number, value: unknown, schema: CrdSchema, run: Run): void {
  run.enter(at);
  walk(value, schema, run);
  run.leave();
}

function checkSet(list: readonly unknown[], run: Run): void {
  for (const index of repeated(list)) {
    run.faultAt(index, 'x-kubernetes-list-type', `${shown(list[index])} is in the set twice`);
  }
}

function checkMap(list: readonly unknown[], keys: readonly string[], run: Run): void {
  for (const [index, element] of list.entries()) {
    if (element === null || isObject(element)) continue;
    run.faultAt(index, 'x-kubernetes-list-type', 'must be an object, because the list is a map');
    return;
  }
  const identities = list.map((element) => {
    const held = isObject(element) ? element : {};
    return Object.fromEntries(keys.filter((key) => Object.hasOwn(held, key)).map((key) => [key, held[key]]));
  });
  for (const index of repeated(identities)) {
    run.faultAt(index, 'x-kubernetes-list-type', `another element has the keys ${shown(identities[index])}`);
  }
}

/** The places of the second of each. */
function repeated(list: readonly unknown[]): readonly number[] {
  if (list.length < 2) return [];
  const seen = new Map<string, number>();
  const found: number[] = [];
  for (const [index, each] of list.entries()) {
    const text = identity(each);
    const times = seen.get(text) ?? 0;
    if (times === 1) found.push(index);
    seen.set(text, times + 1);
  }
  return found;
}

/** Whole numbers and others are apart, also where they are written the same. */
const identity = (value: unknown): string => `${isInt64(value) ? 'i' : ''}${canonicalText(value)}`;
