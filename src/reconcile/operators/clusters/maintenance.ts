/** Runs the periodic tasks for all Clusters: publishes the sealing key and deletes unclaimed kubeconfigs. */
import type { Clock, Logger, Runnable } from '../../../runtime/index.ts';
import { sleep } from '../../../runtime/internal.ts';

interface Task {
  readonly name: string;
  run(): Promise<void>;
}

export function maintenance(parts: {
  readonly tasks: readonly Task[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly intervalMilliseconds: number;
}): Runnable {
  const { tasks, clock, log, intervalMilliseconds } = parts;
  return {
    name: 'cluster maintenance',
    leaderOnly: true,
    async start(signal) {
      while (!signal.aborted) {
        for (const { name, run } of tasks) {
          try {
            await run();
          } catch (error) {
            log.error('maintenance task failed; retried', { task: name, error });
          }
        }
        await sleep(clock, intervalMilliseconds, signal);
      }
    },
  };
}
