/**
 * Re-applies a state after every change: once for all changes that arrive while it is being applied, and again after a
 * delay if it failed. A short outage of the API server must not leave a policy unregistered until the next change.
 */
import type { Logger } from '../../runtime/index.ts';

interface SyncOptions {
  readonly apply: () => Promise<unknown>;
  /** Calls back after every change. Returns a function that ends the subscription. */
  readonly subscribe: (changed: () => void) => () => void;
  readonly log: Logger;
  readonly retryMilliseconds?: number;
}

export interface Sync {
  /** Applies the state now, or right after the current run. */
  trigger(): void;
  /** Stops. The promise resolves when no run is in progress. */
  stop(): Promise<void>;
}

/** `subscribeToAll` subscribes to several sources of changes. */
export const subscribeToAll =
  (...sources: readonly { subscribe(changed: () => void): () => void }[]) =>
  (changed: () => void): (() => void) => {
    const ends = sources.map((source) => source.subscribe(changed));
    return () => {
      for (const end of ends) end();
    };
  };

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
      log.error('applying the webhook configurations failed; retrying', { error });
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
