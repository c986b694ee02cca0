/**
 * Takes away the reports of replicas that have ended without a word (killed, or their machine gone): nobody else would, and each
 * that starts anew under another name leaves one more. A replica that only was slow writes its report again.
 */
import type { Client, Clock, Logger, Runnable } from '../../runtime/index.ts';
import { type Lease, leases, sleep } from '../../runtime/internal.ts';
import { Replicas } from './replicas.ts';

interface SweepOptions {
  /** Writes only while this process leads. */
  readonly client: Client;
  /** All reports as they are now. */
  readonly reports: () => Iterable<Lease>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly periodMilliseconds?: number;
}

const periodByDefault = 30_000;

export function silentReplicas({ client, reports, clock, log, periodMilliseconds }: SweepOptions): Runnable {
  return {
    name: 'silent replicas',
    leaderOnly: true,
    async start(signal) {
      const replicas = new Replicas();
      while (!signal.aborted) {
        const present = [...reports()];
        const silent = new Set(
          replicas
            .read(present, clock.monotonic())
            .filter((replica) => replica.silent)
            .map(({ identity }) => identity),
        );
        for (const { metadata, spec } of present) {
          if (!silent.has(spec?.holderIdentity ?? '')) continue;
          const { name, namespace, uid, resourceVersion } = metadata;
          const preconditions = {
            ...(uid === undefined ? {} : { uid }),
            ...(resourceVersion === undefined ? {} : { resourceVersion }),
          };
          await client
            .delete(leases, { name, ...(namespace === undefined ? {} : { namespace }) }, { preconditions, signal })
            .then(
              () => log.info('took away the report of a replica that is gone', { replica: spec?.holderIdentity }),
              // It has reported since, or somebody else was faster: either is well.
              (error: unknown) => log.debug('the report of a silent replica stays', { name, error }),
            );
        }
        await sleep(clock, periodMilliseconds ?? periodByDefault, signal);
      }
    },
  };
}
