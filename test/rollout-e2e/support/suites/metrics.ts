/** The metrics of rollouts, scraped from the platform. */
import { expect, test } from 'vitest';
import { type OperatorDeployment, operatorDeployment } from '../../../../src/api/index.ts';
import { eventually } from '../../../../src/runtime/testing/index.ts';
import { readMetrics } from '../../../support/metrics.ts';
import type { Show } from '../suite-context.ts';

const clusters = 3;

export function metricTests(show: () => Show): void {
  test('counts and times each rollout, rollback, Helm run and CRD validation', async () => {
    const values = await valuesOf(show());
    for (const [operator, strategy] of [
      ['direct', 'Direct'],
      ['rolling', 'Rolling'],
      ['canary', 'Canary'],
    ]) {
      const labels = `operator="${operator}",strategy="${strategy}"`;
      // The first version was completed and the second rolled back.
      expect(values.get(`kidp_operators_deployed_total{${labels}}`), operator).toBe(1);
      expect(values.get(`kidp_operators_failed_total{${labels}}`), operator).toBe(1);
      const rollbacks = [...values].filter(([name]) => name.startsWith(`kidp_operators_rollback_total{${labels},`));
      expect(
        rollbacks.map(([, value]) => value),
        operator,
      ).toEqual([1]);
      for (const duration of ['kidp_operator_deploy_duration_seconds', 'kidp_operator_rollback_duration_seconds']) {
        expect(values.get(`${duration}_count{${labels}}`), operator).toBe(1);
        expect(values.get(`${duration}_sum{${labels}}`), operator).toBeGreaterThan(0);
      }
      const installations = `kidp_helm_install_duration_seconds_count{operator="${operator}"}`;
      expect(values.get(installations), operator).toBeGreaterThanOrEqual(clusters);
    }
    // On each cluster at planning and before the change, for both versions of at least the three above.
    expect(values.get('kidp_crds_validated_total')).toBeGreaterThanOrEqual(3 * 2 * clusters);
  });

  test('counts the rollouts in progress', async () => {
    await eventually(async () => {
      const { items } = await show().stage.client.list<OperatorDeployment>(operatorDeployment.resource);
      const active = items.filter(
        ({ status }) =>
          status?.startedAt !== undefined && status.finishedAt === undefined && status.heldSince === undefined,
      );
      expect((await valuesOf(show())).get('kidp_deployments_active')).toBe(active.length);
    });
  });
}

/** Metrics by name and labels, as printed. */
async function valuesOf({ platform, stage }: Show): Promise<ReadonlyMap<string, number>> {
  const text = await readMetrics(platform.admission.url, stage.client);
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}
