/** Events for status changes: a new phase, and a policy denial of an admitted object. */
import { type Condition, getCondition } from '../../runtime/index.ts';
import type { DeployableStatus, Note } from './deployable.ts';

export function notesBetween(before: DeployableStatus | undefined, after: DeployableStatus): Note[] {
  const conditionOf = (status: DeployableStatus | undefined, type: string) =>
    getCondition(status?.conditions as Condition[] | undefined, type);
  const notes: Note[] = [];
  const ready = conditionOf(after, 'Ready');
  if (before?.phase !== after.phase && ready !== undefined) {
    const bad = after.phase === 'failed' || after.phase === 'unknown';
    const action = after.requested ?? 'Admit';
    notes.push({
      type: bad ? 'Warning' : 'Normal',
      reason: ready.reason,
      action,
      note: `${before?.phase ?? 'new'} → ${after.phase}${ready.message === '' ? '' : `: ${ready.message}`}`,
    });
  }
  const admitted = conditionOf(after, 'Admitted');
  if (admitted?.status === 'False' && conditionOf(before, 'Admitted')?.status === 'True') {
    notes.push({ type: 'Warning', reason: admitted.reason, action: 'Admit', note: admitted.message });
  }
  return notes;
}
