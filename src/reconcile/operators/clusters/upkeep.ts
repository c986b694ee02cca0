/** What is done for all Clusters together, now and then: the key that kubeconfigs are sealed with is published, what no Cluster names is erased. */
import type { Clock, Logger, Runnable } from '../../../runtime/index.ts';
import { sleep } from '../../../runtime/internal.ts';

interface Chore {
  readonly name: string;
  run(): Promise<void>;
}

export function upkeep(parts: {
  readonly chores: readonly Chore[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly everyMilliseconds: number;
}): Runnable {
  const { chores, clock, log, everyMilliseconds } = parts;
  return {
    name: 'upkeep of clusters',
    leaderOnly: true,
    async start(signal) {
      while (!signal.aborted) {
        for (const { name, run } of chores) {
          try {
            await run();
          } catch (error) {
            log.error('a chore failed, it comes again', { chore: name, error });
          }
        }
        await sleep(clock, everyMilliseconds, signal);
      }
    },
  };
}
