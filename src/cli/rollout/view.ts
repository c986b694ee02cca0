/**
 * Renders the live view of a rollout as lines for a terminal, by stage and cluster. It fits the height of the terminal: clusters that
 * need attention are shown, the others are counted.
 */
import type { ClusterState } from '../../api/index.ts';
import { plainLine } from '../../runtime/internal.ts';
import type { ClusterReport, HistoryEntry, Report, StageReport } from './summary.ts';
import { between, timeOfDay } from './times.ts';

interface ViewOptions {
  /** The available columns and lines. */
  readonly width: number;
  readonly height: number;
  readonly now: number;
  readonly color: boolean;
  /** The maximum number of recent history entries. */
  readonly entries?: number;
}

type Paint = 'good' | 'bad' | 'busy' | 'dim' | 'bold' | 'none';
const codes: Readonly<Record<Paint, string>> = { good: '32', bad: '31', busy: '33', dim: '2', bold: '1', none: '' };

/** A line consists of parts, so that it is cut by its visible characters, without counting colour codes. */
type Part = readonly [text: string, paint?: Paint];

export function viewOf(report: Report, { width, height, now, color, entries = 5 }: ViewOptions): string[] {
  const head = headOf(report, width, now);
  const last = report.history.slice(-Math.min(entries, Math.max(0, height - head.length - 6))).map(entryLine);
  const tail: Part[][] = last.length === 0 ? [] : [[], ...last];
  const room = Math.max(1, height - head.length - tail.length);
  return [...head, ...stagesOf(report, room, now), ...tail].map((line) => painted(line, width, color));
}

function headOf(report: Report, width: number, now: number): Part[][] {
  const { name, operator, version, strategy, phase, paused, stage, stages, clusters, started, finished } = report;
  const title: Part[] = [
    [name, 'bold'],
    [`  ${operator} ${version}  ${strategy}  `],
    [phase, phasePaint(report)],
    ...(paused ? ([['  paused', 'busy']] as Part[]) : []),
  ];
  const counts = [
    `${clusters.healthy} of ${clusters.total} clusters`,
    ...(clusters.failed > 0 ? [`${clusters.failed} failed`] : []),
    ...(clusters.rolledBack > 0 ? [`${clusters.rolledBack} rolled back`] : []),
    ...(clusters.skipped > 0 ? [`${clusters.skipped} skipped`] : []),
  ].join(', ');
  const time = started === undefined ? '' : `  ${between(started, finished ?? now)}`;
  const where = stages === 0 ? '' : `stage ${stage} of ${stages}  `;
  const size = Math.max(10, Math.min(40, width - where.length - counts.length - time.length - 4));
  const [done, bad, left] = barOf(clusters, size);
  const progress: Part[] = [[where], [done, 'good'], [bad, 'bad'], [left, 'dim'], [`  ${counts}${time}`]];
  const why: Part[][] = report.message === '' ? [] : [[[report.message, 'dim']]];
  const asked: Part[][] = report.approvals
    .filter(({ outcome }) => outcome !== 'Approved')
    .map(({ name: approval, type, outcome }) => [
      [`${outcome === 'Pending' ? 'waiting for' : 'rejected by'} Approval ${approval} (${type})`, 'busy'],
    ]);
  return [title, progress, ...why, ...asked, []];
}

const phasePaint = ({ phase }: Report): Paint => {
  if (phase === 'Completed') return 'good';
  return phase === 'Failed' || phase === 'RollingBack' ? 'bad' : 'busy';
};

/** `barOf` divides a progress bar of `size` characters into done, failed and remaining. */
export function barOf(
  { total, healthy, failed, rolledBack }: Report['clusters'],
  size: number,
): readonly [done: string, bad: string, left: string] {
  const all = Math.max(1, total);
  const done = Math.floor((Math.min(healthy, all) / all) * size);
  const bad = Math.min(size - done, Math.ceil((Math.min(failed + rolledBack, all) / all) * size));
  return ['█'.repeat(done), '▒'.repeat(bad), '░'.repeat(size - done - bad)];
}

const signs: Readonly<Record<ClusterState, readonly [sign: string, paint: Paint]>> = {
  Pending: ['·', 'dim'],
  Deploying: ['▸', 'busy'],
  Validating: ['◌', 'busy'],
  Healthy: ['✓', 'good'],
  Unhealthy: ['✗', 'bad'],
  Skipped: ['-', 'dim'],
  RollingBack: ['↶', 'bad'],
  RolledBack: ['↶', 'dim'],
  Failed: ['✗', 'bad'],
};

