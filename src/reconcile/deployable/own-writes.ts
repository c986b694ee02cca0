/**
 * The versions that a reconciler has written itself and goes on from: the event that tells of one is no news to it. What is never told of
 * (a cache that lists anew skips versions) is not kept for ever.
 */
import type { Predicate } from '../../runtime/index.ts';
import type { Deployable } from './deployable.ts';

const mostVersions = 4_096;

export class OwnWrites {
  /** By the uid of the object, the version that was written last. */
  readonly #written = new Map<string, string>();

  /** What the API server has answered to a write of ours. */
  expect({ metadata }: Deployable): void {
    const { uid = '', resourceVersion = '' } = metadata;
    this.#written.delete(uid);
    this.#written.set(uid, resourceVersion);
    const [oldest] = this.#written.keys();
    if (this.#written.size > mostVersions && oldest !== undefined) this.#written.delete(oldest);
  }

  /** Holds for what others have done. */
  readonly isForeign: Predicate<Deployable> = (change) => {
    const { uid = '', resourceVersion } = change.object.metadata;
    if (change.type === 'updated' && this.#written.get(uid) === resourceVersion) {
      this.#written.delete(uid);
      return false;
    }
    if (change.type === 'deleted') this.#written.delete(uid);
    return true;
  };

  get size(): number {
    return this.#written.size;
  }
}
