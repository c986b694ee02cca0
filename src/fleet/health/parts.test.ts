/** Pods and custom resources, judged from what was read. On a real cluster: test/fleet-health. */
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../runtime/index.ts';
import type { HealthState } from '../contract.ts';
import { type ClusterObjects, groupPods } from './objects.ts';
import { finding, worst } from './part.ts';
import { checkPods } from './pods.ts';
import type { HealthProfile } from './profile.ts';
import { checkReconciliation } from './reconciliation.ts';
import { RestartMemory } from './restarts.ts';
import type { CustomResource, Pod } from './shapes.ts';
import { StalenessMemory } from './staleness.ts';
import { amountOf, overLimit } from './usage.ts';

const now = Date.UTC(2026, 0, 1);
const template = { spec: { containers: [{ name: 'manager', image: 'controller:1' }] } };

function pod(over: { name?: string; hash?: string; made?: number; status?: Pod['status']; limits?: object } = {}): Pod {
  const { name = 'controller-abc-1', hash = 'abc', made = -60_000, status = { phase: 'Running' }, limits } = over;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'operators',
      uid: name,
      creationTimestamp: new Date(now + made).toISOString(),
      labels: { 'pod-template-hash': hash },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: `controller-${hash}`, uid: 'r', controller: true },
      ],
    },
    spec: {
      containers: [{ name: 'manager', ...(limits === undefined ? {} : { resources: { limits: limits as never } }) }],
    },
    status,
  };
}

const profile: HealthProfile = {
  namespace: 'operators',
  workloads: [{ kind: 'Deployment', namespace: 'operators', name: 'controller', replicas: 1, template }],
  webhooks: [],
  kinds: [
    {
      definition: 'widgets.test',
      resource: { group: 'test', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true },
      countsGenerations: true,
      reportsGeneration: false,
    },
  ],
};
const deployment = {
  metadata: { name: 'controller', generation: 1 },
  spec: { replicas: 1, template },
  status: { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 },
};

function objectsOf(given: {
  pods?: readonly Pod[];
  metrics?: readonly object[] | Error;
  custom?: readonly CustomResource[] | Error;
  workload?: object | undefined;
}): ClusterObjects {
  return {
    get: async <T>() => ('workload' in given ? given.workload : deployment) as T | undefined,
    list: async <T>() => {
      if (given.metrics instanceof Error) throw given.metrics;
      return (given.metrics ?? []) as readonly T[];
    },
    some: async () => [],
    podsByWorkload: async () => groupPods(given.pods ?? []),
    eachCustomResource: async (_resource, each) => {
      if (given.custom instanceof Error) throw given.custom;
      for (const object of given.custom ?? []) each(object);
    },
  };
}

const refused = (status: number, message = '') => new ApiError({ doing: 'list', status, reason: 'X', message });

describe('pods', () => {
  const limits = { cpu: '500m', memory: '128Mi' };
  const using = (cpu: string, memory: string) => [
    { metadata: { name: 'controller-abc-1' }, containers: [{ name: 'manager', usage: { cpu, memory } }] },
  ];
  const waiting = (reason: string): Pod['status'] => ({
    phase: 'Running',
    containerStatuses: [{ name: 'manager', state: { waiting: { reason } } }],
  });
  const rows: { reason: string; objects: ClusterObjects; state: HealthState; says?: RegExp; running?: number }[] = [
    { reason: 'run', objects: objectsOf({ pods: [pod()] }), state: 'Healthy', running: 1 },
    {
      reason: 'are counted as ready, but none is seen to run',
      objects: objectsOf({}),
      state: 'Unhealthy',
      says: /0 of 1 pods are running/,
    },
    {
      reason: 'are in a crash loop',
      objects: objectsOf({ pods: [pod({ status: waiting('CrashLoopBackOff') })] }),
      state: 'Unhealthy',
      says: /container manager: CrashLoopBackOff/,
    },
    {
      reason: 'have an image that cannot be had',
      objects: objectsOf({ pods: [pod({ status: waiting('ImagePullBackOff') })] }),
      state: 'Unhealthy',
      says: /ImagePullBackOff/,
    },
    {
      reason: 'restart too often',
      objects: objectsOf({
        pods: [pod({ status: { phase: 'Running', containerStatuses: [{ name: 'manager', restartCount: 3 }] } })],
      }),
      state: 'Unhealthy',
      says: /restarted 3 times or more within 5 minutes/,
    },
    {
      reason: 'of the revision before restarted',
      objects: objectsOf({
        pods: [
          pod({
            name: 'old',
            hash: 'old',
            made: -120_000,
            status: { phase: 'Running', containerStatuses: [{ restartCount: 9 }] },
          }),
          pod(),
        ],
      }),
      state: 'Healthy',
      running: 1,
    },
    {
      reason: 'are of no Deployment that is there',
      objects: objectsOf({ pods: [pod()], workload: undefined }),
      state: 'Unknown',
      says: /does not exist/,
    },
    {
      reason: 'use what they may',
      objects: objectsOf({ pods: [pod({ limits })], metrics: using('499m', '128Mi') }),
      state: 'Healthy',
    },
    {
      reason: 'use more than they may',
      objects: objectsOf({ pods: [pod({ limits })], metrics: using('100m', '129Mi') }),
      state: 'Unhealthy',
      says: /uses more memory than 100 % of its limit/,
    },
    {
      reason: 'are not measured, which is nothing wrong',
      objects: objectsOf({ pods: [pod({ limits })], metrics: refused(404) }),
      state: 'Healthy',
    },
  ];
  for (const { reason, objects, state, says = /^/, running } of rows) {
    it(`are ${state} where they ${reason}`, async () => {
      const thresholds = { enabled: true, maxRestarts: 3, restartWindowMilliseconds: 300_000, maxResourceShare: 1 };
      const input = { profile, thresholds, restarts: new RestartMemory(), now, mayBeAtZero: false };
      const found = await checkPods({ ...input, objects });
      expect(found.state).toBe(state);
      expect(found.message ?? '').toMatch(says);
      if (running !== undefined) expect(found.running).toBe(running);
    });
  }

  it('are measured in any way that Kubernetes writes amounts', () => {
    expect([amountOf('1500m'), amountOf('1.5'), amountOf(2), amountOf('1Ki'), amountOf('1e3')]).toEqual([
      1.5, 1.5, 2, 1024, 1000,
    ]);
    expect([amountOf('much'), amountOf(undefined)]).toEqual([undefined, undefined]);
  });

  it('may be held to a share of their limits', () => {
    const measured = new Map(using('300m', '1Mi').map((each) => [each.metadata.name, each as never]));
    expect(overLimit([pod({ limits })], measured, 0.5)).toContain('more cpu than 50 %');
    expect(overLimit([pod({ limits })], measured, 0.7)).toBeUndefined();
  });
});

