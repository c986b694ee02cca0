/**
 * An object that is created in a dry run, timed from when it goes out. What it waits for before that, its turn or a connection, is a
 * matter of this platform: a webhook that is called slow for it would have a rollout taken back that is well.
 */
import { type Client, type Clock, ConnectionError } from '../../runtime/index.ts';
import type { Probe } from './probe.ts';
import type { Stopwatch } from './stopwatch.ts';

interface DryRunParts {
  readonly client: Pick<Client, 'create'>;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly signal?: AbortSignal;
}

interface DryRun {
  /** What the API server said where it did not take the object, or why it said nothing. */
  readonly failure?: unknown;
  /** It was on its way, and no answer was waited for any longer. */
  readonly isLate: boolean;
  readonly milliseconds: number;
}

/** For a connection to be free, or a new one to be made. */
const connectionMilliseconds = 15_000;

/** `patience`: milliseconds that are waited for the answer. */
export async function dryRun({ resource, object }: Probe, parts: DryRunParts, patience: number): Promise<DryRun> {
  const { client, clock, stopwatch, signal } = parts;
  const late = new AbortController();
  const measured = stopwatch.start();
  let isSent = false;
  let cancel = () => {};
  const onSent = () => {
    isSent = true;
    measured.restart();
    cancel();
    cancel = clock.schedule(patience, () => late.abort());
  };
  try {
    await client.create(resource, object, {
      dryRun: true,
      fieldManager: 'kidp-health',
      timeoutMilliseconds: connectionMilliseconds + patience,
      signal: signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]),
      onSent,
    });
    return { isLate: false, milliseconds: measured.elapsed() };
  } catch (failure) {
    const isTimeout = failure instanceof ConnectionError && failure.failure === 'timeout';
    return { failure, isLate: isSent && (isTimeout || late.signal.aborted), milliseconds: measured.elapsed() };
  } finally {
    cancel();
    measured.stop();
  }
}
