/**
 * Notices objects that go without a word of their broker: somebody has taken the finalizer off by hand. Nobody can be kept from that
 * (design: what is being deleted must be able to go), but what was deployed may still be there, so it is told and counted.
 */
import { ABANDON_CLEANUP_ANNOTATION, type Kind } from '../../api/index.ts';
import type { EventRecorder, Logger, Manager, Runnable } from '../../runtime/index.ts';
import type { Deployable } from './deployable.ts';
import type { DeployableMetrics } from './metrics.ts';

interface WatchOptions {
  readonly kinds: readonly Kind[];
  readonly caches: Pick<Manager['caches'], 'subscribe'>;
  readonly metrics: Pick<DeployableMetrics, 'abandoned'>;
  readonly recorder: Pick<EventRecorder, 'record'> | undefined;
  readonly log: Logger;
}

/** Only where it leads, so that it is told once. What goes while nobody leads is not seen. */
export function watchUnconfirmedDeletions({ kinds, caches, metrics, recorder, log }: WatchOptions): Runnable {
  const deleted = (object: Deployable): void => {
    if (!isUnconfirmedDeletion(object)) return;
    const { kind, metadata, status } = object;
    const about = { kind, namespace: metadata.namespace, name: metadata.name, uid: metadata.uid };
    const { deploymentId, targetRef } = status ?? {};
    log.warn('an object has gone without a confirmation of its broker', {
      audit: true,
      ...about,
      deploymentId,
      broker: targetRef?.broker,
    });
    metrics.abandoned(kind);
    recorder?.record({
      regarding: object,
      type: 'Warning',
      reason: 'CleanupUnconfirmed',
      action: 'Delete',
      note: `Its finalizer was taken off: what Broker ${targetRef?.broker} deployed as ${deploymentId} may still be there`,
    });
  };
  return {
    name: 'objects that vanish',
    leaderOnly: true,
    async start(signal) {
      const ends = kinds.map(({ resource }) => caches.subscribe<Deployable>(resource, {}, { deleted }));
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      for (const end of ends) end();
    },
  };
}

/** Something was handed to a broker, it has not said that it is gone, and nobody has answered for leaving it behind. */
export function isUnconfirmedDeletion({ metadata, status }: Deployable): boolean {
  const wasDispatched = status?.dispatchedGeneration !== undefined;
  const confirmed = status?.requested === 'Delete' && status.lastReport?.phase === 'deleted';
  const abandoned = metadata.annotations?.[ABANDON_CLEANUP_ANNOTATION] === metadata.uid;
  return wasDispatched && !confirmed && !abandoned;
}
