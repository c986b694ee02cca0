/**
 * Keeps something in line with what changes: it is applied again after every change, once for all that come while it is being
 * applied, and again after a while where it failed. An API server that was away for a moment must not leave a policy unregistered
 * until somebody happens to write another.
 */
import type { Logger } from '../../runtime/index.ts';

interface SyncOptions {
  readonly apply: () => Promise<unknown>;
  /** Calls back after every change; returns what ends it. */
  readonly subscribe: (changed: () => void) => () => void;
  readonly log: Logger;
  readonly retryMilliseconds?: number;
}

export interface Sync {
  /** Applies it now, or right after what is under way. */
  trigger(): void;
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

const retryMillisecondsByDefault = 5_000;

export function startSync(options: SyncOptions): Sync {
  const { apply, subscribe, log, retryMilliseconds = retryMillisecondsByDefault } = options;
  let working: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  let retry: NodeJS.Timeout | undefined;

  const work = async (): Promise<void> => {
    try {
      await apply();
    } catch (error) {
      log.error('the webhook configurations could not be brought in line', { error });
      retry = setTimeout(trigger, retryMilliseconds);
    }
  };
  const trigger = (): void => {
    if (stopped) return;
    again = working !== undefined;
    if (again) return;
    clearTimeout(retry);
    working = work().finally(() => {
      working = undefined;
      if (again) trigger();
    });
  };
  const end = subscribe(trigger);
  return {
    trigger,
    async stop() {
      stopped = true;
      end();
      await working;
      clearTimeout(retry);
    },
  };
}
