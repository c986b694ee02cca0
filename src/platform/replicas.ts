/** Counts the replicas by the Leases that they renew, so that shared limits can be divided among them. */
import { replicaSelector } from '../api/index.ts';
import { Replicas } from '../reconcile/index.ts';
import { type Client, type Clock, type Logger, type Runnable, systemClock } from '../runtime/index.ts';
import { type Lease, leases, sleep } from '../runtime/internal.ts';

interface ReplicaCount extends Runnable {
  /** The number of live replicas, at least 1. */
  count(): number;
}

/** The interval at which replicas renew their Leases. */
const intervalMilliseconds = 10_000;

export function countReplicas(options: {
  readonly client: Client;
  readonly namespace: string;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly intervalMilliseconds?: number;
}): ReplicaCount {
  const { client, namespace, log, clock = systemClock } = options;
  const replicas = new Replicas();
  let known = 1;
  return {
    name: 'replica count',
    leaderOnly: false,
    count: () => Math.max(1, known),
    async start(signal) {
      while (!signal.aborted) {
        try {
          const { items } = await client.list<Lease>(leases, { namespace, labelSelector: replicaSelector, signal });
          known = replicas.read(items, clock.monotonic()).filter(({ silent }) => !silent).length;
        } catch (error) {
          // The last known count is used until the next one succeeds.
          if (!signal.aborted) log.warn('counting replicas failed', { error });
        }
        await sleep(clock, options.intervalMilliseconds ?? intervalMilliseconds, signal);
      }
    },
  };
}
