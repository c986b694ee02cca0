/** What is measured of health: how many are well, and how long it takes to find out (requirement 002, metrics). */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface HealthMetrics {
  /** How an Operator fares: on how many clusters it is, and on how many it is well. */
  operator(name: string, installations: number, healthy: number): void;
  gone(name: string): void;
  checked(seconds: number): void;
  /** An installation has turned unhealthy. */
  alerted(operator: string): void;
  round(summary: { readonly seconds: number; readonly installations: number }): void;
}

const seconds = [0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 3, 5, 10, 30, 60];

/** Without a registry nobody asks. */
export function healthMetrics(registry: Registry | undefined): HealthMetrics {
  if (registry === undefined) return { operator() {}, gone() {}, checked() {}, alerted() {}, round() {} };
  const registers = [registry];
  const operators = new Map<string, { installations: number; healthy: number }>();
  const count = (test: (each: { installations: number; healthy: number }) => boolean) =>
    [...operators.values()].filter((each) => each.installations > 0 && test(each)).length;
  new Gauge({
    name: 'kidp_operators_healthy',
    help: 'Operators that are well on every cluster they are on',
    registers,
    collect() {
      this.set(count(({ installations, healthy }) => healthy === installations));
    },
  });
  new Gauge({
    name: 'kidp_operators_unhealthy',
    help: 'Operators that are not known to be well on some cluster',
    registers,
    collect() {
      this.set(count(({ installations, healthy }) => healthy < installations));
    },
  });
  const duration = new Histogram({
    name: 'kidp_operator_healthcheck_duration_seconds',
    help: 'How long it took to look at one operator on one cluster',
    buckets: seconds,
    registers,
  });
  const alerts = new Counter({
    name: 'kidp_operator_unhealthy_total',
    help: 'How often an operator has turned unhealthy on a cluster',
    labelNames: ['operator'],
    registers,
  });
  const rounds = new Histogram({
    name: 'kidp_operator_health_round_duration_seconds',
    help: 'How long it took to look at all operators on all clusters',
    buckets: seconds,
    registers,
  });
  const looked = new Gauge({
    name: 'kidp_operator_health_round_installations',
    help: 'How many installations the last round looked at',
    registers,
  });
  return {
    operator: (name, installations, healthy) => void operators.set(name, { installations, healthy }),
    gone(name) {
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
