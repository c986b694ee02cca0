/** Tells the leader, from every replica, which policies it judges by: see `replicaLease`. Written on change, and as a heartbeat. */
import { replicaLease, replicaLeaseName } from '../../api/index.ts';
import { type Client, isNotFound, type Logger, silentLogger, systemClock } from '../../runtime/index.ts';
import { leases, sleep } from '../../runtime/internal.ts';
import type { LivePolicySource } from './source.ts';

export interface ReplicaReportOptions {
  readonly client: Client;
  readonly source: LivePolicySource;
  /** Of this replica, among all. */
  readonly identity: string;
  /** Whether requests are answered here: only who is ready reports. */
  readonly ready: () => boolean;
  readonly log?: Logger;
}

export interface ReplicaReporting {
  /** Takes the report back: nobody waits for a replica that has ended. */
  stop(): Promise<void>;
}

const replicaLeaseSeconds = 30;
const heartbeatMilliseconds = 10_000;
/** Policies that are applied one after the other are reported together. */
const settleMilliseconds = 250;

export function startReplicaReport(options: ReplicaReportOptions): ReplicaReporting {
  const { client, source, identity, ready, log = silentLogger } = options;
  const namespace = source.options.platformNamespace;
  const stopping = new AbortController();
  let cutShort = new AbortController();
  const end = source.subscribe(({ what }) => {
    if (what === 'set') cutShort.abort();
  });
  const running = report();

  async function report(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (ready()) {
        await write().catch((error: unknown) => {
          if (!stopping.signal.aborted) log.warn('could not report which policies are in force here', { error });
        });
      }
      const again = AbortSignal.any([stopping.signal, cutShort.signal]);
      await sleep(systemClock, heartbeatMilliseconds, again);
      if (cutShort.signal.aborted) await sleep(systemClock, settleMilliseconds, stopping.signal);
      cutShort = new AbortController();
    }
  }

  async function write(): Promise<void> {
    const { appliedVersion } = source;
    const absent = [...source.states()].filter(({ inForce }) => !inForce).map(({ name }) => name);
    const revision = source.current().set.revision;
    const lease = replicaLease(
      namespace,
      { identity, appliedVersion, revision, absent },
      replicaLeaseSeconds,
      Date.now(),
    );
    await client.apply(leases, lease, {
      fieldManager: 'kidp-replica',
      force: true,
      signal: stopping.signal,
      timeoutMilliseconds: heartbeatMilliseconds,
    });
  }

  return {
    async stop() {
      end();
      stopping.abort();
      await running;
      await client
        .delete(leases, { namespace, name: replicaLeaseName(identity) }, { timeoutMilliseconds: 5_000 })
        .catch((error: unknown) => {
          if (!isNotFound(error)) log.warn('could not take back the report of this replica', { error });
        });
    },
  };
}
