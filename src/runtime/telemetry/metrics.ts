/** The runtime's Prometheus metrics (requirement 000: `kidp_reconciliation_duration_seconds`), one set a registry. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';
import type { EventOutcome } from '../events/recorder.ts';
import type { Workqueue, WorkqueueMetrics } from '../workqueue/workqueue.ts';

export type ReconcileOutcome =
  | 'success'
  | 'requeue_after'
  | 'error'
  | 'conflict'
  | 'terminal_error'
  | 'timeout'
  | 'fenced';

export interface ControllerMetrics extends WorkqueueMetrics {
  reconciled(outcome: ReconcileOutcome, seconds: number): void;
  active(reconciles: number): void;
}

export interface RuntimeMetrics {
  controller(name: string, queue: () => Workqueue | undefined): ControllerMetrics;
  leading(lease: string, leading: () => boolean): void;
  /** For an event recorder's `onOutcome`. */
  event(outcome: EventOutcome): void;
}

/** How often the lag of the event loop is looked at: each look wakes the process, and ten times as often is felt. */
const lagPrecisionMilliseconds = 100;

/** Of the process itself: its CPU, memory and event loop. Once a registry. */
export function processMetrics(registry: Registry): void {
  if (registry.getSingleMetric('process_cpu_seconds_total') !== undefined) return;
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagPrecisionMilliseconds });
}

const seconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export function runtimeMetrics(registry: Registry): RuntimeMetrics {
  const registers = [registry];
  const queues = new Map<string, () => Workqueue | undefined>();
  const leases = new Map<string, () => boolean>();
  const each = <N extends string>(labelName: N, of: Map<string, unknown>, read: (name: string) => number) =>
    function collect(this: Gauge<N>) {
      for (const name of of.keys()) this.set({ [labelName]: name } as Record<N, string>, read(name));
    };

  const duration = new Histogram({
    name: 'kidp_reconciliation_duration_seconds',
    help: 'How long a reconcile took',
    labelNames: ['controller', 'result'],
    buckets: seconds,
    registers,
  });
  const total = new Counter({
    name: 'kidp_reconciliations_total',
    help: 'Reconciles by how they ended',
    labelNames: ['controller', 'result'],
    registers,
  });
  const active = new Gauge({
    name: 'kidp_reconciliations_active',
    help: 'Reconciles under way',
    labelNames: ['controller'],
    registers,
  });
  const depth = new Gauge({
    name: 'kidp_workqueue_depth',
    help: 'Keys that wait',
    labelNames: ['controller'],
    registers,
  });
  const adds = new Counter({
    name: 'kidp_workqueue_adds_total',
    help: 'Keys added',
    labelNames: ['controller'],
    registers,
  });
  const retries = new Counter({
    name: 'kidp_workqueue_retries_total',
    help: 'Keys added again with backoff',
    labelNames: ['controller'],
    registers,
  });
  const waited = new Histogram({
    name: 'kidp_workqueue_queue_duration_seconds',
    help: 'How long a key waited',
    labelNames: ['controller'],
    buckets: seconds,
    registers,
  });
  const worked = new Histogram({
    name: 'kidp_workqueue_work_duration_seconds',
    help: 'How long a key was worked on',
    labelNames: ['controller'],
    buckets: seconds,
    registers,
  });
  new Gauge({
    name: 'kidp_workqueue_unfinished_work_seconds',
    help: 'How long the keys being worked on have taken so far, together',
    labelNames: ['controller'],
    registers,
    collect: each('controller', queues, (name) => queues.get(name)?.()?.running().unfinishedSeconds ?? 0),
  });
  new Gauge({
    name: 'kidp_workqueue_longest_running_seconds',
    help: 'How long the longest of them has taken so far',
    labelNames: ['controller'],
    registers,
    collect: each('controller', queues, (name) => queues.get(name)?.()?.running().longestSeconds ?? 0),
  });
  new Gauge({
    name: 'kidp_leader',
    help: 'Whether this process leads',
    labelNames: ['lease'],
    registers,
    collect: each('lease', leases, (name) => Number(leases.get(name)?.() ?? false)),
  });

  const recorded = new Counter({
    name: 'kidp_events_total',
    help: 'Events by what became of them',
    labelNames: ['result'],
    registers,
  });

  return {
    event: (result) => recorded.inc({ result }),
    controller(controller, queue) {
      queues.set(controller, queue);
      return {
        depth: (keys) => depth.set({ controller }, keys),
        added: () => adds.inc({ controller }),
        retried: () => retries.inc({ controller }),
        waited: (value) => waited.observe({ controller }, value),
        worked: (value) => worked.observe({ controller }, value),
        active: (reconciles) => active.set({ controller }, reconciles),
        reconciled(result, value) {
          duration.observe({ controller, result }, value);
          total.inc({ controller, result });
        },
      };
    },
    leading: (lease, leading) => void leases.set(lease, leading),
  };
}
