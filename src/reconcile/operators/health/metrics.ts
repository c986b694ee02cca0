/** Health metrics: healthy operators and the duration of checks (docs/requirements.md, 002 Metrics). */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface HealthMetrics {
  /** Sets the number of installations of an Operator and how many of them are healthy. */
  operator(name: string, installations: number, healthy: number): void;
  deleted(name: string): void;
  checked(seconds: number): void;
  /** Counts an installation that became unhealthy. */
  alerted(operator: string): void;
  round(summary: { readonly seconds: number; readonly installations: number }): void;
}

const seconds = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 3, 5, 10, 30, 60];

/** Without a registry nothing is recorded. */
export function healthMetrics(registry: Registry | undefined): HealthMetrics {
  if (registry === undefined) return { operator() {}, deleted() {}, checked() {}, alerted() {}, round() {} };
  const registers = [registry];
  const operators = new Map<string, { installations: number; healthy: number }>();
  const count = (test: (each: { installations: number; healthy: number }) => boolean) =>
    [...operators.values()].filter((each) => each.installations > 0 && test(each)).length;
  new Gauge({
    name: 'kidp_operators_healthy',
    help: 'Operators that are healthy on all their clusters',
    registers,
    collect() {
      this.set(count(({ installations, healthy }) => healthy === installations));
    },
  });
  new Gauge({
    name: 'kidp_operators_unhealthy',
    help: 'Operators that are unhealthy or of unknown health on at least one cluster',
    registers,
    collect() {
      this.set(count(({ installations, healthy }) => healthy < installations));
    },
  });
  const duration = new Histogram({
    name: 'kidp_operator_healthcheck_duration_seconds',
    help: 'Duration of a health check of one operator on one cluster',
    buckets: seconds,
    registers,
  });
  const alerts = new Counter({
    name: 'kidp_operator_unhealthy_total',
    help: 'Transitions of an operator to unhealthy on a cluster',
    labelNames: ['operator'],
    registers,
  });
  const rounds = new Histogram({
    name: 'kidp_operator_health_round_duration_seconds',
    help: 'Duration of a health check round over all clusters',
    buckets: seconds,
    registers,
  });
  const looked = new Gauge({
    name: 'kidp_operator_health_round_installations',
    help: 'Installations checked in the last round',
    registers,
  });
  return {
    operator: (name, installations, healthy) => void operators.set(name, { installations, healthy }),
    deleted(name) {
      operators.delete(name);
      alerts.remove({ operator: name });
    },
    checked: (value) => duration.observe(value),
    alerted: (name) => alerts.inc({ operator: name }),
    round(summary) {
      rounds.observe(summary.seconds);
      looked.set(summary.installations);
    },
  };
}
