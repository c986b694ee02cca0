/**
 * Tracks how long custom resources wait for their controller. Kubernetes does not record when a generation was created,
 * so time counts from the first observation, and restarts with the platform.
 */
import type { CustomResource } from './shapes.ts';

interface Waiting {
  readonly since: number;
  seen: number;
}

export class StalenessMemory {
  /** By uid; only lagging objects. */
  readonly #waiting = new Map<string, Waiting>();

  /** The milliseconds that the object has been lagging; undefined if it is not. */
  behindFor(object: CustomResource, expected: boolean, now: number): number | undefined {
    const { uid = '', generation = 0 } = object.metadata;
    const observed = observedGeneration(object);
    if (observed === undefined ? !expected : observed >= generation) {
      this.#waiting.delete(uid);
      return undefined;
    }
    // A newer generation does not reset the time: nothing was reconciled since.
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

/** Some kinds report it once, some per condition. */
export function observedGeneration({ status }: CustomResource): number | undefined {
  if (typeof status?.observedGeneration === 'number') return status.observedGeneration;
  const said = (Array.isArray(status?.conditions) ? status.conditions : []).flatMap((condition) =>
    typeof condition?.observedGeneration === 'number' ? [condition.observedGeneration] : [],
  );
  return said.length === 0 ? undefined : Math.max(...said);
}
