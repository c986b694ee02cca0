/** Accumulators of loops that build maps: entries are added in place, and the map is created at the end. */
import { isKey, mapEntries } from '../map.ts';
import { memberKey } from '../plan/membership.ts';
import { CelError, CelMap, isMap, type JsonMap, noSuchOverload, Uint, type Value } from '../values.ts';

export class MapBuilder {
  readonly #entries = new Map<string | number | bigint | boolean, readonly [Value, Value]>();
  #textual = true;

  insert(key: Value, value: Value): CelError | undefined {
    const known = isKey(key) ? memberKey(key) : undefined;
    if (known === undefined) return new CelError('unsupported_key', 'unsupported key type');
    if (this.#entries.has(known)) {
      const shown = key instanceof Uint ? key.value : String(key);
      return new CelError('duplicate_key', `insert failed: key ${shown} already exists`);
    }
    this.#entries.set(known, [key, value]);
    if (typeof key !== 'string') this.#textual = false;
    return undefined;
  }

  merge(map: Value): CelError | undefined {
    if (!isMap(map)) return noSuchOverload();
    for (const [key, value] of mapEntries(map)) {
      const failed = this.insert(key, value);
      if (failed !== undefined) return failed;
    }
    return undefined;
  }

  finish(): JsonMap | CelMap {
    if (!this.#textual) return new CelMap(this.#entries.values());
    // Object.fromEntries defines own properties, so `__proto__` is an ordinary key.
    return Object.fromEntries(this.#entries.values() as Iterable<readonly [string, Value]>);
  }
}
