/**
 * The objects that a reflector has seen, by key, by namespace and by custom indexes, all consistent with the same
 * event.
 *
 * Objects are shared with every other reader: never change one; copy it and write the copy through the client.
 */
import type { KubernetesObject, ObjectKey } from '../objects/object.ts';

/** Returns the values under which an index contains the object; an empty array omits it. */
export type IndexFunction<T> = (object: T) => readonly string[];

export interface ReadonlyStore<T extends KubernetesObject> {
  readonly size: number;
  get(key: ObjectKey): T | undefined;
  has(key: ObjectKey): boolean;
  list(): T[];
  byNamespace(namespace: string): T[];
  /** Throws if the index does not exist. */
  byIndex(index: string, value: string): T[];
  /** Returns the values in an index that at least one object has. */
  indexValues(index: string): string[];
  [Symbol.iterator](): IterableIterator<T>;
}

interface Index<T> {
  readonly valuesOf: IndexFunction<T>;
  readonly buckets: Map<string, Set<T>>;
}

export class Store<T extends KubernetesObject> implements ReadonlyStore<T> {
  // Two levels instead of "namespace/name": keys need no string concatenation, and a namespace is found without an
  // index.
  readonly #namespaces = new Map<string, Map<string, T>>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #failed: (error: unknown) => void;
  #size = 0;

  /** `failed` is called if an index function throws; the object is then in the store, but not in that index. */
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

  /** Adds an object or replaces the one with its key. Returns the replaced object. */
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

  /** Removes an object and returns it. */
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

  /**
   * An object that an index function cannot read is still stored: omitting it would report an existing object as
   * deleted.
   */
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
