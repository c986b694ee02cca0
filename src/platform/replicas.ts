/** How many replicas there are now, told by the Leases that each of them renews: what they share is divided by it. */
import { replicaSelector } from '../api/index.ts';
import { Replicas } from '../reconcile/index.ts';
import { type Client, type Clock, type Logger, type Runnable, systemClock } from '../runtime/index.ts';
import { type Lease, leases, sleep } from '../runtime/internal.ts';

interface ReplicaCount extends Runnable {
  /** At least one: this. */
  count(): number;
}

/** Replicas renew their Leases every ten seconds. */
const lookMilliseconds = 10_000;

export function countReplicas(options: {
  readonly client: Client;
  readonly namespace: string;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly lookMilliseconds?: number;
}): ReplicaCount {
  const { client, namespace, log, clock = systemClock } = options;
  const replicas = new Replicas();
  let known = 1;
  return {
    name: 'count of replicas',
    leaderOnly: false,
    count: () => Math.max(1, known),
    async start(signal) {
      while (!signal.aborted) {
        try {
          const { items } = await client.list<Lease>(leases, { namespace, labelSelector: replicaSelector, signal });
          known = replicas.read(items, clock.monotonic()).filter(({ silent }) => !silent).length;
        } catch (error) {
          // What was known a moment ago is still the best there is.
          if (!signal.aborted) log.warn('the replicas cannot be counted', { error });
        }
        await sleep(clock, options.lookMilliseconds ?? lookMilliseconds, signal);
      }
    },
  };
}
