/**
 * The newest known version of each object.
 *
 * The cache lags behind our own writes, and a decision on a stale version would only conflict. Entries are dropped once
 * the cache has caught up. A standby replica applies reports and never reads, so the number of entries is limited to
 * the newest.
 */
import { isAtLeast } from '../../api/index.ts';
import { formatKey, type KubernetesObject, keyOf, type ObjectKey } from '../../runtime/index.ts';
import type { Deployable } from './deployable.ts';

const mostObjects = 2_048;

export class Latest<T extends KubernetesObject = Deployable> {
  readonly #objects = new Map<string, T>();

  /** Remembers the response of the API server. */
  keep(object: T): void {
    const id = idOf(object);
    const known = this.#objects.get(id);
    if (known !== undefined && !isNewer(object, known)) return;
    this.#objects.delete(id);
    this.#objects.set(id, object);
    const [oldest] = this.#objects.keys();
    if (this.#objects.size > mostObjects && oldest !== undefined) this.#objects.delete(oldest);
  }

  /** Returns the newer of the cached and the remembered version. */
  of(cached: T): T {
    const kept = this.#objects.get(idOf(cached));
    if (kept === undefined) return cached;
    if (isNewer(kept, cached)) return kept;
    this.#objects.delete(idOf(cached));
    return cached;
  }

  /** Drops a deleted object. */
  forget(kind: string, key: ObjectKey): void {
    this.#objects.delete(`${kind}/${formatKey(key)}`);
  }

  get size(): number {
    return this.#objects.size;
  }
}

const idOf = (object: KubernetesObject): string => `${object.kind}/${formatKey(keyOf(object))}`;

const isNewer = (one: KubernetesObject, other: KubernetesObject): boolean =>
  !isAtLeast(other.metadata.resourceVersion ?? '', one.metadata.resourceVersion ?? '');
