/**
 * Handles pending releases: a running operation is waited for, so that nothing is installed twice; an abandoned one is
 * marked failed, because Helm would reject it forever.
 */
import type { Client, Clock } from '../../runtime/index.ts';
import { currentRunner, hasExited } from '../scratch/index.ts';
import { isPending, markFailed, type Release, type ReleaseName, readRelease, revisionsOf } from './releases.ts';
import { runnerAnnotation } from './snapshot-chart.ts';
import { waitUntil } from './wait.ts';

/** Without hooks Helm only writes objects and does not wait. */
export const hooklessMilliseconds = 60_000;

interface PendingOptions {
  readonly clock: Clock;
  /** The timeout of a Helm run with hooks. */
  readonly timeoutMilliseconds: number;
  readonly signal?: AbortSignal | undefined;
  /** Whether this process runs Helm on the release. */
  readonly isOurs: () => boolean;
}

/** The newest revision once it is not pending; undefined if there is none. */
export async function settledRelease(
  client: Client,
  name: ReleaseName,
  options: PendingOptions,
): Promise<Release | undefined> {
  for (;;) {
    const release = await newest(client, name);
    if (release === undefined || !isPending(release)) return release;
    const left = release.changedAt + patience(release, options) - options.clock.now();
    const waiting = {
      clock: options.clock,
      signal: options.signal,
      deadline: options.clock.monotonic() + Math.max(0, left),
      milliseconds: Math.max(0, left),
    };
    let last: Release | undefined = release;
    await waitUntil(waiting, async () => {
      last = await newest(client, name);
      return (
        last === undefined || last.revision !== release.revision || !isPending(last) || isLeftBehind(last, options)
      );
    });
    if (last !== undefined && last.revision === release.revision && isPending(last)) await markFailed(client, last);
  }
}

/** A user may have run Helm with --wait. */
const patience = ({ hooks, chart }: Release, { timeoutMilliseconds }: PendingOptions): number => {
  const isQuick = hooks.length === 0 && chart.annotations[runnerAnnotation] !== undefined;
  return isQuick ? hooklessMilliseconds : timeoutMilliseconds + hooklessMilliseconds;
};

/** A rollback copies the runner of its source revision, which says nothing about the rollback itself. */
function isLeftBehind({ status, chart }: Release, { isOurs }: PendingOptions): boolean {
  if (status === 'pending-rollback') return false;
  const runner = chart.annotations[runnerAnnotation];
  return runner === currentRunner() ? !isOurs() : hasExited(runner);
}

async function newest(client: Client, name: ReleaseName): Promise<Release | undefined> {
  const [first] = await revisionsOf(client, name);
  return first === undefined ? undefined : readRelease(first);
}