describe('custom resources', () => {
  const custom = (name: string, status?: CustomResource['status']): CustomResource => ({
    apiVersion: 'test/v1',
    kind: 'Widget',
    metadata: { name, uid: name, generation: 2 },
    ...(status === undefined ? {} : { status }),
  });
  const done = (name: string) =>
    custom(name, { observedGeneration: 2, conditions: [{ type: 'Ready', status: 'True' }] });
  const inError = (name: string) =>
    custom(name, { observedGeneration: 2, conditions: [{ type: 'Ready', status: 'False' }] });
  const many = (count: number, make: (name: string) => CustomResource) =>
    Array.from({ length: count }, (_, index) => make(`${make.name}-${index}`));
  const rows: { reason: string; custom: CustomResource[] | Error; state: HealthState; says?: RegExp; max?: number }[] =
    [
      { reason: 'there is none', custom: [], state: 'Healthy' },
      { reason: 'all are taken up', custom: many(3, done), state: 'Healthy' },
      {
        reason: 'one waits',
        custom: [done('a'), custom('b', { observedGeneration: 1 })],
        state: 'Unhealthy',
        says: /for example Widget b/,
      },
      {
        reason: 'one was never taken up, and others of its kind were',
        custom: [custom('b'), done('a')],
        state: 'Unhealthy',
        says: /for example Widget b/,
      },
      { reason: 'none of them ever says', custom: [custom('a'), custom('b')], state: 'Healthy' },
      {
        reason: 'one that waits is being deleted',
        custom: [
          done('a'),
          { ...custom('b', { observedGeneration: 1 }), metadata: { name: 'b', deletionTimestamp: 'now' } },
        ],
        state: 'Healthy',
      },
      { reason: '4 % report an error', custom: [...many(96, done), ...many(4, inError)], state: 'Healthy' },
      {
        reason: '5 % report an error',
        custom: [...many(95, done), ...many(5, inError)],
        state: 'Unhealthy',
        says: /5 % or more/,
      },
      { reason: 'none may, and one does', custom: [...many(99, done), inError('x')], max: 0, state: 'Unhealthy' },
      { reason: 'all may', custom: many(3, inError), max: 1, state: 'Healthy' },
      { reason: 'their kind is not served', custom: refused(404), state: 'Unhealthy', says: /not served/ },
      { reason: 'the list is forbidden', custom: refused(403), state: 'Unknown', says: /no permission to list/ },
      {
        reason: 'they cannot be converted',
        custom: refused(500, 'conversion webhook for test/v2, Kind=Widget failed: connection refused'),
        state: 'Unhealthy',
        says: /conversion webhook/,
      },
    ];
  for (const { reason, custom: given, state, says = /^/, max = 0.05 } of rows) {
    it(`are ${state} where ${reason}`, async () => {
      const thresholds = {
        enabled: true,
        staleAfterMilliseconds: 300_000,
        maxErrorRate: max,
        errorConditions: ['Ready'],
      };
      const staleness = new StalenessMemory();
      const input = { objects: objectsOf({ custom: given }), profile, thresholds, staleness };
      await checkReconciliation({ ...input, now });
      const found = await checkReconciliation({ ...input, now: now + 300_001 });
      expect(found.state).toBe(state);
      expect(found.message ?? '').toMatch(says);
    });
  }
});

it('the worst finding counts, and NotChecked only if nothing was checked', () => {
  const [good, bad, open, off] = (['Healthy', 'Unhealthy', 'Unknown', 'NotChecked'] as const).map((each) =>
    finding(each, each),
  );
  if (good === undefined || bad === undefined || open === undefined || off === undefined)
    throw new Error('unreachable');
  expect(worst([good, open, bad, off])).toBe(bad);
  expect(worst([good, open, off])).toBe(open);
  expect(worst([off, good])).toBe(good);
  expect(worst([off])).toBe(off);
  expect(worst([]).state).toBe('NotChecked');
});
