/**
 * `kidp rollout watch`: watches a rollout until it ends. A terminal shows a view that is redrawn; other outputs get one line per event.
 * Exit code 0 if it completed, 1 if it failed, was rolled back or was deleted.
 */
import { type Client, type Clock, ConnectionError, systemClock } from '../../runtime/index.ts';
import { plainLine, sleep } from '../../runtime/internal.ts';
import { withManagement } from '../common/management.ts';
import type { WhereFlags } from '../common/management-flags.ts';
import type { Streams } from '../common/streams.ts';
import { existingRollout, findRollout } from './find.ts';
import { isFinished, type Report, reportOf } from './summary.ts';
import { entryText, viewOf } from './view.ts';

export interface WatchFlags extends WhereFlags {
  /** Seconds between two looks. */
  readonly interval: number;
}

export async function watchRollout(name: string, flags: WatchFlags, streams: Streams): Promise<number> {
  return withManagement(flags, async (client) => {
    const screen = screenOn(streams.out);
    const first = reportOf(await existingRollout(client, name));
    return follow(client, first, screen, { intervalMilliseconds: flags.interval * 1000, clock: systemClock });
  });
}

export interface Screen {
  show(report: Report, now: number): void;
  /** Something about the watching itself. */
  note(text: string): void;
}

interface FollowOptions {
  readonly intervalMilliseconds: number;
  readonly clock: Clock;
}

/** A management cluster that does not answer for a while is waited for: the rollout goes on without us. */
async function follow(client: Client, first: Report, screen: Screen, options: FollowOptions): Promise<number> {
  const { clock, intervalMilliseconds } = options;
  let report = first;
  let away = false;
  for (;;) {
    screen.show(report, clock.now());
    if (isFinished(report)) return report.phase === 'Completed' ? 0 : 1;
    await sleep(clock, intervalMilliseconds);
    try {
      const found = await findRollout(client, first.name);
      if (found === undefined || found.metadata.uid !== first.id) {
        screen.note(`${first.name} was deleted`);
        return 1;
      }
      if (away) screen.note('the management cluster answers again');
      away = false;
      report = reportOf(found);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      if (!away) screen.note(`the management cluster does not answer (${error.failure}): waiting for it`);
      away = true;
    }
  }
}

interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

export const screenOn = (out: Output, environment: NodeJS.ProcessEnv = process.env): Screen =>
  out.isTTY === true && environment.TERM !== 'dumb' ? terminalScreen(out, environment) : plainScreen(out);

function terminalScreen(out: Output, { NO_COLOR }: NodeJS.ProcessEnv): Screen {
  let drawn = 0;
  const color = NO_COLOR === undefined || NO_COLOR === '';
  return {
    show(report, now) {
      const { columns = 80, rows = 24 } = out;
      // One less than there is: the last line is where the cursor stands.
      const lines = viewOf(report, { width: columns, height: rows - 1, now, color });
      out.write(`${cleared(drawn)}${lines.join('\n')}\n`);
      drawn = lines.length;
    },
    note(text) {
      out.write(`${cleared(drawn)}${text}\n`);
      drawn = 0;
    },
  };
}

/** Up to where the view begins, and everything from there gone. */
const cleared = (lines: number): string => (lines === 0 ? '' : `\u001b[${lines}A\u001b[0J`);

function plainScreen(out: Output): Screen {
  let shown: Report | undefined;
  return {
    show(report) {
      for (const line of linesBetween(shown, report)) out.write(`${line}\n`);
      shown = report;
    },
    note: (text) => void out.write(`${text}\n`),
  };
}

/** The lines for what has changed since the last report. */
export function linesBetween(before: Report | undefined, after: Report): string[] {
  const { name, operator, version, strategy, phase } = after;
  const head = before === undefined ? [`${name}: ${operator} ${version}, ${strategy}`] : [];
  const entries = newEntries(before?.history ?? [], after.history).map(entryText);
  const why = `${phase}: ${after.message === '' ? after.reason : after.message}`;
  const was =
    before === undefined ? undefined : `${before.phase}: ${before.message === '' ? before.reason : before.message}`;
  return [...head, ...entries, ...(why === was ? [] : [why])].map(plainLine);
}

/** Entries are appended at the end and dropped at the beginning, so those after the last shown one are new. */
function newEntries(before: Report['history'], after: Report['history']): Report['history'] {
  const last = before.at(-1);
  if (last === undefined) return after;
  const key = JSON.stringify(last);
  const index = after.findLastIndex((entry) => JSON.stringify(entry) === key);
  return after.slice(index + 1);
}
