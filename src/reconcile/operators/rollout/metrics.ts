/** The metrics of rollouts (docs/requirements.md, 002 Metrics). */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { isFinished, phaseOf, type Rollout, takesSlot, toMilliseconds } from './rollout.ts';

export interface RolloutMetrics {
  /** Counts the changes of a status write. */
  written(before: Rollout, after: Rollout): void;
  /** Records the duration of a Helm run on a cluster. */
  installed(operator: string, seconds: number): void;
}

interface MetricsOptions {
  readonly registry: Registry | undefined;
  /** All rollouts; undefined if this replica does not report them. */
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
  const deployed = counter('kidp_operators_deployed_total', 'Completed rollouts', labels);
  const failed = counter(
    'kidp_operators_failed_total',
    'Failed rollouts, including those that were rolled back',
    labels,
  );
  const back = counter('kidp_operators_rollback_total', 'Started rollbacks, by reason', [...labels, 'reason']);
  const took = histogram(
    'kidp_operator_deploy_duration_seconds',
    'Time from the start of a rollout to its completion',
    labels,
  );
  const backTook = histogram(
    'kidp_operator_rollback_duration_seconds',
    'Time from the start of a rollback to its end',
    labels,
  );
  const helm = histogram('kidp_helm_install_duration_seconds', 'Duration of a Helm install or upgrade on a cluster', [
    'operator',
  ]);
  new Gauge({
    name: 'kidp_deployments_active',
    help: 'Rollouts in progress, except those that wait for a user',
    registers,
    collect() {
      const all = rollouts();
      if (all === undefined) return;
      this.set([...all].filter(({ status }) => takesSlot(status ?? {})).length);
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
  Math.max(0, toMilliseconds(to) - toMilliseconds(from)) / 1000;
