/** `kidp rollout list` and `status`. */
import { operatorDeployment, type RolloutPhase } from '../../api/index.ts';
import { liveReader } from '../../runtime/internal.ts';
import { facts, print, table, withManagement } from '../common/management.ts';
import type { ShowFlags } from '../common/management-flags.ts';
import type { Streams } from '../common/streams.ts';
import { existingRollout } from './find.ts';
import { isFinished, type Report, type Rollout, reportOf, type Summary, summaryOf } from './summary.ts';
import { between } from './times.ts';
import { viewOf } from './view.ts';

export interface ListFlags extends ShowFlags {
  readonly operator?: string;
  readonly phase?: RolloutPhase;
}

export async function listRollouts(flags: ListFlags, streams: Streams): Promise<number> {
  const all = await withManagement(flags, (client) => liveReader(client).list<Rollout>(operatorDeployment.resource));
  const { operator, phase } = flags;
  const shown = all
    .map(summaryOf)
    .filter((each) => (operator === undefined || each.operator === operator) && (phase ?? each.phase) === each.phase)
    .sort(newestFirst);
  print(shown, () => listText(shown, Date.now()), flags, streams);
  return 0;
}

/** What is under way first, and then the newest. */
const newestFirst = (one: Summary, other: Summary): number =>
  Number(isFinished(one)) - Number(isFinished(other)) ||
  (other.created ?? '').localeCompare(one.created ?? '') ||
  one.name.localeCompare(other.name);

export function listText(shown: readonly Summary[], now: number): string {
  if (shown.length === 0) return 'there are no rollouts; create an OperatorDeployment to start one\n';
  return table(
    ['NAME', 'OPERATOR', 'VERSION', 'STRATEGY', 'PHASE', 'STAGE', 'CLUSTERS', 'AGE', 'REASON'],
    shown.map((row) => [
      row.name,
      row.operator,
      row.version,
      row.strategy,
      row.paused && !isFinished(row) ? `${row.phase} (paused)` : row.phase,
      row.stages === 0 ? '-' : `${row.stage}/${row.stages}`,
      row.clusters.total === 0 ? '-' : `${row.clusters.healthy}/${row.clusters.total}`,
      between(row.created, now),
      row.reason,
    ]),
  );
}

export async function rolloutStatus(name: string, flags: ShowFlags, streams: Streams): Promise<number> {
  const rollout = await withManagement(flags, (client) => existingRollout(client, name));
  const report = reportOf(rollout);
  print(report, () => statusText(report, Date.now()), flags, streams);
  return report.phase === 'Failed' ? 1 : 0;
}

const lastEntries = 15;

export function statusText(report: Report, now: number): string {
  const { rollback, approvals } = report;
  const known = facts([
    ['Id', report.id],
    ['Created', report.created],
    ['Started', report.started],
    ['Finished', report.finished],
    ['Rolled back', rollback === undefined ? undefined : `${rollback.reason}: ${rollback.message ?? ''}`],
    ...approvals.map(({ name, type, outcome }) => ['Approval', `${name} (${type}): ${outcome}`] as const),
  ]);
  const everything = { width: 1000, height: 10_000, now, color: false, entries: lastEntries };
  return `${viewOf(report, everything).join('\n')}\n\n${known}`;
}
