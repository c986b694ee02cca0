/**
 * The parts of a status that users read: conditions, counts and history. Each change is reported once, in the history
 * and as an event.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Condition, type DesiredCondition, mergeConditions } from '../../../../runtime/index.ts';
import { plainText } from '../../../../runtime/internal.ts';
import {
  type ClusterStatus,
  isFinished,
  phaseOf,
  type Rollout,
  type RolloutEvent,
  type RolloutStatus,
  toTimestamp,
  updateClusters,
} from '../rollout.ts';
import type { ProgressReason } from './finish.ts';

/** The maximum length of the history in the schema. */
const maxEntries = 200;

/**
 * The maximum lengths of texts. An object larger than 1.5 MB cannot be written, so the messages get shorter the more
 * clusters there are. The full texts are in the log and in the events.
 */
const limitsFor = (clusters: number) =>
  clusters <= 100
    ? { message: 2048, entry: 1024, entries: maxEntries }
    : { message: Math.min(2048, Math.floor(100_000 / clusters)), entry: 256, entries: 100 };
const maxConditionLength = 4096;

export function reportStatus(
  object: Rollout,
  decided: RolloutStatus,
  progress: ProgressReason & { readonly held: boolean },
  now: number,
): RolloutStatus {
  const { status: before = {}, metadata } = object;
  const observedGeneration = metadata.generation ?? 0;
  const limits = limitsFor(decided.clusters?.length ?? 0);
  const { rollback } = decided;
  const status: RolloutStatus = {
    ...updateClusters(decided, (cluster) => withMessage(cluster, limits.message)),
    phase: phaseOf(decided),
    observedGeneration,
    ...(decided.clusters === undefined ? {} : { counts: countsOf(decided.clusters) }),
    ...(rollback === undefined ? {} : { rollback: withMessage(rollback, 2048) }),
    conditions: conditionsOf(decided, progress, observedGeneration, now),
  };
  const events = eventsBetween(before, status);
  const history = events.map(({ reason, note, cluster }) => ({
    at: toTimestamp(now),
    what: reason,
    message: shortened(note, limits.entry),
    ...(cluster === undefined ? {} : { cluster }),
  }));
  const all = [...(decided.history ?? []), ...history].slice(-limits.entries);
  const reported = all.length === 0 ? status : { ...status, history: all };
  return isDeepStrictEqual(reported, before) ? before : reported;
}

function withMessage<T extends { readonly message?: string }>(value: T, max: number): T {
  const { message } = value;
  if (message === undefined) return value;
  const short = shortened(message, max);
  return short === message ? value : { ...value, message: short };
}

/** Cleans a text, which may come from a chart or a cluster, and shortens it to a number of bytes, not characters. */
function shortened(text: string, max: number): string {
  const message = plainText(text);
  if (Buffer.byteLength(message) <= max) return message;
  const sign = '…';
  const cut = Buffer.from(message).subarray(0, max - Buffer.byteLength(sign));
  return `${cut.toString('utf8').replace(/\uFFFD+$/, '')}${sign}`;
}

function conditionsOf(
  status: RolloutStatus,
  progress: ProgressReason & { held: boolean },
  observedGeneration: number,
  now: number,
) {
  const conditions = (status.conditions as Condition[] | undefined)?.map((each) =>
    withMessage(each, maxConditionLength),
  );
  const { reason, held } = progress;
  const message = shortened(progress.message, maxConditionLength);
  const planned: DesiredCondition[] =
    status.plan === undefined
      ? []
      : [{ type: 'Planned', status: 'True', reason: 'Planned', message: '', observedGeneration }];
  // The conditions of a finished rollout keep its final reason.
  const current: DesiredCondition[] = isFinished(status)
    ? []
    : [
        { type: 'Progressing', status: held ? 'False' : 'True', reason, message, observedGeneration },
        { type: 'Ready', status: 'False', reason, message, observedGeneration },
      ];
  return mergeConditions(conditions, [...planned, ...current], new Date(now)).conditions;
}

function countsOf(clusters: readonly ClusterStatus[]): NonNullable<RolloutStatus['counts']> {
  const count = (...states: readonly ClusterStatus['state'][]) =>
    clusters.filter(({ state }) => states.includes(state)).length;
  return {
    total: clusters.length,
    healthy: count('Healthy'),
    failed: count('Failed', 'Unhealthy'),
    skipped: count('Skipped'),
    rolledBack: count('RolledBack'),
  };
}

/** Lists the changes between two statuses that users should see. */
export function eventsBetween(before: RolloutStatus, after: RolloutStatus): RolloutEvent[] {
  const events: RolloutEvent[] = [];
  if (before.plan === undefined && after.plan !== undefined) {
    const { stages, strategy } = after.plan;
    const message = `${after.clusters?.length ?? 0} clusters in ${stages.length} stages (${strategy})`;
    events.push({ type: 'Normal', reason: 'Planned', note: message });
  }
  for (const { name, outcome } of after.approvals ?? []) {
    const was = before.approvals?.find((each) => each.name === name)?.outcome;
    if (was === outcome) continue;
    const reason = outcome === 'Pending' ? 'ApprovalRequired' : outcome;
    events.push({ type: outcome === 'Rejected' ? 'Warning' : 'Normal', reason, note: `Approval ${name}` });
  }
  if (after.stage !== before.stage && after.stage !== undefined) {
    const note = `stage ${after.stage} of ${after.plan?.stages.length ?? 0}`;
    events.push({ type: 'Normal', reason: 'StageStarted', note });
  }
  events.push(...clusterNotes(before.clusters, after.clusters));
  if (phaseOf(before) !== phaseOf(after)) events.push(phaseNote(before, after));
  return events;
}

function phaseNote(before: RolloutStatus, after: RolloutStatus): RolloutEvent {
  const isBad = phaseOf(after) === 'Failed' || phaseOf(after) === 'RollingBack';
  const why = isFinished(after)
    ? after.conditions?.find(({ type }) => type === 'Ready')?.message
    : phaseOf(after) === 'RollingBack'
      ? after.rollback?.message
      : undefined;
  const change = `${phaseOf(before)} → ${phaseOf(after)}`;
  const note = why === undefined || why === '' ? change : `${change}: ${why}`;
  return { type: isBad ? 'Warning' : 'Normal', reason: phaseOf(after), note };
}

function clusterNotes(before: readonly ClusterStatus[] = [], after: readonly ClusterStatus[] = []): RolloutEvent[] {
  const known = new Map(before.map((cluster) => [cluster.name, cluster]));
  return after.flatMap((cluster): RolloutEvent[] => {
    const { name, state, message } = cluster;
    const was = known.get(name);
    if (was === undefined || was.state === state) return [];
    const isBad = state === 'Unhealthy' || state === 'Failed' || state === 'RollingBack';
    const note = `${name}: ${was.state} → ${state}${message === undefined ? '' : `: ${message}`}`;
    return [{ type: isBad ? 'Warning' : 'Normal', reason: `Cluster${state}`, note, cluster: name }];
  });
}
