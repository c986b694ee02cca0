/**
 * Deletes the Leases of replicas that ended without cleanup (killed, or their node lost): nothing else would, and each
 * restart under another name leaves one more. A replica that was only slow writes its Lease again.
 */
import type { Client, Clock, Logger, Runnable } from '../../runtime/index.ts';
import { type Lease, leases, sleep } from '../../runtime/internal.ts';
import { Replicas } from './replicas.ts';

interface SweepOptions {
  /** A client that works only while this process leads. */
  readonly client: Client;
  /** The current Leases. */
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
              () => log.info('Lease of a dead replica deleted', { replica: spec?.holderIdentity }),
              // The replica renewed it, or another process deleted it: both are fine.
              (error: unknown) => log.debug('Lease of a silent replica not deleted', { name, error }),
            );
        }
        await sleep(clock, periodMilliseconds ?? periodByDefault, signal);
      }
    },
  };
}
