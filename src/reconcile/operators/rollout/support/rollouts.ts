/** Rollouts and facts for tests of decisions. */

import { ROLLOUT_FINALIZER } from '../../../../api/index.ts';
import type { Snapshot } from '../../../../fleet/index.ts';
import { nextStep } from '../decide/next-step.ts';
import { configOf, stagesOf } from '../decide/plan.ts';
import type { Facts, Rollout, RolloutStatus } from '../rollout.ts';

export const now = Date.parse('2026-02-01T12:00:00Z');
export const at = (secondsAgo: number) => new Date(now - secondsAgo * 1_000).toISOString();

export interface Given {
  readonly spec?: object;
  readonly metadata?: object;
  readonly clusters?: Readonly<Record<string, object>>;
  readonly status?: object;
  readonly coexist?: boolean;
}

/** A rollout in progress on the clusters a, b and c, with the given overrides. */
export function rolloutWith({ spec = {}, metadata = {}, clusters = {}, status = {}, coexist = true }: Given): Rollout {
  const object = {
    apiVersion: 'platform.company.com/v1',
    kind: 'OperatorDeployment',
    metadata: { name: 'rollout', uid: 'u', generation: 1, finalizers: [ROLLOUT_FINALIZER], ...metadata },
    spec: { operator: 'tool', version: 'v2.0.0', clusters: ['a', 'b', 'c'], strategy: 'Rolling', ...spec },
  } as Rollout;
  const names = ['a', 'b', 'c'];
  const stages = stagesOf(
    object.spec,
    names.map((name) => ({ name, environment: 'Dev' as const, available: true })),
  );
  const config = configOf(object.spec, coexist) as Record<string, unknown>;
  const plan = {
    digest: 'd',
    operatorUid: 'o',
    chartDigest: 'c',
    strategy: object.spec.strategy,
    config,
    stages,
    createdAt: at(9_000),
  };
  return {
    ...object,
    status: {
      phase: 'Deploying',
      stage: 1,
      startedAt: at(8_000),
      progressedAt: at(10),
      plan,
      clusters: names.map((name) => ({
        name,
        uid: `uid-${name}`,
        environment: 'Dev',
        state: 'Pending',
        snapshot: 'new',
        stage: stages.findIndex((stage) => stage.clusters.includes(name)) + 1,
        ...clusters[name],
      })),
      ...status,
    } as RolloutStatus,
  };
}

export function factsWith(
  more: Partial<Facts> & { away?: readonly string[]; paused?: readonly string[]; gone?: readonly string[] } = {},
): Facts {
  const { away = [], paused = [], gone = [], ...rest } = more;
  return {
    cluster: (name) =>
      gone.includes(name)
        ? undefined
        : {
            uid: `uid-${name}`,
            environment: 'Dev',
            available: !away.includes(name) && !paused.includes(name),
            ...(paused.includes(name) ? { paused: true } : {}),
            why: paused.includes(name) ? 'Cluster is paused' : 'Cluster is unreachable',
          },
    approval: () => undefined,
    installedBy: () => undefined,
    restoredBy: () => undefined,
    notBefore: () => 0,
    ...rest,
  };
}

export const deployingFor = (seconds: number) => ({
  state: 'Deploying',
  attempt: 'u.install',
  startedAt: at(seconds),
  preparedAt: at(seconds),
});
/** Deployed some seconds ago, healthy since the first check; `lookedAgo` is the age of the last check. */
export const healthyFor = (seconds: number, lookedAgo = 0) => ({
  ...deployingFor(seconds),
  state: 'Healthy',
  deployedAt: at(seconds),
  snapshotBefore: 'old',
  fromVersion: 'v1.0.0',
  revision: 2,
  healthySince: at(seconds),
  lastCheckedAt: at(lookedAgo),
  checks: 10,
  checksPassed: 10,
  failuresInRow: 0,
});
export const unhealthy = { ...healthyFor(100), state: 'Unhealthy', message: 'Pods crash' };

export const statesOf = ({ clusters = [] }: RolloutStatus) =>
  Object.fromEntries(clusters.map(({ name, state }) => [name, state]));
export const actionsFor = (object: Rollout, facts = factsWith()) =>
  nextStep(object, facts, now).actions.map((act) => ('cluster' in act ? `${act.kind} ${act.cluster}` : act.kind));
export const reasonOf = ({ conditions = [] }: RolloutStatus, type = 'Ready') =>
  conditions.find((each) => each.type === type)?.reason;

/** An empty snapshot of the operator `tool`. */
export const snapshotOf = (name: string, namespace: string): Snapshot => ({
  name,
  digest: `digest-${name}`,
  operator: 'tool',
  version: name,
  chartDigest: '',
  valuesDigest: '',
  environment: 'Production',
  kubernetesVersion: 'v1.36.0',
  namespace,
  releaseName: 'tool',
  definitions: [],
  manifests: [],
});
