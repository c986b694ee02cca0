/** What of a status is for people: conditions, counts, and what happened, told once, in the history and as events. */
import { isDeepStrictEqual } from 'node:util';
import { type Condition, type DesiredCondition, mergeConditions } from '../../../../runtime/index.ts';
import {
  type ClusterStatus,
  instantOf,
  isFinished,
  type Note,
  phaseOf,
  type Rollout,
  type RolloutStatus,
  withClusters,
} from '../rollout.ts';
import type { Outlook } from './finish.ts';

/** As many as the schema keeps. */
const mostEntries = 200;

/**
 * How much room there is for words. An object has 1.5 MB at most, and one that has more cannot be written at all: of few clusters each may
 * say as much as the schema has room for, of many each says less. All of it is in the log and in events.
 */
const roomOf = (clusters: number) =>
  clusters <= 100
    ? { message: 2048, entry: 1024, entries: mostEntries }
    : { message: Math.min(2048, Math.floor(100_000 / clusters)), entry: 256, entries: 100 };
const conditionRoom = 4096;

export function described(
  object: Rollout,
  decided: RolloutStatus,
  outlook: Outlook & { readonly held: boolean },
  now: number,
): RolloutStatus {
  const { status: before = {}, metadata } = object;
  const observedGeneration = metadata.generation ?? 0;
  const room = roomOf(decided.clusters?.length ?? 0);
  const { rollback } = decided;
  const status: RolloutStatus = {
    ...withClusters(decided, (cluster) => withMessage(cluster, room.message)),
    phase: phaseOf(decided),
    observedGeneration,
    ...(decided.clusters === undefined ? {} : { counts: countsOf(decided.clusters) }),
    ...(rollback === undefined ? {} : { rollback: withMessage(rollback, 2048) }),
    conditions: conditionsOf(decided, outlook, observedGeneration, now),
  };
  const news = notesBetween(before, status);
  const history = news.map(({ reason, note, cluster }) => ({
    at: instantOf(now),
    what: reason,
    message: shortened(note, room.entry),
    ...(cluster === undefined ? {} : { cluster }),
  }));
  const all = [...(decided.history ?? []), ...history].slice(-room.entries);
  const told = all.length === 0 ? status : { ...status, history: all };
  return isDeepStrictEqual(told, before) ? before : told;
}

function withMessage<T extends { readonly message?: string }>(value: T, most: number): T {
  const { message } = value;
  if (message === undefined) return value;
  const short = shortened(message, most);
  return short === message ? value : { ...value, message: short };
}

/** To so many bytes: letters outside of ASCII have several. */
function shortened(message: string, most: number): string {
  if (Buffer.byteLength(message) <= most) return message;
  const sign = '…';
  const cut = Buffer.from(message).subarray(0, most - Buffer.byteLength(sign));
  return `${cut.toString('utf8').replace(/\uFFFD+$/, '')}${sign}`;
}

function conditionsOf(
  status: RolloutStatus,
  outlook: Outlook & { held: boolean },
  observedGeneration: number,
  now: number,
) {
  const conditions = (status.conditions as Condition[] | undefined)?.map((each) => withMessage(each, conditionRoom));
  const { reason, held } = outlook;
  const message = shortened(outlook.message, conditionRoom);
  const planned: DesiredCondition[] =
    status.plan === undefined
      ? []
      : [{ type: 'Planned', status: 'True', reason: 'Planned', message: '', observedGeneration }];
  // What ended it stays.
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

/** What of a change people are told. */
export function notesBetween(before: RolloutStatus, after: RolloutStatus): Note[] {
  const notes: Note[] = [];
  if (before.plan === undefined && after.plan !== undefined) {
    const { stages, strategy } = after.plan;
    const message = `${after.clusters?.length ?? 0} clusters in ${stages.length} stages (${strategy})`;
    notes.push({ type: 'Normal', reason: 'Planned', note: message });
  }
  for (const { name, outcome } of after.approvals ?? []) {
    const was = before.approvals?.find((each) => each.name === name)?.outcome;
    if (was === outcome) continue;
    const reason = outcome === 'Pending' ? 'ApprovalNeeded' : outcome;
    notes.push({ type: outcome === 'Rejected' ? 'Warning' : 'Normal', reason, note: `Approval ${name}` });
  }
  if (after.stage !== before.stage && after.stage !== undefined) {
    const note = `stage ${after.stage} of ${after.plan?.stages.length ?? 0}`;
    notes.push({ type: 'Normal', reason: 'StageStarted', note });
  }
  notes.push(...clusterNotes(before.clusters, after.clusters));
  if (phaseOf(before) !== phaseOf(after)) notes.push(phaseNote(before, after));
  return notes;
}

function phaseNote(before: RolloutStatus, after: RolloutStatus): Note {
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

function clusterNotes(before: readonly ClusterStatus[] = [], after: readonly ClusterStatus[] = []): Note[] {
  const known = new Map(before.map((cluster) => [cluster.name, cluster]));
  return after.flatMap((cluster): Note[] => {
    const { name, state, message } = cluster;
    const was = known.get(name);
    if (was === undefined || was.state === state) return [];
    const isBad = state === 'Unhealthy' || state === 'Failed' || state === 'RollingBack';
    const note = `${name}: ${was.state} → ${state}${message === undefined ? '' : `: ${message}`}`;
    return [{ type: isBad ? 'Warning' : 'Normal', reason: `Cluster${state}`, note, cluster: name }];
  });
}
