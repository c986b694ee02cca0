/**
 * Creates an object in a dry run and measures it from when it is sent.
 *
 * Waiting for a slot or a connection before that is caused by this platform: counting it would make a webhook look slow
 * and roll back a healthy rollout.
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
  /** The error of the API server or of the connection, if any. */
  readonly failure?: unknown;
  /** It was sent, and no answer arrived in time. */
  readonly isLate: boolean;
  readonly milliseconds: number;
}

/** The timeout for a free or new connection. */
const connectionMilliseconds = 15_000;

/** `dryRun`: `patience` is the timeout of the answer in milliseconds. */
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
