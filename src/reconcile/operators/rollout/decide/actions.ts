/** Derives the actions that must run now, and the time of the next reconcile, from a status. It changes nothing. */
import { millisecondsOf, ROLLOUT_FINALIZER } from '../../../../api/index.ts';
import { type Condition, getCondition, hasFinalizer } from '../../../../runtime/index.ts';
import { DEGRADED, TOLERATED } from '../../health/revalidation.ts';
import {
  type Action,
  type ClusterAction,
  type ClusterStatus,
  type Facts,
  isInProgress,
  isTouched,
  phaseOf,
  type Rollout,
  type RolloutAction,
  stepOf,
  toMilliseconds,
} from '../rollout.ts';
import { stopDeadline } from './finish.ts';
import { pacingOf } from './plan.ts';
import { isWaitingForUser, progressDeadline } from './progress.ts';
import { rollbackDeadline } from './rollback.ts';
import { finalCheckTime, stageScope, validationEnd } from './stage-gate.ts';

export function actionsFor(object: Rollout, facts: Facts, now: number): readonly Action[] {
  const forRollout = rolloutAction(object, facts, now);
  const forClusters = clusterActions(object, facts)
    .filter(({ at }) => at <= now)
    .map(({ act }) => act);
  return forRollout === undefined || facts.notBefore(forRollout.kind) > now
    ? forClusters
    : [forRollout, ...forClusters];
}

function rolloutAction(object: Rollout, facts: Facts, now: number): RolloutAction | undefined {
  const { spec, status = {}, metadata } = object;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  switch (phaseOf(status)) {
    case 'Planning': {
      if (status.plan === undefined) return { kind: 'plan' };
      const open = (status.approvals ?? []).filter(({ outcome }) => outcome === 'Pending');
      if (open.some(({ name }) => facts.approval(name) === undefined)) return { kind: 'approvals' };
      const isFree = open.length === 0 && spec.paused !== true && facts.blockedBy === undefined;
      return isFree && hasFinalizer(object, ROLLOUT_FINALIZER) ? { kind: 'start' } : undefined;
    }
    case 'Completed':
    case 'Failed':
      return reopenAction(object, facts);
    case 'Deploying':
    case 'Validating': {
      if (status.heldSince === undefined || facts.blockedBy !== undefined) return undefined;
      return isWaitingForUser(object, status, facts, now) ? undefined : { kind: 'resume' };
    }
    case 'RollingBack':
      return undefined;
  }
}

/**
 * Rolls back a finished rollout on request or because it became unhealthy. Only clusters that still run its version are
 * restored.
 */
function reopenAction(object: Rollout, facts: Facts): RolloutAction | undefined {
  const { spec, status = {} } = object;
  const owned = ownedClusters(object, facts).filter(isTouched);
  if (status.rollback !== undefined || owned.length === 0) return undefined;
  if (spec.rollback === true) return { kind: 'reopen', reason: 'Requested', message: 'requested by spec.rollback' };
  if (phaseOf(status) !== 'Completed' || spec.rollbackOnFailure === false) return undefined;
  // If another rollback restored this version, that one is the cause: one rollback must not trigger the next.
  if (owned.every(({ name }) => facts.restoredBy(name) !== undefined)) return undefined;
  const degraded = getCondition(status.conditions as Condition[] | undefined, DEGRADED);
  if (degraded?.status !== 'True' || degraded.reason === TOLERATED) return undefined;
  return { kind: 'reopen', reason: 'RevalidationFailed', message: degraded.message };
}

/**
 * The clusters that no later rollout has changed. If this one ended before its version was in use, the installation
 * names the previous one.
 */
export const ownedClusters = ({ metadata, status }: Rollout, facts: Facts): ClusterStatus[] =>
  (status?.clusters ?? []).filter(({ name, deploymentBefore }) => {
    const by = facts.installedBy(name);
    return by === undefined || by === metadata.name || by === deploymentBefore;
  });

interface Due {
  readonly act: ClusterAction;
  /** Milliseconds since 1970. */
  readonly at: number;
}

function clusterActions(object: Rollout, facts: Facts): Due[] {
  const { status = {}, spec } = object;
  const phase = phaseOf(status);
  if (status.plan === undefined || phase === 'Planning' || phase === 'Completed' || phase === 'Failed') return [];
  const pacing = pacingOf(status.plan);
  const interval = millisecondsOf(spec.health?.interval ?? 'PT30S');
  const { counted } = stageScope(object, status, facts);
  const watched = validationEnd(object, status, counted, pacing);
  return (status.clusters ?? []).flatMap((cluster): Due[] => {
    const { name, state, attempt = '', restoredAt, retryAt } = cluster;
    const due = (kind: ClusterAction['kind'], at = toMilliseconds(retryAt)): Due[] => [
      { act: { kind, cluster: name, attempt }, at },
    ];
    const check = (gate: number) => due('check', checkDue(cluster, interval, gate));
    switch (state) {
      case 'Deploying':
        return due(stepOf(attempt) === 'switch' ? 'switch' : 'install');
      case 'RollingBack':
        return restoredAt === undefined ? due('restore') : check(0);
      case 'Validating':
      case 'Healthy': {
        const canBeSeen = cluster.switched === true || pacing.blueGreen === undefined || pacing.blueGreen.coexist;
        // On a paused Cluster users change things on purpose, so its health says nothing about the rollout.
        const isPaused = facts.cluster(name)?.paused === true;
        return pacing.healthChecks && canBeSeen && !isPaused ? check(finalCheckTime(object, cluster, watched)) : [];
      }
      default:
        return [];
    }
  });
}

/** The time of the next health check: at the interval, and once at the gate. */
function checkDue({ lastCheckedAt }: ClusterStatus, interval: number, gate: number): number {
  if (lastCheckedAt === undefined) return 0;
  const last = toMilliseconds(lastCheckedAt);
  return last < gate ? Math.min(last + interval, gate) : last + interval;
}

/** The next time at which the passing of time alone changes something. */
export function nextWakeTime(object: Rollout, facts: Facts, now: number): number | undefined {
  const forRollout = rolloutAction(object, facts, now);
  const asked = forRollout === undefined ? [] : [facts.notBefore(forRollout.kind)];
  const times = [...asked, ...wakeTimes(object, facts, now)];
  const later = times.filter((at) => at > now);
  return later.length === 0 ? undefined : Math.min(...later);
}

function wakeTimes(object: Rollout, facts: Facts, now: number): number[] {
  const { status = {}, spec } = object;
  if (status.plan === undefined || !isInProgress(status)) return [];
  const pacing = pacingOf(status.plan);
  const soak = millisecondsOf(spec.health?.minimumSoak ?? 'PT0S');
  const { counted } = stageScope(object, status, facts);
  return [
    ...clusterActions(object, facts).map(({ at }) => at),
    validationEnd(object, status, counted, pacing),
    progressDeadline(object, status, facts, now) ?? 0,
    stopDeadline(object, status),
    ...counted.map(({ healthySince }) => toMilliseconds(healthySince) + soak),
    ...(status.stageFinishedAt === undefined
      ? []
      : [toMilliseconds(status.stageFinishedAt) + pacing.pauseMilliseconds]),
    ...(phaseOf(status) === 'RollingBack' ? [rollbackDeadline(object, status)] : []),
  ];
}
