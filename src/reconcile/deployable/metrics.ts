/**
 * Metrics: objects by phase (docs/requirements.md, 000: `kidp_resource_count`), stuck objects, failures by reason, and
 * broker reports.
 */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { deployableKinds } from '../../api/index.ts';
import { type Condition, getCondition } from '../../runtime/index.ts';
import { millisecondsOf } from './backoff.ts';
import type { Cause, Deployable } from './deployable.ts';

type FailureReason = 'transient' | 'permanent' | 'quota' | 'timeout' | 'drift';

export interface DeployableMetrics {
  decided(type: string, cause: Cause): void;
  acknowledged(type: string, seconds: number): void;
  failed(type: string, broker: string, reason: FailureReason): void;
  reported(broker: string, phase: string, result: string): void;
  abandoned(type: string): void;
}

interface MetricsOptions {
  readonly registry: Registry | undefined;
  /** All objects of a kind; undefined if they are not known here. */
  readonly objects: (kind: string) => Iterable<Deployable> | undefined;
  readonly now: () => number;
}

/** docs/requirements.md, 000: alert if an object is pending for more than ten minutes. */
const tooLongMilliseconds = 10 * 60_000;
const phases = ['pending', 'deploying', 'ready', 'failed', 'unknown'] as const;

export function deployableMetrics({ registry, objects, now }: MetricsOptions): DeployableMetrics {
  if (registry === undefined) {
    return { decided() {}, acknowledged() {}, failed() {}, reported() {}, abandoned() {} };
  }
  const registers = [registry];
  const counted = () => tally(objects, now());
  new Gauge({
    name: 'kidp_resource_count',
    help: 'Number of objects by kind and phase.',
    labelNames: ['type', 'status'],
    registers,
    collect() {
      this.reset();
      for (const [type, { byPhase }] of counted()) {
        for (const status of phases) this.set({ type, status }, byPhase.get(status) ?? 0);
      }
    },
  });
  new Gauge({
    name: 'kidp_resource_stuck_count',
    help: 'Number of objects that are not ready and have not changed state for more than ten minutes, by kind and phase; `deleting` counts pending deletions.',
    labelNames: ['type', 'status'],
    registers,
    collect() {
      this.reset();
      for (const [type, { stuck }] of counted()) {
        for (const status of ['pending', 'deploying', 'unknown', 'deleting'] as const) {
          this.set({ type, status }, stuck.get(status) ?? 0);
        }
      }
    },
  });
  const decided = new Counter({
    name: 'kidp_deployments_total',
    help: 'Total number of deployments decided, by kind and cause.',
    labelNames: ['type', 'cause'],
    registers,
  });
  const waited = new Histogram({
    name: 'kidp_dispatch_duration_seconds',
    help: 'Seconds from the decision to send a message to its acknowledgement.',
    labelNames: ['type'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
    registers,
  });
  const failed = new Counter({
    name: 'kidp_deployment_failures_total',
    help: 'Total number of failed deployments by reason: transient, permanent, quota, timeout, drift.',
    labelNames: ['type', 'broker', 'reason'],
    registers,
  });
  const reported = new Counter({
    name: 'kidp_deployment_reports_total',
    help: 'Total number of broker reports by phase and result.',
    labelNames: ['broker', 'phase', 'result'],
    registers,
  });
  const abandoned = new Counter({
    name: 'kidp_cleanups_abandoned_total',
    help: 'Total number of objects deleted without cleanup confirmation from their broker.',
    labelNames: ['type'],
    registers,
  });
  return {
    decided: (type, cause) => decided.inc({ type, cause }),
    acknowledged: (type, seconds) => waited.observe({ type }, Math.max(0, seconds)),
    failed: (type, broker, reason) => failed.inc({ type, broker, reason }),
    reported: (broker, phase, result) => reported.inc({ broker, phase, result }),
    abandoned: (type) => abandoned.inc({ type }),
  };
}

interface Tally {
  readonly byPhase: Map<string, number>;
  readonly stuck: Map<string, number>;
}

/** Computed at scrape time: ten thousand objects take about a millisecond, and the values are always consistent. */
function tally(objects: MetricsOptions['objects'], now: number): Map<string, Tally> {
  const found = new Map<string, Tally>();
  for (const { kind } of deployableKinds) {
    const all = objects(kind);
    if (all === undefined) continue;
    const byPhase = new Map<string, number>();
    const stuck = new Map<string, number>();
    for (const object of all) {
      const phase = object.status?.phase ?? 'pending';
      byPhase.set(phase, (byPhase.get(phase) ?? 0) + 1);
      const state = object.metadata.deletionTimestamp === undefined ? phase : 'deleting';
      if (state !== 'ready' && now - changedAt(object) > tooLongMilliseconds) {
        stuck.set(state, (stuck.get(state) ?? 0) + 1);
      }
    }
    found.set(kind, { byPhase, stuck });
  }
  return found;
}

function changedAt({ metadata, status }: Deployable): number {
  if (metadata.deletionTimestamp !== undefined) return millisecondsOf(metadata.deletionTimestamp);
  const ready = getCondition(status?.conditions as Condition[] | undefined, 'Ready');
  return millisecondsOf(ready?.lastTransitionTime ?? metadata.creationTimestamp);
}
