/**
 * Counts container restarts within a window.
 *
 * Kubernetes reports only the total, so earlier totals are remembered. A failed pod that was replaced counts as one
 * restart.
 */
import type { Pod } from './shapes.ts';

interface History {
  seen: number;
  /**
   * When each restart count was first seen, oldest first; the first entry is the count at the start of the window or of
   * our observation.
   */
  readonly counts: { readonly at: number; readonly count: number }[];
}

export class RestartMemory {
  /** By pod uid. */
  readonly #pods = new Map<string, History>();

  /** Restarts within the window, as far as they were observed or follow from the age of the pod. */
  within(pods: readonly Pod[], windowMilliseconds: number, now: number): number {
    const begin = now - windowMilliseconds;
    let restarts = 0;
    for (const pod of pods) {
      if (hasFailed(pod)) restarts += Number(failedAt(pod, now) >= begin);
      else restarts += this.#restartsOf(pod, begin, now);
    }
    return restarts;
  }

  /** Drops pods that were not seen for so long that they cannot matter. */
  sweep(before: number): void {
    for (const [uid, { seen }] of this.#pods) if (seen < before) this.#pods.delete(uid);
  }

  get size(): number {
    return this.#pods.size;
  }

  #restartsOf(pod: Pod, begin: number, now: number): number {
    const count = countOf(pod);
    const uid = pod.metadata.uid ?? `${pod.metadata.namespace}/${pod.metadata.name}`;
    const history = this.#pods.get(uid) ?? { seen: now, counts: [{ at: now, count }] };
    this.#pods.set(uid, history);
    const { counts } = history;
    history.seen = now;
    if (counts.at(-1)?.count !== count) counts.push({ at: now, count });
    while (counts.length > 1 && (counts[1]?.at ?? now) <= begin) counts.shift();
    // All restarts of a pod created within the window count.
    if (Date.parse(pod.metadata.creationTimestamp ?? '') >= begin) return count;
    return count - (counts[0]?.count ?? count);
  }
}

/** The containers have ended and the pod will be replaced. Evicted pods do not count. */
export const hasFailed = ({ status = {} }: Pod): boolean =>
  status.phase === 'Failed' && !pushedOut.has(status.reason ?? '') && statusesOf({ status }).some(ended);

const pushedOut = new Set(['Evicted', 'Preempting', 'NodeShutdown', 'NodeLost', 'Terminated', 'Shutdown']);

const ended = ({ state }: { state?: { terminated?: { exitCode?: number } } }) =>
  (state?.terminated?.exitCode ?? 0) !== 0;

const statusesOf = ({ status = {} }: Pick<Pod, 'status'>) => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
];

const countOf = (pod: Pod): number => statusesOf(pod).reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);

function failedAt(pod: Pod, now: number): number {
  const times = statusesOf(pod).map(({ state }) => Date.parse(state?.terminated?.finishedAt ?? ''));
  const known = times.filter((time) => !Number.isNaN(time));
  return known.length === 0 ? now : Math.max(...known);
}