/** The states in the order of urgency: if not all clusters fit, the first states are shown. */
const urgency: readonly ClusterState[] = [
  'Failed',
  'Unhealthy',
  'RollingBack',
  'Deploying',
  'Validating',
  'RolledBack',
  'Pending',
  'Healthy',
  'Skipped',
];

function stagesOf({ stageList, stage }: Report, room: number, now: number): Part[][] {
  const clusters = stageList.flatMap((each) => each.clusters);
  const widths = {
    name: Math.max(0, ...clusters.map(({ name }) => name.length)),
    environment: Math.max(0, ...clusters.map(({ environment }) => environment.length)),
  };
  const shown = shownOf(stageList, stage, Math.max(0, room - stageList.length));
  const lines = stageList.flatMap((each): Part[][] => {
    const rows = each.clusters.filter((cluster) => shown.has(cluster));
    const hidden = each.clusters.filter((cluster) => !shown.has(cluster));
    return [
      [[each.number === stage ? '▶ ' : '  '], [each.name, each.number === stage ? 'bold' : 'none'], ...rest(hidden)],
      ...rows.map((cluster) => clusterLine(cluster, widths, now)),
    ];
  });
  if (lines.length <= room) return lines;
  // If not even the names of the stages fit, only those around the current stage are shown.
  const from = Math.max(0, Math.min(stage - 2, lines.length - room));
  return lines.slice(from, from + room);
}

/** `shownOf` selects the clusters that fit: first by urgency, then those of the current stage. */
function shownOf(stages: readonly StageReport[], current: number, room: number): ReadonlySet<ClusterReport> {
  const all = stages.flatMap(({ number, clusters }) => clusters.map((cluster) => ({ cluster, number })));
  const rank = ({ cluster, number }: (typeof all)[number]): number =>
    urgency.indexOf(cluster.state) * 2 + (number === current ? 0 : 1);
  const sorted = all.length <= room ? all : [...all].sort((one, other) => rank(one) - rank(other));
  return new Set(sorted.slice(0, room).map(({ cluster }) => cluster));
}

/** `rest` counts the hidden clusters of a stage by state. */
function rest(hidden: readonly ClusterReport[]): Part[] {
  if (hidden.length === 0) return [];
  const counts = urgency.flatMap((state) => {
    const count = hidden.filter((cluster) => cluster.state === state).length;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  return [[`  … ${counts.join(', ')}`, 'dim']];
}

function clusterLine(
  cluster: ClusterReport,
  widths: { readonly name: number; readonly environment: number },
  now: number,
): Part[] {
  const { name, environment, state, checks, checksPassed, failuresInRow, healthySince, message } = cluster;
  const [sign, paint] = signs[state];
  const looked = checks === 0 ? '' : `${checksPassed}/${checks} passed`;
  const isWatched = state === 'Validating' || state === 'Healthy';
  const since = isWatched && healthySince !== undefined ? `healthy for ${between(healthySince, now)}` : '';
  const failing = failuresInRow > 0 ? `${failuresInRow} failed in a row` : '';
  const health = [looked, since, failing].filter((part) => part !== '').join(', ');
  return [
    ['    '],
    [`${sign} ${name.padEnd(widths.name)}`, paint],
    [`  ${environment.padEnd(widths.environment)}  `],
    [state.padEnd(11), paint],
    ...(health === '' ? [] : ([[`  ${health}`]] as Part[])),
    ...(message === undefined ? [] : ([[`  ${message}`, 'dim']] as Part[])),
  ];
}

const entryLine = (entry: HistoryEntry): Part[] => [[entryText(entry), 'dim']];

/** `entryText` formats a history entry as one line, also for output without a terminal. */
export const entryText = ({ at, what, message }: HistoryEntry): string =>
  `${timeOfDay(at)}  ${what.padEnd(18)}  ${message ?? ''}`.trimEnd();

function painted(parts: readonly Part[], width: number, color: boolean): string {
  let left = width;
  const cut: Part[] = [];
  for (const [given, paint = 'none'] of parts) {
    const text = plainLine(given);
    const letters = [...text];
    const kept = letters.length > left ? `${letters.slice(0, Math.max(0, left - 1)).join('')}…` : text;
    if (left > 0) cut.push([kept, paint]);
    left -= letters.length;
    if (left < 0) break;
  }
  if (!color) {
    return cut
      .map(([text]) => text)
      .join('')
      .trimEnd();
  }
  const start = '\u001b';
  return cut
    .map(([text, paint = 'none']) =>
      codes[paint] === '' || text === '' ? text : `${start}[${codes[paint]}m${text}${start}[0m`,
    )
    .join('');
}
