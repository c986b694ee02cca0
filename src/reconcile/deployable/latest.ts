/**
 * The newest version of an object that this process knows: a cache is a moment behind what we have just written, and a decision made on
 * that would only be refused. What is kept here is dropped as soon as the cache has caught up and somebody looks. A replica that does not
 * lead takes reports and never looks: so it is no more than so many, and of those the newest.
 */
import { isAtLeast } from '../../api/index.ts';
import { formatKey, type KubernetesObject, keyOf, type ObjectKey } from '../../runtime/index.ts';
import type { Deployable } from './deployable.ts';

const mostObjects = 2_048;

export class Latest<T extends KubernetesObject = Deployable> {
  readonly #objects = new Map<string, T>();

  /** What the API server has answered. */
  keep(object: T): void {
    const id = idOf(object);
    const known = this.#objects.get(id);
    if (known !== undefined && !isNewer(object, known)) return;
    this.#objects.delete(id);
    this.#objects.set(id, object);
    const [oldest] = this.#objects.keys();
    if (this.#objects.size > mostObjects && oldest !== undefined) this.#objects.delete(oldest);
  }

  /** The newer of what the cache has and what was kept. */
  of(cached: T): T {
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

const idOf = (object: KubernetesObject): string => `${object.kind}/${formatKey(keyOf(object))}`;

const isNewer = (one: KubernetesObject, other: KubernetesObject): boolean =>
  !isAtLeast(other.metadata.resourceVersion ?? '', one.metadata.resourceVersion ?? '');
