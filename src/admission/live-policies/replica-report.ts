/** Reports the policies of this replica to the leader, on every change and as a heartbeat: see `replicaLease`. */
import { replicaLease, replicaLeaseName } from '../../api/index.ts';
import { type Client, isNotFound, type Logger, silentLogger, systemClock } from '../../runtime/index.ts';
import { leases, sleep } from '../../runtime/internal.ts';
import type { LivePolicySource } from './source.ts';

export interface ReplicaReportOptions {
  readonly client: Client;
  readonly source: LivePolicySource;
  /** The identity of this replica, unique among all replicas. */
  readonly identity: string;
  /** Reports whether this replica serves requests. Only ready replicas report. */
  readonly ready: () => boolean;
  readonly log?: Logger;
}

export interface ReplicaReporting {
  /** Stops and deletes the report, so that the leader does not wait for this replica. */
  stop(): Promise<void>;
}

const replicaLeaseSeconds = 30;
const heartbeatMilliseconds = 10_000;
/** Policies that are applied in quick succession are reported together. */
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
          if (!stopping.signal.aborted) log.warn('reporting the policies in force failed', { error });
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
          if (!isNotFound(error)) log.warn('deleting the report of this replica failed', { error });
        });
    },
  };
}
