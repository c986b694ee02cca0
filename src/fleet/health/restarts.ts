/**
 * How often the containers of a workload have ended within a while. Kubernetes tells only how often they have in all, so what was
 * told before is remembered; a pod that has failed for good and was replaced counts as one as well.
 */
import type { Pod } from './shapes.ts';

interface History {
  seen: number;
  /** When each number of restarts was first seen, the oldest first; the first one was so when the window began, or since we look. */
  readonly counts: { readonly at: number; readonly count: number }[];
}

export class RestartMemory {
  /** By the uid of the pod. */
  readonly #pods = new Map<string, History>();

  /** Restarts within the window, as far as they were seen or can be told from when the pod was made. */
  within(pods: readonly Pod[], windowMilliseconds: number, now: number): number {
    const begin = now - windowMilliseconds;
    let restarts = 0;
    for (const pod of pods) {
      if (hasFailed(pod)) restarts += Number(failedAt(pod, now) >= begin);
      else restarts += this.#restartsOf(pod, begin, now);
    }
    return restarts;
  }

  /** Forgets pods that were not seen for so long that nothing of them can count. */
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
    // All restarts of a pod that was made within the window are within it.
    if (Date.parse(pod.metadata.creationTimestamp ?? '') >= begin) return count;
    return count - (counts[0]?.count ?? count);
  }
}

/** Its containers have ended and are not started again: what runs it makes another in its place. Not one that was pushed out of its node. */
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
