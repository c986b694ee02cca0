/**
 * Merges a partial object into an object like server-side apply: objects field by field, map lists by their keys, sets
 * by their values. Like native policies, it rejects changes of atomic lists and maps, because fields that the author
 * did not list would be lost.
 */
import { isJsonObject, type JsonObject, sameJson, setField, writeJson } from './json.ts';
import type { ListType, MergeType } from './merge-type.ts';

type Merged = { readonly object: JsonObject; readonly error?: undefined } | { readonly error: string };

/** `mergeConfiguration` returns the merged object; the same reference if nothing changes. */
export function mergeConfiguration(object: JsonObject, configuration: JsonObject, type: MergeType): Merged {
  // A mutation cannot change the type of an object.
  const partial = { ...configuration, apiVersion: object.apiVersion, kind: object.kind };
  const invalid = problems(partial, type, '');
  if (invalid.length > 0) {
    return { error: `failed to convert patch object to typed object: ${invalid.join(', ')}` };
  }
  const atomic = atomics(partial, type, '');
  if (atomic.length > 0) {
    return {
      error: `invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomic.join(', ')}; use a JSONPatch to replace one whole`,
    };
  }
  return { object: merge(object, partial, type) as JsonObject };
}

/** Lists the fields of the partial object that do not fit the type. */
function problems(value: unknown, type: MergeType, path: string): readonly string[] {
  if (value === null) return [];
  const at = path === '' ? '.' : path;
  switch (type.kind) {
    case 'deduced':
      return [];
    case 'scalar':
      return isJsonObject(value) || Array.isArray(value) ? [`${at}: expected scalar, got ${writeJson(value)}`] : [];
    case 'struct':
    case 'map':
      if (!isJsonObject(value)) return [`${at}: expected map, got ${writeJson(value)}`];
      return Object.entries(value).flatMap(([name, each]) => {
        const inner = fieldOf(type, name);
        return inner === undefined
          ? [`${path}.${name}: field not declared in schema`]
          : problems(each, inner, `${path}.${name}`);
      });
    case 'list': {
      if (!Array.isArray(value)) return [`${at}: expected list, got ${writeJson(value)}`];
      const inside = value.flatMap((each, index) => problems(each, type.element, `${path}[${index}]`));
      return [...inside, ...keyProblems(value, type, path)];
    }
  }
}

function keyProblems(list: readonly unknown[], type: ListType, path: string): readonly string[] {
  if (type.relation === 'atomic') return [];
  const seen = new Set<string>();
  return list.flatMap((each, index) => {
    const key = keyOf(each, type);
    if (key === undefined) {
      const wanted = type.relation === 'set' ? 'a plain value' : `the key fields ${type.keys.map(({ name }) => name)}`;
      return [`${path}[${index}]: an element of this list must have ${wanted}`];
    }
    if (seen.has(key)) return [`${path}: duplicate entries for key ${key}`];
    seen.add(key);
    return [];
  });
}

/**
 * Lists the atomic fields, which can only be replaced as a whole. Like the server, it does not check inside untyped
 * maps.
 */
function atomics(value: unknown, type: MergeType, path: string): readonly string[] {
  if (type.kind === 'struct' && isJsonObject(value)) {
    const inside = Object.entries(value).flatMap(([name, each]) => {
      const inner = type.fields.get(name);
      return inner === undefined ? [] : atomics(each, inner, `${path}.${name}`);
    });
    return type.atomic ? [path, ...inside] : inside;
  }
  if (type.kind === 'map' && isJsonObject(value)) return type.atomic ? [path] : [];
  if (type.kind === 'list' && Array.isArray(value)) {
    const inside = value.flatMap((each, index) => atomics(each, type.element, `${path}[${index}]`));
    return type.relation === 'atomic' ? [path, ...inside] : inside;
  }
  return [];
}

