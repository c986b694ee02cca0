/** Computes the next status of an installation from its last status and a health check. */
import type { OperatorInstallation } from '../../../api/index.ts';
import type { HealthReport } from '../../../fleet/index.ts';
import type { DesiredCondition } from '../../../runtime/index.ts';
import type { DesiredStatus } from '../../platform/status.ts';

/** The result of a health check. Its parts are missing if the cluster could not be reached. */
export type CheckResult = Pick<HealthReport, 'state' | 'message'> &
  Partial<Pick<HealthReport, 'controllerPods' | 'pods' | 'webhook' | 'reconciliation'>>;

interface NextStatus {
  readonly desired: DesiredStatus;
  /** An event, only if the health got worse or recovered. */
  readonly event?: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly note: string };
}

/** Failures beyond the threshold are not counted: that would be a write in every round. */
const maxFailuresCounted = 100;

const phases = { Healthy: 'ready', Unhealthy: 'failed', Unknown: 'unknown' } as const;
const statuses = { Healthy: 'True', Unhealthy: 'False', Unknown: 'Unknown' } as const;

/** `threshold` is the number of failures in a row that matters; further failures are not counted. */
export function installationStatus(
  { metadata, spec, status }: OperatorInstallation,
  seen: CheckResult,
  { now, threshold }: { readonly now: number; readonly threshold: number },
): NextStatus {
  const generation = metadata.generation ?? 0;
  // The status of another version does not apply to this one.
  const before = status?.observedGeneration === generation ? status : undefined;
  const { state } = seen;
  const failuresInRow = failuresAfter(before?.failuresInRow ?? 0, state, Math.min(threshold, maxFailuresCounted));
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
    // Parts that could not be checked keep their last result; the overall state Unknown marks them as stale.
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
      since: before?.health === state && before.since !== undefined ? before.since : toTimestamp(now),
      failuresInRow,
      ...(controllerPods === undefined ? {} : { controllerPods }),
      ...Object.fromEntries(parts),
    },
  };
  const event = eventFor(spec, before?.health, state, message);
  return event === undefined ? { desired } : { desired, event };
}

function failuresAfter(before: number, state: CheckResult['state'], max: number): number {
  if (state === 'Healthy') return 0;
  return state === 'Unknown' ? before : Math.min(before + 1, Math.max(before, max));
}

function eventFor(
  { operator, cluster, version }: OperatorInstallation['spec'],
  before: string | undefined,
  state: CheckResult['state'],
  message: string,
): NextStatus['event'] {
  if (before === state) return undefined;
  const subject = `${operator} ${version} on ${cluster}`;
  if (state === 'Unhealthy') {
    return { type: 'Warning', reason: 'OperatorUnhealthy', note: `${subject} is unhealthy: ${message}` };
  }
  if (state === 'Unknown' && before !== undefined) {
    return { type: 'Warning', reason: 'OperatorHealthUnknown', note: `${subject}: ${message}` };
  }
  if (state === 'Healthy' && before !== undefined) {
    return { type: 'Normal', reason: 'OperatorHealthy', note: `${subject} is healthy again` };
  }
  return undefined;
}

export const toTimestamp = (now: number): string => `${new Date(now).toISOString().slice(0, 19)}Z`;
