/**
 * A release that is pending: somebody is at it, or was when it ended. Whoever is at it is waited for, so that nothing is installed
 * twice; what was left behind is marked as failed, or Helm would refuse to touch it for ever.
 */
import type { Client, Clock } from '../../runtime/index.ts';
import { currentRunner, hasExited } from '../scratch/index.ts';
import { isPending, markFailed, type Release, type ReleaseName, readRelease, revisionsOf } from './releases.ts';
import { runnerAnnotation } from './snapshot-chart.ts';
import { waitUntil } from './wait.ts';

/** Without hooks Helm only writes objects: it does not wait for them here. */
export const hooklessMilliseconds = 60_000;

interface PendingOptions {
  readonly clock: Clock;
  /** How long Helm may be at it where it has hooks to wait for. */
  readonly timeoutMilliseconds: number;
  readonly signal?: AbortSignal | undefined;
  /** Whether this process runs Helm on the release right now. */
  readonly isOurs: () => boolean;
}

/** The newest revision, which is not pending; undefined where there is none. */
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

/** Somebody at a terminal may have told Helm to wait. */
const patience = ({ hooks, chart }: Release, { timeoutMilliseconds }: PendingOptions): number => {
  const isQuick = hooks.length === 0 && chart.annotations[runnerAnnotation] !== undefined;
  return isQuick ? hooklessMilliseconds : timeoutMilliseconds + hooklessMilliseconds;
};

/** A rollback carries the name of who made the revision that it goes back to, which says nothing about itself. */
function isLeftBehind({ status, chart }: Release, { isOurs }: PendingOptions): boolean {
  if (status === 'pending-rollback') return false;
  const runner = chart.annotations[runnerAnnotation];
  return runner === currentRunner() ? !isOurs() : hasExited(runner);
}

async function newest(client: Client, name: ReleaseName): Promise<Release | undefined> {
  const [first] = await revisionsOf(client, name);
  return first === undefined ? undefined : readRelease(first);
}
