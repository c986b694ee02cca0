/**
 * Reads and creates maps. A map is a JSON object or a `CelMap`. Only own data properties count, so no name in an
 * expression (`__proto__`, `constructor`, `toString`, a getter) reaches a prototype or runs code.
 */
import { CelError, CelMap, type JsonMap, Uint, type Value } from './values.ts';

type AnyMap = JsonMap | CelMap;

const hasOwn = Object.hasOwn;

/** `mapGet` returns the value under `key`, or undefined. An own property whose value is undefined counts as absent. */
export function mapGet(map: AnyMap, key: Value): Value | undefined {
  if (map instanceof CelMap) return map.get(key);
  return typeof key === 'string' ? ownProperty(map, key) : undefined;
}

export function mapHas(map: AnyMap, key: Value): boolean {
  return mapGet(map, key) !== undefined;
}

export function ownProperty(map: JsonMap, key: string): Value | undefined {
  return hasOwn(map, key) ? map[key] : undefined;
}

export function mapSize(map: AnyMap): number {
  return map instanceof CelMap ? map.size : mapKeys(map).length;
}

export function mapKeys(map: AnyMap): readonly Value[] {
  if (map instanceof CelMap) return [...map.keys()];
  const keys = Object.keys(map);
  // A host may set `undefined` where JSON would omit the key.
  for (const key of keys) if (map[key] === undefined) return keys.filter((each) => map[each] !== undefined);
  return keys;
}

export function* mapEntries(map: AnyMap): IterableIterator<readonly [Value, Value]> {
  if (map instanceof CelMap) {
    yield* map.entries();
    return;
  }
  for (const key of mapKeys(map) as string[]) yield [key, map[key] as Value];
}

/** `mapOf` creates a map of `entries`: an object if all keys are strings. A duplicate or invalid key is an error. */
export function mapOf(entries: readonly (readonly [Value, Value])[]): AnyMap | CelError {
  if (entries.every(([key]) => typeof key === 'string')) {
    const object: Record<string, Value> = {};
    for (const [key, value] of entries as readonly (readonly [string, Value])[]) {
      if (hasOwn(object, key)) return new CelError('duplicate_key', `Failed with repeated key: ${key}`);
      setOwn(object, key, value);
    }
    return object;
  }
  for (const [key] of entries) {
    if (!isKey(key)) return new CelError('unsupported_key', 'unsupported key type');
  }
  const map = new CelMap(entries);
  return map.size < entries.length ? new CelError('duplicate_key', 'Failed with repeated key') : map;
}

/** `isKey` reports whether `key` is a valid map key: a bool, int, uint or string. */
export function isKey(key: Value): boolean {
  switch (typeof key) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return true;
    case 'number':
      return Number.isSafeInteger(key);
    default:
      return key instanceof Uint;
  }
}

/** `setOwn` sets an own property, even one named `__proto__`. */
export function setOwn(object: Record<string, Value>, key: string, value: Value): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}

const keyExists = (key: Value): CelError =>
  new CelError('duplicate_key', `insert failed: key ${key instanceof Uint ? key.value : String(key)} already exists`);

/** `mapInsert` returns a copy of `map` with one more entry; an existing key is an error. */
export function mapInsert(map: AnyMap, key: Value, value: Value): AnyMap | CelError {
  if (mapGet(map, key) !== undefined) return keyExists(key);
  return mapOf([...mapEntries(map), [key, value]]);
}

/** `mapMerge` returns the entries of both maps; a key in both is an error. */
export function mapMerge(map: AnyMap, other: AnyMap): AnyMap | CelError {
  for (const [key] of mapEntries(other)) if (mapGet(map, key) !== undefined) return keyExists(key);
  return mapOf([...mapEntries(map), ...mapEntries(other)]);
}
