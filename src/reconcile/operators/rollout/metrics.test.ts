/** Tests of the metrics that are derived from status writes of rollouts. */
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { rolloutMetrics } from './metrics.ts';
import type { Rollout, RolloutStatus } from './rollout.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString();
const rollout = (status?: RolloutStatus): Rollout =>
  ({
    metadata: { name: 'shop-2' },
    spec: { operator: 'shop', strategy: 'Canary' },
    ...(status === undefined ? {} : { status }),
  }) as Rollout;

const deploying: RolloutStatus = { phase: 'Deploying', startedAt: at(0) };
const completed: RolloutStatus = { phase: 'Completed', startedAt: at(0), finishedAt: at(90) };
const rollingBack: RolloutStatus = {
  phase: 'RollingBack',
  startedAt: at(0),
  rollback: { reason: 'Unhealthy', message: 'dev: webhook', startedAt: at(100) },
} as RolloutStatus;
const rolledBack: RolloutStatus = {
  ...rollingBack,
  phase: 'Failed',
  finishedAt: at(140),
  rollback: { ...rollingBack.rollback, finishedAt: at(140) },
} as RolloutStatus;

const names = {
  deployed: 'kidp_operators_deployed_total',
  failed: 'kidp_operators_failed_total',
  back: 'kidp_operators_rollback_total',
  took: 'kidp_operator_deploy_duration_seconds',
  backTook: 'kidp_operator_rollback_duration_seconds',
  helm: 'kidp_helm_install_duration_seconds',
} as const;

/** Reads counters by their sum, histograms by count and sum. */
async function read(registry: Registry) {
  const valuesOf = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values ?? [];
  const counted = async (name: string) => (await valuesOf(name)).reduce((sum, { value }) => sum + value, 0);
  const measured = async (name: string) => {
    const values = (await valuesOf(name)) as { metricName?: string; value: number }[];
    const of = (suffix: string) => values.find(({ metricName }) => metricName === `${name}_${suffix}`)?.value ?? 0;
    return [of('count'), of('sum')];
  };
  return {
    deployed: await counted(names.deployed),
    failed: await counted(names.failed),
    back: await counted(names.back),
    took: await measured(names.took),
    backTook: await measured(names.backTook),
    helm: await measured(names.helm),
  };
}

const nothing = { deployed: 0, failed: 0, back: 0, took: [0, 0], backTook: [0, 0], helm: [0, 0] };

describe('a rollout', () => {
  const rows: { reason: string; steps: (RolloutStatus | undefined)[]; counts: Partial<typeof nothing> }[] = [
    { reason: 'is in progress', steps: [undefined, deploying, { ...deploying, phase: 'Validating' }], counts: {} },
    {
      reason: 'is completed and written again',
      steps: [deploying, completed, { ...completed, message: 'seen' } as RolloutStatus],
      counts: { deployed: 1, took: [1, 90] },
    },
    { reason: 'starts a rollback', steps: [deploying, rollingBack, { ...rollingBack }], counts: { back: 1 } },
    {
      reason: 'was rolled back',
      steps: [deploying, rollingBack, rolledBack, { ...rolledBack }],
      counts: { back: 1, failed: 1, backTook: [1, 40] },
    },
    {
      reason: 'was rolled back after completion',
      steps: [deploying, completed, rollingBack, rolledBack],
      counts: { deployed: 1, took: [1, 90], back: 1, failed: 1, backTook: [1, 40] },
    },
    {
      reason: 'failed before anything was deployed',
      steps: [undefined, { phase: 'Failed', finishedAt: at(5) }],
      counts: { failed: 1 },
    },
  ];
  for (const { reason, steps, counts } of rows) {
    it(`that ${reason} is counted once`, async () => {
      const registry = new Registry();
      const metrics = rolloutMetrics({ registry, rollouts: () => [] });
      for (const [index, step] of steps.entries()) {
        if (index > 0) metrics.written(rollout(steps[index - 1]), rollout(step));
      }
      expect(await read(registry)).toEqual({ ...nothing, ...counts });
    });
  }

  it('has the labels operator and strategy, and a rollback its reason', async () => {
    const registry = new Registry();
    const metrics = rolloutMetrics({ registry, rollouts: () => [] });
    metrics.written(rollout(deploying), rollout(rollingBack));
    metrics.written(rollout(rollingBack), rollout(rolledBack));
    metrics.installed('shop', 7);
    const text = await registry.metrics();
    expect(text).toContain('kidp_operators_rollback_total{operator="shop",strategy="Canary",reason="Unhealthy"} 1');
    expect(text).toContain('kidp_operators_failed_total{operator="shop",strategy="Canary"} 1');
    expect(text).toContain('kidp_helm_install_duration_seconds_sum{operator="shop"} 7');
  });
});

describe('deployments.active', () => {
  const active = async (registry: Registry) =>
    (await registry.getSingleMetric('kidp_deployments_active')?.get())?.values[0]?.value;

  it('follows the rollouts that take a slot', async () => {
    const registry = new Registry();
    let all: readonly Rollout[] | undefined;
    rolloutMetrics({ registry, rollouts: () => all });
    expect(await active(registry)).toBe(0);
    all = [undefined, deploying, rollingBack, completed, { ...deploying, heldSince: at(3) }].map(rollout);
    expect(await active(registry)).toBe(2);
    all = [completed, rolledBack].map(rollout);
    expect(await active(registry)).toBe(0);
  });
});

it('records nothing without a registry', () => {
  const metrics = rolloutMetrics({ registry: undefined, rollouts: () => undefined });
  metrics.written(rollout(deploying), rollout(completed));
  expect(() => metrics.installed('shop', 1)).not.toThrow();
});
