/** From what was known of an installation and what was just seen to what is known now. */
import type { OperatorInstallation } from '../../../api/index.ts';
import type { HealthReport } from '../../../fleet/index.ts';
import type { DesiredCondition } from '../../../runtime/index.ts';
import type { DesiredStatus } from '../../platform/status.ts';

/** What was seen; or that nothing could be. */
export type Seen = Pick<HealthReport, 'state' | 'message'> &
  Partial<Pick<HealthReport, 'controllerPods' | 'pods' | 'webhook' | 'reconciliation'>>;

interface Standing {
  readonly desired: DesiredStatus;
  /** For who listens: only where it got worse, or well again. */
  readonly news?: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly note: string };
}

/** More failures in a row than anybody waits for are not counted: it would be a write every round. */
const mostFailuresCounted = 100;

const phases = { Healthy: 'ready', Unhealthy: 'failed', Unknown: 'unknown' } as const;
const statuses = { Healthy: 'True', Unhealthy: 'False', Unknown: 'Unknown' } as const;

/** `threshold`: so many failures in a row matter; beyond them none is counted. */
export function standingOf(
  { metadata, spec, status }: OperatorInstallation,
  seen: Seen,
  { now, threshold }: { readonly now: number; readonly threshold: number },
): Standing {
  const generation = metadata.generation ?? 0;
  // What was known of another version says nothing of this one.
  const before = status?.observedGeneration === generation ? status : undefined;
  const { state } = seen;
  const failuresInRow = failuresAfter(before?.failuresInRow ?? 0, state, Math.min(threshold, mostFailuresCounted));
  const message = seen.message.slice(0, 2048);
  const ready: DesiredCondition = {
    type: 'Ready',
    status: statuses[state],
    reason: state,
    message,
    observedGeneration: generation,
  };
  const parts = (['pods', 'webhook', 'reconciliation'] as const).flatMap((part) => {
    const found = seen[part];
    // Whoever could not be asked is as last seen: the whole says that this is not of now.
    if (found === undefined) return before?.[part] === undefined ? [] : [[part, before[part]] as const];
    const { state: how, message: why } = found;
    return [[part, { state: how, ...(why === undefined ? {} : { message: why.slice(0, 2048) }) }] as const];
  });
  const controllerPods = seen.controllerPods ?? before?.controllerPods;
  const desired = {
    conditions: [ready],
    fields: {
      phase: phases[state],
      observedGeneration: generation,
      health: state,
      since: before?.health === state && before.since !== undefined ? before.since : instantOf(now),
      failuresInRow,
      ...(controllerPods === undefined ? {} : { controllerPods }),
      ...Object.fromEntries(parts),
    },
  };
  const news = newsOf(spec, before?.health, state, message);
  return news === undefined ? { desired } : { desired, news };
}

function failuresAfter(before: number, state: Seen['state'], most: number): number {
  if (state === 'Healthy') return 0;
  return state === 'Unknown' ? before : Math.min(before + 1, Math.max(before, most));
}

function newsOf(
  { operator, cluster, version }: OperatorInstallation['spec'],
  before: string | undefined,
  state: Seen['state'],
  message: string,
): Standing['news'] {
  if (before === state) return undefined;
  const what = `${operator} ${version} on ${cluster}`;
  if (state === 'Unhealthy') {
    return { type: 'Warning', reason: 'OperatorUnhealthy', note: `${what} is not well: ${message}` };
  }
  if (state === 'Unknown' && before !== undefined) {
    return { type: 'Warning', reason: 'OperatorHealthUnknown', note: `${what}: ${message}` };
  }
  if (state === 'Healthy' && before !== undefined) {
    return { type: 'Normal', reason: 'OperatorHealthy', note: `${what} is well again` };
  }
  return undefined;
}

export const instantOf = (now: number): string => `${new Date(now).toISOString().slice(0, 19)}Z`;
