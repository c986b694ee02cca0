/**
 * Since when custom resources wait for their controller. Kubernetes does not say when a generation was made, so it counts from when it was
 * first seen to be behind: after a restart of the platform, anew.
 */
import type { CustomResource } from './shapes.ts';

interface Waiting {
  readonly since: number;
  seen: number;
}

export class StalenessMemory {
  /** By uid: only those that are behind. */
  readonly #waiting = new Map<string, Waiting>();

  /** For how long it has been behind, in milliseconds; undefined where it is not. */
  behindFor(object: CustomResource, expected: boolean, now: number): number | undefined {
    const { uid = '', generation = 0 } = object.metadata;
    const observed = observedGeneration(object);
    if (observed === undefined ? !expected : observed >= generation) {
      this.#waiting.delete(uid);
      return undefined;
    }
    // Another generation meanwhile does not make it wait less: none was taken up since then.
    const since = this.#waiting.get(uid)?.since ?? now;
    this.#waiting.set(uid, { since, seen: now });
    return now - since;
  }

  sweep(before: number): void {
    for (const [uid, { seen }] of this.#waiting) if (seen < before) this.#waiting.delete(uid);
  }

  get size(): number {
    return this.#waiting.size;
  }
}

/** Some kinds say it once for all, some with each condition. */
export function observedGeneration({ status }: CustomResource): number | undefined {
  if (typeof status?.observedGeneration === 'number') return status.observedGeneration;
  const said = (Array.isArray(status?.conditions) ? status.conditions : []).flatMap((condition) =>
    typeof condition?.observedGeneration === 'number' ? [condition.observedGeneration] : [],
  );
  return said.length === 0 ? undefined : Math.max(...said);
}
