/** What is counted of rollouts, by the names of requirement 002 in the spelling of Prometheus. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { isFinished, phaseOf, type Rollout, takesPlace, timeOf } from './rollout.ts';

export interface RolloutMetrics {
  /** A status was written. */
  written(before: Rollout, after: Rollout): void;
  /** Helm was done on a cluster. */
  installed(operator: string, seconds: number): void;
}

interface MetricsOptions {
  readonly registry: Registry | undefined;
  /** All rollouts; undefined where they are not known here. */
  readonly rollouts: () => Iterable<Rollout> | undefined;
}

const minutes = [1, 5, 10, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 7200];

export function rolloutMetrics({ registry, rollouts }: MetricsOptions): RolloutMetrics {
  if (registry === undefined) return { written() {}, installed() {} };
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[]) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string, labelNames: string[]) =>
    new Histogram({ name, help, labelNames, buckets: minutes, registers });
  const labels = ['operator', 'strategy'];
  const deployed = counter('kidp_operators_deployed_total', 'Rollouts that were completed', labels);
  const failed = counter('kidp_operators_failed_total', 'Rollouts that have failed', labels);
  const back = counter('kidp_operators_rollback_total', 'Rollbacks that were begun, by what set them off', [
    ...labels,
    'reason',
  ]);
  const took = histogram(
    'kidp_operator_deploy_duration_seconds',
    'From the start of a rollout to its completion',
    labels,
  );
  const backTook = histogram(
    'kidp_operator_rollback_duration_seconds',
    'From the start of a rollback to its end',
    labels,
  );
  const helm = histogram('kidp_helm_install_duration_seconds', 'How long Helm took on a cluster', ['operator']);
  new Gauge({
    name: 'kidp_deployments_active',
    help: 'Rollouts that are under way, without those that wait for people',
    registers,
    collect() {
      const all = rollouts();
      if (all === undefined) return;
      this.set([...all].filter(({ status }) => takesPlace(status ?? {})).length);
    },
  });
  return {
    written(before, after) {
      const { spec, status = {} } = after;
      const about = { operator: spec.operator, strategy: spec.strategy };
      const was = before.status ?? {};
      if (status.rollback !== undefined && was.rollback === undefined) {
        back.inc({ ...about, reason: status.rollback.reason });
      }
      if (!isFinished(status) || isFinished(was)) return;
      if (phaseOf(status) === 'Completed') {
        deployed.inc(about);
        took.observe(about, secondsBetween(status.startedAt, status.finishedAt));
        return;
      }
      failed.inc(about);
      const { rollback } = status;
      if (rollback !== undefined) backTook.observe(about, secondsBetween(rollback.startedAt, rollback.finishedAt));
    },
    installed: (operator, seconds) => helm.observe({ operator }, seconds),
  };
}

const secondsBetween = (from: string | undefined, to: string | undefined): number =>
  Math.max(0, timeOf(to) - timeOf(from)) / 1000;