/** Merges `right` into `left`; returns `left` itself if nothing changes. */
function merge(left: unknown, right: unknown, type: MergeType): unknown {
  if (isJsonObject(left) && isJsonObject(right) && type.kind !== 'scalar' && type.kind !== 'list') {
    return type.kind !== 'deduced' && type.atomic ? keep(left, right) : mergeObjects(left, right, type);
  }
  if (Array.isArray(left) && Array.isArray(right) && type.kind === 'list' && type.relation !== 'atomic') {
    return keep(left, mergeLists(left, right, type));
  }
  return keep(left, right);
}

const keep = (left: unknown, right: unknown): unknown => (sameJson(left, right) ? left : right);

function mergeObjects(left: JsonObject, right: JsonObject, type: MergeType): JsonObject {
  let merged: Record<string, unknown> | undefined;
  for (const [name, value] of Object.entries(right)) {
    const before = Object.hasOwn(left, name) ? left[name] : undefined;
    const after = before === undefined ? value : merge(before, value, fieldOf(type, name) ?? DEDUCED);
    if (after === before) continue;
    merged ??= { ...left };
    setField(merged, name, after);
  }
  return merged ?? left;
}

const DEDUCED: MergeType = { kind: 'deduced' };

function fieldOf(type: MergeType, name: string): MergeType | undefined {
  switch (type.kind) {
    case 'struct':
      return type.fields.get(name) ?? (type.open ? DEDUCED : undefined);
    case 'map':
      return type.element;
    case 'deduced':
      return DEDUCED;
    default:
      return undefined;
  }
}

/**
 * Common elements are merged in the order of the right list; other elements keep their position among their neighbours,
 * left ones before right ones.
 */
function mergeLists(left: readonly unknown[], right: readonly unknown[], type: ListType): readonly unknown[] {
  const leftKeys = left.map((each) => keyOf(each, type) ?? '');
  const rightKeys = right.map((each) => keyOf(each, type) ?? '');
  const leftByKey = new Map<string, unknown>();
  // Elements with duplicate keys are not merged, because the match would be ambiguous.
  for (const [index, key] of leftKeys.entries()) leftByKey.set(key, leftByKey.has(key) ? undefined : left[index]);
  const inRight = new Set(rightKeys);
  const shared = rightKeys.filter((key) => leftByKey.has(key));
  const done = new Set<string>();
  const merged: unknown[] = [];
  let l = 0;
  let r = 0;
  const takeRight = (key: string): void => {
    const before = leftByKey.get(key);
    merged.push(before === undefined ? right[r] : merge(before, right[r], type.element));
    done.add(key);
    if (shared[0] === key) shared.shift();
    r++;
  };
  while (l < left.length || r < right.length) {
    const leftKey = leftKeys[l];
    const rightKey = rightKeys[r];
    if (leftKey !== undefined && leftKey === rightKey) {
      takeRight(rightKey);
      l++;
      continue;
    }
    if (leftKey !== undefined && !inRight.has(leftKey)) {
      merged.push(left[l++]);
      continue;
    }
    // Common elements are placed at their position in the right list.
    const waits = rightKey !== undefined && shared.length > 0 && shared[0] !== leftKey;
    if (leftKey !== undefined && waits) {
      l++;
      continue;
    }
    if (leftKey !== undefined && done.has(leftKey)) l++;
    if (rightKey !== undefined) takeRight(rightKey);
  }
  return merged;
}

/** Returns the merge key of a list element, or undefined if it has none. */
function keyOf(element: unknown, type: ListType): string | undefined {
  if (type.relation === 'set') {
    return isJsonObject(element) || Array.isArray(element) || element === null ? undefined : writeJson(element);
  }
  if (!isJsonObject(element)) return undefined;
  const values = type.keys.map(({ name, byDefault }) => (Object.hasOwn(element, name) ? element[name] : byDefault));
  return values.every((each) => each === undefined) ? undefined : writeJson(values);
}
