/** What follows from a status: the acts that are to be under way now, and when to look again. It decides nothing: all of it is written. */
import { millisecondsOf, ROLLOUT_FINALIZER } from '../../../../api/index.ts';
import { type Condition, getCondition, hasFinalizer } from '../../../../runtime/index.ts';
import { DEGRADED, TOLERATED } from '../../health/revalidation.ts';
import {
  type Act,
  type ClusterAct,
  type ClusterStatus,
  type Facts,
  isTouched,
  isUnderWay,
  phaseOf,
  type Rollout,
  stepOf,
  timeOf,
  type WholeAct,
} from '../rollout.ts';
import { isForPeople, progressDue } from './cluster-states.ts';
import { stopDue } from './finish.ts';
import { pacingOf } from './plan.ts';
import { rollbackDue } from './rollback.ts';
import { gateOf, scopeOf, watchedUntil } from './stage-gate.ts';

export function actsOf(object: Rollout, facts: Facts, now: number): readonly Act[] {
  const whole = wholeAct(object, facts, now);
  const onClusters = clusterActs(object, facts)
    .filter(({ at }) => at <= now)
    .map(({ act }) => act);
  return whole === undefined || facts.notBefore(whole.kind) > now ? onClusters : [whole, ...onClusters];
}

function wholeAct(object: Rollout, facts: Facts, now: number): WholeAct | undefined {
  const { spec, status = {}, metadata } = object;
  if (metadata.deletionTimestamp !== undefined) return undefined;
  switch (phaseOf(status)) {
    case 'Planning': {
      if (status.plan === undefined) return { kind: 'plan' };
      const open = (status.approvals ?? []).filter(({ outcome }) => outcome === 'Pending');
      if (open.some(({ name }) => facts.approval(name) === undefined)) return { kind: 'approvals' };
      const isFree = open.length === 0 && spec.paused !== true && facts.heldBy === undefined;
      return isFree && hasFinalizer(object, ROLLOUT_FINALIZER) ? { kind: 'start' } : undefined;
    }
    case 'Completed':
    case 'Failed':
      return reopening(object, facts);
    case 'Deploying':
    case 'Validating': {
      if (status.heldSince === undefined || facts.heldBy !== undefined) return undefined;
      return isForPeople(object, status, facts, now) ? undefined : { kind: 'resume' };
    }
    case 'RollingBack':
      return undefined;
  }
}

/** After its end: somebody wants it back, or it turned out not to be well. Only what is still there of it is taken back. */
function reopening(object: Rollout, facts: Facts): WholeAct | undefined {
  const { spec, status = {} } = object;
  const owned = ownedClusters(object, facts).filter(isTouched);
  if (status.rollback !== undefined || owned.length === 0) return undefined;
  if (spec.rollback === true) return { kind: 'reopen', reason: 'Requested', message: 'somebody has asked for it' };
  if (phaseOf(status) !== 'Completed' || spec.rollbackOnFailure === false) return undefined;
  // What another rollout has gone back to is not well by the fault of the other: one rollback does not set off the next.
  if (owned.every(({ name }) => facts.restoredBy(name) !== undefined)) return undefined;
  const degraded = getCondition(status.conditions as Condition[] | undefined, DEGRADED);
  if (degraded?.status !== 'True' || degraded.reason === TOLERATED) return undefined;
  return { kind: 'reopen', reason: 'RevalidationFailed', message: degraded.message };
}

/** Those on which nothing has come after it: where it was cut off before it was in use, what was there before is still written down. */
export const ownedClusters = ({ metadata, status }: Rollout, facts: Facts): ClusterStatus[] =>
  (status?.clusters ?? []).filter(({ name, deploymentBefore }) => {
    const by = facts.installedBy(name);
    return by === undefined || by === metadata.name || by === deploymentBefore;
  });

interface Due {
  readonly act: ClusterAct;
  /** Milliseconds since 1970. */
  readonly at: number;
}

function clusterActs(object: Rollout, facts: Facts): Due[] {
  const { status = {}, spec } = object;
  const phase = phaseOf(status);
  if (status.plan === undefined || phase === 'Planning' || phase === 'Completed' || phase === 'Failed') return [];
  const pacing = pacingOf(status.plan);
  const interval = millisecondsOf(spec.health?.interval ?? 'PT30S');
  const { counted } = scopeOf(object, status, facts);
  const watched = watchedUntil(object, status, counted, pacing);
  return (status.clusters ?? []).flatMap((cluster): Due[] => {
    const { name, state, attempt = '', restoredAt, retryAt } = cluster;
    const due = (kind: ClusterAct['kind'], at = timeOf(retryAt)): Due[] => [
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
        // What somebody does on a Cluster that they have paused says nothing about what was rolled out.
        const isPaused = facts.cluster(name)?.paused === true;
        return pacing.healthChecks && canBeSeen && !isPaused ? check(gateOf(object, cluster, watched)) : [];
      }
      default:
        return [];
    }
  });
}

/** Every so often, and once more at the gate. */
function checkDue({ lastCheckedAt }: ClusterStatus, interval: number, gate: number): number {
  if (lastCheckedAt === undefined) return 0;
  const last = timeOf(lastCheckedAt);
  return last < gate ? Math.min(last + interval, gate) : last + interval;
}

/** When time alone changes something next. */
export function nextMoment(object: Rollout, facts: Facts, now: number): number | undefined {
  const whole = wholeAct(object, facts, now);
  const asked = whole === undefined ? [] : [facts.notBefore(whole.kind)];
  const moments = [...asked, ...momentsUnderWay(object, facts, now)];
  const later = moments.filter((at) => at > now);
  return later.length === 0 ? undefined : Math.min(...later);
}

function momentsUnderWay(object: Rollout, facts: Facts, now: number): number[] {
  const { status = {}, spec } = object;
  if (status.plan === undefined || !isUnderWay(status)) return [];
  const pacing = pacingOf(status.plan);
  const soak = millisecondsOf(spec.health?.minimumSoak ?? 'PT0S');
  const { counted } = scopeOf(object, status, facts);
  return [
    ...clusterActs(object, facts).map(({ at }) => at),
    watchedUntil(object, status, counted, pacing),
    progressDue(object, status, facts, now) ?? 0,
    stopDue(object, status),
    ...counted.map(({ healthySince }) => timeOf(healthySince) + soak),
    ...(status.stageFinishedAt === undefined ? [] : [timeOf(status.stageFinishedAt) + pacing.pauseMilliseconds]),
    ...(phaseOf(status) === 'RollingBack' ? [rollbackDue(object, status)] : []),
  ];
}
