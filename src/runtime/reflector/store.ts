/**
 * The objects a reflector has seen, by key, by namespace and by indexes of one's own, all as of the same event.
 *
 * What it gives out is shared with every other reader: an object must never be changed, only copied and written through the client.
 */
import type { KubernetesObject, ObjectKey } from '../objects/object.ts';

/** The values under which an object is found in an index; none keeps it out. */
export type IndexFunction<T> = (object: T) => readonly string[];

export interface ReadonlyStore<T extends KubernetesObject> {
  readonly size: number;
  get(key: ObjectKey): T | undefined;
  has(key: ObjectKey): boolean;
  list(): T[];
  byNamespace(namespace: string): T[];
  /** Throws where there is no such index. */
  byIndex(index: string, value: string): T[];
  /** The values in an index that some object has. */
  indexValues(index: string): string[];
  [Symbol.iterator](): IterableIterator<T>;
}

interface Index<T> {
  readonly valuesOf: IndexFunction<T>;
  readonly buckets: Map<string, Set<T>>;
}

export class Store<T extends KubernetesObject> implements ReadonlyStore<T> {
  // Two levels instead of "namespace/name": no string is made for a key, and a namespace is found without an index.
  readonly #namespaces = new Map<string, Map<string, T>>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #failed: (error: unknown) => void;
  #size = 0;

  /** `failed` hears of an index function that throws; the object is then in the store, but not in that index. */
  constructor(indexes: Readonly<Record<string, IndexFunction<T>>> = {}, failed: (error: unknown) => void = () => {}) {
    this.#failed = failed;
    for (const [name, valuesOf] of Object.entries(indexes)) this.#indexes.set(name, { valuesOf, buckets: new Map() });
  }

  get size(): number {
    return this.#size;
  }

  get(key: ObjectKey): T | undefined {
    return this.#namespaces.get(key.namespace ?? '')?.get(key.name);
  }

  has(key: ObjectKey): boolean {
    return this.get(key) !== undefined;
  }

  list(): T[] {
    return [...this];
  }

  byNamespace(namespace: string): T[] {
    return [...(this.#namespaces.get(namespace)?.values() ?? [])];
  }

  byIndex(index: string, value: string): T[] {
    return [...(this.#index(index).buckets.get(value) ?? [])];
  }

  indexValues(index: string): string[] {
    return [...this.#index(index).buckets.keys()];
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const objects of this.#namespaces.values()) yield* objects.values();
  }

  /** Puts an object in, in place of the one with its key. Returns that one. */
  set(object: T): T | undefined {
    const { namespace = '', name } = object.metadata;
    let objects = this.#namespaces.get(namespace);
    if (objects === undefined) {
      objects = new Map();
      this.#namespaces.set(namespace, objects);
    }
    const old = objects.get(name);
    if (old === undefined) this.#size += 1;
    else this.#unindex(old);
    objects.set(name, object);
    for (const { valuesOf, buckets } of this.#indexes.values()) {
      for (const value of this.#contained(valuesOf, object)) {
        const bucket = buckets.get(value);
        if (bucket === undefined) buckets.set(value, new Set([object]));
        else bucket.add(object);
      }
    }
    return old;
  }

  /** Takes an object out and returns it. */
  delete(key: ObjectKey): T | undefined {
    const objects = this.#namespaces.get(key.namespace ?? '');
    const old = objects?.get(key.name);
    if (objects === undefined || old === undefined) return undefined;
    objects.delete(key.name);
    if (objects.size === 0) this.#namespaces.delete(key.namespace ?? '');
    this.#size -= 1;
    this.#unindex(old);
    return old;
  }

  #unindex(object: T): void {
    for (const { valuesOf, buckets } of this.#indexes.values()) {
      for (const value of this.#contained(valuesOf, object)) {
        const bucket = buckets.get(value);
        if (bucket === undefined) continue;
        bucket.delete(object);
        if (bucket.size === 0) buckets.delete(value);
      }
    }
  }

  /** An object that an index cannot read is still an object: leaving it out would report a living one as deleted. */
  #contained(valuesOf: IndexFunction<T>, object: T): readonly string[] {
    try {
      return valuesOf(object);
    } catch (error) {
      this.#failed(error);
      return [];
    }
  }

  #index(name: string): Index<T> {
    const index = this.#indexes.get(name);
    if (index !== undefined) return index;
    const known = [...this.#indexes.keys()].join(', ');
    throw new RangeError(`there is no index "${name}": ${known === '' ? 'this store has none' : `it has ${known}`}`);
  }
}
