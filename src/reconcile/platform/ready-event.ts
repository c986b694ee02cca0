/** Events for changes of the `Ready` condition, for users who watch events instead of objects. */
import {
  type Condition,
  type DesiredCondition,
  type EventRecorder,
  getCondition,
  type KubernetesObject,
} from '../../runtime/index.ts';

type WithConditions = KubernetesObject & { status?: { conditions?: readonly object[] } };

/** `recordReadyEvent` records an event when status or reason changed, except for the first transition to True. */
export function recordReadyEvent(
  recorder: Pick<EventRecorder, 'record'>,
  object: WithConditions,
  ready: DesiredCondition,
): void {
  const before = getCondition(object.status?.conditions as Condition[] | undefined, 'Ready');
  if (before?.status === ready.status && before.reason === ready.reason) return;
  if (before === undefined && ready.status !== 'False') return;
  recorder.record({
    regarding: object,
    type: ready.status === 'False' ? 'Warning' : 'Normal',
    reason: ready.reason,
    action: 'Reconcile',
    note: ready.message === undefined || ready.message === '' ? ready.reason : ready.message,
  });
}
