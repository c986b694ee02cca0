/** The Prometheus metrics of the runtime (requirement 000: `kidp_reconciliation_duration_seconds`), one set per registry. */
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
  /** Pass it to an event recorder as `onOutcome`. */
  event(outcome: EventOutcome): void;
}

/** Each measurement wakes the process; at the default of 10 ms that costs measurable CPU. */
const lagPrecisionMilliseconds = 100;

/** `processMetrics` registers CPU, memory and event-loop metrics of the process, once per registry. */
export function processMetrics(registry: Registry): void {
  if (registry.getSingleMetric('process_cpu_seconds_total') !== undefined) return;
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagPrecisionMilliseconds });
}

const seconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** `runtimeMetrics` registers the metrics of controllers, workqueues, leader election and events. */
export function runtimeMetrics(registry: Registry): RuntimeMetrics {
  const registers = [registry];
  const queues = new Map<string, () => Workqueue | undefined>();
  const leases = new Map<string, () => boolean>();
  const reconciles = reconcileMetrics(registers);
  const workqueue = workqueueMetrics(registers, queues);
  new Gauge({
    name: 'kidp_leader',
    help: 'Whether this process is the leader (1) or a standby (0)',
    labelNames: ['lease'],
    registers,
    collect: eachOf('lease', leases, (isLeading) => Number(isLeading())),
  });
  const recorded = new Counter({
    name: 'kidp_events_total',
    help: 'Kubernetes Events by result',
    labelNames: ['result'],
    registers,
  });
  return {
    event: (result) => recorded.inc({ result }),
    controller(controller, queue) {
      queues.set(controller, queue);
      return { ...workqueue(controller), ...reconciles(controller) };
    },
    leading: (lease, leading) => void leases.set(lease, leading),
  };
}

/** A gauge that reads its values when it is scraped. */
const eachOf = <N extends string, T>(labelName: N, sources: ReadonlyMap<string, T>, read: (source: T) => number) =>
  function collect(this: Gauge<N>) {
    for (const [name, source] of sources) this.set({ [labelName]: name } as Record<N, string>, read(source));
  };

function reconcileMetrics(
  registers: Registry[],
): (controller: string) => Pick<ControllerMetrics, 'active' | 'reconciled'> {
  const duration = new Histogram({
    name: 'kidp_reconciliation_duration_seconds',
    help: 'Duration of a reconcile in seconds',
    labelNames: ['controller', 'result'],
    buckets: seconds,
    registers,
  });
  const total = new Counter({
    name: 'kidp_reconciliations_total',
    help: 'Reconciles by result',
    labelNames: ['controller', 'result'],
    registers,
  });
  const active = new Gauge({
    name: 'kidp_reconciliations_active',
    help: 'Reconciles in progress',
    labelNames: ['controller'],
    registers,
  });
  return (controller) => ({
    active: (reconciles) => active.set({ controller }, reconciles),
    reconciled(result, value) {
      duration.observe({ controller, result }, value);
      total.inc({ controller, result });
    },
  });
}

function workqueueMetrics(
  registers: Registry[],
  queues: ReadonlyMap<string, () => Workqueue | undefined>,
): (controller: string) => WorkqueueMetrics {
  const of = { labelNames: ['controller' as const], registers };
  const depth = new Gauge({ name: 'kidp_workqueue_depth', help: 'Keys waiting in the workqueue', ...of });
  const adds = new Counter({ name: 'kidp_workqueue_adds_total', help: 'Keys added to the workqueue', ...of });
  const retries = new Counter({ name: 'kidp_workqueue_retries_total', help: 'Keys requeued with backoff', ...of });
  const waited = new Histogram({
    name: 'kidp_workqueue_queue_duration_seconds',
    help: 'Time a key waited in the workqueue, in seconds',
    buckets: seconds,
    ...of,
  });
  const worked = new Histogram({
    name: 'kidp_workqueue_work_duration_seconds',
    help: 'Time a key was worked on, in seconds',
    buckets: seconds,
    ...of,
  });
  new Gauge({
    name: 'kidp_workqueue_unfinished_work_seconds',
    help: 'Total time that the keys in progress have taken so far, in seconds',
    collect: eachOf('controller', queues, (queue) => queue()?.running().unfinishedSeconds ?? 0),
    ...of,
  });
  new Gauge({
    name: 'kidp_workqueue_longest_running_seconds',
    help: 'Time that the longest-running key in progress has taken so far, in seconds',
    collect: eachOf('controller', queues, (queue) => queue()?.running().longestSeconds ?? 0),
    ...of,
  });
  return (controller) => ({
    depth: (keys) => depth.set({ controller }, keys),
    added: () => adds.inc({ controller }),
    retried: () => retries.inc({ controller }),
    waited: (value) => waited.observe({ controller }, value),
    worked: (value) => worked.observe({ controller }, value),
  });
}
