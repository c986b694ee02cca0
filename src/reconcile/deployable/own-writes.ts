/**
 * Remembers the versions that the reconciler wrote itself, so that their watch events cause no reconcile.
 *
 * Versions whose event never arrives (a relist skips versions) are dropped after a while.
 */
import type { Predicate } from '../../runtime/index.ts';
import type { Deployable } from './deployable.ts';

const mostVersions = 4_096;

export class OwnWrites {
  /** By object uid, the resourceVersion that was written last. */
  readonly #written = new Map<string, string>();

  /** Remembers the response of the API server to a write. */
  expect({ metadata }: Deployable): void {
    const { uid = '', resourceVersion = '' } = metadata;
    this.#written.delete(uid);
    this.#written.set(uid, resourceVersion);
    const [oldest] = this.#written.keys();
    if (this.#written.size > mostVersions && oldest !== undefined) this.#written.delete(oldest);
  }

  /** Passes changes made by others. */
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
