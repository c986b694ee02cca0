/**
 * The newest version of an object that this process knows: a cache is a moment behind what we have just written, and a decision made on
 * that would only be refused. What is kept here is dropped as soon as the cache has caught up.
 */
import { isAtLeast } from '../../api/index.ts';
import { formatKey, keyOf, type ObjectKey } from '../../runtime/index.ts';
import type { Deployable } from './deployable.ts';

export class Latest {
  readonly #objects = new Map<string, Deployable>();

  /** What the API server has answered. */
  keep(object: Deployable): void {
    const known = this.#objects.get(idOf(object));
    if (known === undefined || isNewer(object, known)) this.#objects.set(idOf(object), object);
  }

  /** The newer of what the cache has and what was kept. */
  of(cached: Deployable): Deployable {
    const kept = this.#objects.get(idOf(cached));
    if (kept === undefined) return cached;
    if (isNewer(kept, cached)) return kept;
    this.#objects.delete(idOf(cached));
    return cached;
  }

  /** It is gone. */
  forget(kind: string, key: ObjectKey): void {
    this.#objects.delete(`${kind}/${formatKey(key)}`);
  }

  get size(): number {
    return this.#objects.size;
  }
}

const idOf = (object: Deployable): string => `${object.kind}/${formatKey(keyOf(object))}`;

const isNewer = (one: Deployable, other: Deployable): boolean =>
  !isAtLeast(other.metadata.resourceVersion ?? '', one.metadata.resourceVersion ?? '');
