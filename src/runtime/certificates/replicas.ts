/**
 * Tracks which replicas are alive: those whose heartbeat changes, measured on the clock of this replica. Clocks of two
 * machines are never compared, as in the leader election of Kubernetes.
 */
import type { Clock } from '../clock.ts';
import type { ReplicaReport } from './store.ts';

export class LivingReplicas {
  readonly #vanishMilliseconds: number;
  readonly #clock: Clock;
  readonly #seen = new Map<string, { beat: string; at: number }>();

  constructor(vanishMilliseconds: number, clock: Clock) {
    this.#vanishMilliseconds = vanishMilliseconds;
    this.#clock = clock;
  }

  /** Records the current reports. It returns the replicas whose heartbeat has not changed for too long as vanished. */
  observe(reports: readonly ReplicaReport[]): { living: ReplicaReport[]; vanished: string[] } {
    const now = this.#clock.monotonic();
    const living: ReplicaReport[] = [];
    const vanished: string[] = [];
    for (const report of reports) {
      const seen = this.#seen.get(report.identity);
      if (seen === undefined || seen.beat !== report.beat) {
        this.#seen.set(report.identity, { beat: report.beat, at: now });
        living.push(report);
      } else if (now - seen.at < this.#vanishMilliseconds) {
        living.push(report);
      } else {
        vanished.push(report.identity);
      }
    }
    const present = new Set(reports.map(({ identity }) => identity));
    for (const identity of this.#seen.keys()) if (!present.has(identity)) this.#seen.delete(identity);
    return { living, vanished };
  }
}
