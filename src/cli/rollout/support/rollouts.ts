/** For tests of this folder: a rollout under way, as the API server has it. */
import type { Rollout } from '../summary.ts';

type Status = NonNullable<Rollout['status']>;
type ClusterStatus = NonNullable<Status['clusters']>[number];

export const now = Date.parse('2026-01-31T12:10:00Z');

export const cluster = (name: string, stage: number, more: Partial<ClusterStatus> = {}): ClusterStatus => ({
  name,
  environment: name.startsWith('prod') ? 'Production' : 'Dev',
  stage,
  state: 'Pending',
  ...more,
});

export function rollout(status: Partial<Status> = {}, spec: Partial<Rollout['spec']> = {}): Rollout {
  const clusters = status.clusters ?? [
    cluster('dev-1', 1, {
      state: 'Healthy',
      checks: 12,
      checksPassed: 12,
      failuresInRow: 0,
      healthySince: '2026-01-31T12:01:00Z',
    }),
    cluster('dev-2', 2, {
      state: 'Validating',
      checks: 4,
      checksPassed: 3,
      failuresInRow: 1,
      message: 'pods: web-1 is not ready',
    }),
    cluster('prod-eu', 2, { state: 'Deploying' }),
    cluster('prod-us', 3),
  ];
  const stages = [...new Set(clusters.map(({ stage }) => stage))].map((stage) => ({
    name: `Stage ${stage}`,
    clusters: clusters.filter((each) => each.stage === stage).map(({ name }) => name),
  }));
  const healthy = clusters.filter(({ state }) => state === 'Healthy').length;
  return {
    apiVersion: 'platform.company.com/v1',
    kind: 'OperatorDeployment',
    metadata: { name: 'widgets-2', uid: 'u-1', creationTimestamp: '2026-01-31T11:59:00Z' },
    spec: { operator: 'widgets', version: '2.0.0', strategy: 'Canary', ...spec },
    status: {
      phase: 'Deploying',
      stage: 2,
      startedAt: '2026-01-31T12:00:00Z',
      plan: {
        digest: 'sha256:1',
        operatorUid: 'u',
        chartDigest: 'sha256:2',
        strategy: 'Canary',
        config: {},
        stages,
        createdAt: '2026-01-31T12:00:00Z',
      },
      counts: { total: clusters.length, healthy, failed: 0, skipped: 0, rolledBack: 0 },
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'Deploying',
          message: 'stage 2 of 3',
          lastTransitionTime: '2026-01-31T12:00:00Z',
        },
      ],
      history: [
        { at: '2026-01-31T12:00:00Z', what: 'Planned', message: '4 clusters in 3 stages (Canary)' },
        { at: '2026-01-31T12:05:00Z', what: 'StageStarted', message: 'stage 2 of 3' },
      ],
      ...status,
      clusters,
    },
  } as unknown as Rollout;
}
