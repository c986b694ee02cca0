/**
 * Detects objects deleted without confirmation from their broker, because their finalizer was removed manually.
 *
 * Removing a finalizer cannot be prevented, but the deployment may still exist, so the deletion is logged, counted and
 * recorded as an event.
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

/**
 * `watchUnconfirmedDeletions` runs on the leader only, so each deletion is reported once. Deletions without a leader
 * are missed.
 */
export function watchUnconfirmedDeletions({ kinds, caches, metrics, recorder, log }: WatchOptions): Runnable {
  const deleted = (object: Deployable): void => {
    if (!isUnconfirmedDeletion(object)) return;
    const { kind, metadata, status } = object;
    const about = { kind, namespace: metadata.namespace, name: metadata.name, uid: metadata.uid };
    const { deploymentId, targetRef } = status ?? {};
    log.warn('object deleted without cleanup confirmation from the broker', {
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
      note: `Finalizer removed without cleanup confirmation from Broker ${targetRef?.broker}; deployment ${deploymentId} may still exist, remove it manually`,
    });
  };
  return {
    name: 'unconfirmed deletions',
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

/**
 * `isUnconfirmedDeletion`: the object was dispatched, the broker has not confirmed the deletion, and no user accepted
 * leaving it behind.
 */
export function isUnconfirmedDeletion({ metadata, status }: Deployable): boolean {
  const wasDispatched = status?.dispatchedGeneration !== undefined;
  const confirmed = status?.requested === 'Delete' && status.lastReport?.phase === 'deleted';
  const abandoned = metadata.annotations?.[ABANDON_CLEANUP_ANNOTATION] === metadata.uid;
  return wasDispatched && !confirmed && !abandoned;
}
