/** Checks lists of type set or map: no two elements are equal, or have equal keys. */
import { canonical } from '../canonical.ts';
import type { CrdSchema } from '../schema.ts';
import { isInt64, isObject, shown } from './json.ts';
import { Run } from './run.ts';
import { traitsOf } from './traits.ts';
import { type At, visitAll } from './visitor.ts';

/**
 * An update is checked only if all lists were valid before it. A schema without such lists is not walked at all, and
 * the old value is walked only if the new one is invalid.
 */
export function listTypeCheck(schema: CrdSchema): ((value: unknown, old: unknown, run: Run) => void) | undefined {
  if (!traitsOf(schema).lists) return undefined;
  return (value, old, run) => {
    const before = run.faults.length;
    visitAll(value, schema, listVisit, run);
    if (run.faults.length === before || old === undefined) return;
    const earlier = new Run();
    visitAll(old, schema, listVisit, earlier);
    if (earlier.faults.length > 0) run.forget(before);
  };
}

const listVisit: At = (schema) => {
  switch (schema['x-kubernetes-list-type']) {
    case 'set':
      return (value, run) => {
        if (Array.isArray(value)) checkSet(value, run);
      };
    case 'map':
      return (value, run) => {
        if (Array.isArray(value)) checkMap(value, schema['x-kubernetes-list-map-keys'] ?? [], run);
      };
    default:
      return undefined;
  }
};

function checkSet(list: readonly unknown[], run: Run): void {
  for (const index of repeated(list)) {
    run.faultAt(index, 'x-kubernetes-list-type', `${shown(list[index])} is in the set twice`);
  }
}

function checkMap(list: readonly unknown[], keys: readonly string[], run: Run): void {
  for (let index = 0; index < list.length; index++) {
    const element = list[index];
    if (element === null || isObject(element)) continue;
    run.faultAt(index, 'x-kubernetes-list-type', 'must be an object, because the list is a map');
    return;
  }
  if (list.length < 2) return;
  const [only] = keys;
  const identities = list.map((element) => {
    const held = isObject(element) ? element : {};
    // This is the usual case: one key, which is present.
    if (keys.length === 1 && Object.hasOwn(held, only as string)) return held[only as string];
    return Object.fromEntries(keys.filter((key) => Object.hasOwn(held, key)).map((key) => [key, held[key]]));
  });
  for (const index of repeated(identities)) {
    run.faultAt(index, 'x-kubernetes-list-type', `another element has the keys ${shown(identities[index])}`);
  }
}

/** Returns the indices of the repeated elements. */
function repeated(list: readonly unknown[]): readonly number[] {
  if (list.length < 2) return [];
  if (list.every((each) => typeof each === 'string') && new Set(list).size === list.length) return [];
  const seen = new Map<string, number>();
  const found: number[] = [];
  for (let index = 0; index < list.length; index++) {
    const text = identity(list[index]);
    const times = seen.get(text);
    if (times === 1) found.push(index);
    seen.set(text, (times ?? 0) + 1);
  }
  return found;
}

/** Integers and floats are different, even if they are written the same. */
function identity(value: unknown): string {
  if (typeof value === 'string') return `"${value}`;
  return `${isInt64(value) ? 'i' : ''}${canonical(value)}`;
}
