import { describe, expect, test } from 'vitest';
import { memoryCluster } from '../../../test/support/memory-cluster.ts';
import type { Resource } from '../../runtime/index.ts';
import {
  heldLabel,
  isAtZero,
  restoreReplicas,
  scale,
  scaledToZero,
  type Workload,
  whyNotRolledOut,
  workloadsIn,
} from './workloads.ts';

const workload = (kind: string, status: object, replicas?: number): Workload =>
  ({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'shop', generation: 2 },
    spec: replicas === undefined ? {} : { replicas },
    status,
  }) as Workload;

const seen = { observedGeneration: 2 };

test.each([
  {
    reason: 'the new generation is not observed, although the old one is healthy',
    object: workload('Deployment', { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 }),
    expected: 'has not observed its latest generation',
  },
  {
    reason: 'not all replicas are updated',
    object: workload('Deployment', { ...seen, replicas: 2, updatedReplicas: 1, availableReplicas: 2 }, 2),
    expected: 'has 1 of 2 updated replicas',
  },
  {
    reason: 'old replicas are still running',
    object: workload('Deployment', { ...seen, replicas: 2, updatedReplicas: 1, availableReplicas: 2 }),
    expected: 'still has old replicas',
  },
  {
    reason: 'updated replicas are not ready',
    object: workload('Deployment', { ...seen, replicas: 1, updatedReplicas: 1 }),
    expected: 'has 0 of 1 updated replicas ready',
  },
  {
    reason: 'everything is ready',
    object: workload('Deployment', { ...seen, replicas: 1, updatedReplicas: 1, availableReplicas: 1 }),
    expected: undefined,
  },
  { reason: 'none is wanted and none is there', object: workload('Deployment', seen, 0), expected: undefined },
  {
    reason: 'a StatefulSet',
    object: workload('StatefulSet', { ...seen, replicas: 1, updatedReplicas: 1, availableReplicas: 1 }),
    expected: undefined,
  },
  {
    reason: 'a DaemonSet that is not everywhere',
    object: workload('DaemonSet', {
      ...seen,
      desiredNumberScheduled: 3,
      updatedNumberScheduled: 3,
      numberAvailable: 2,
    }),
    expected: 'has 2 of 3 updated replicas ready',
  },
  { reason: 'a DaemonSet with nowhere to go', object: workload('DaemonSet', seen), expected: undefined },
])('$reason', ({ object, expected }) => expect(whyNotRolledOut(object)).toBe(expected));

test('an exceeded progress deadline is not waited for', () => {
  const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }];
  expect(() => whyNotRolledOut(workload('Deployment', { ...seen, conditions }))).toThrow(
    /exceeded its progressDeadlineSeconds/,
  );
});

test('hooks are not workloads', () => {
  const hook = {
    ...workload('Deployment', {}),
    metadata: { name: 'a', annotations: { 'helm.sh/hook': 'post-install' } },
  };
  const objects = [workload('DaemonSet', {}), workload('Deployment', {}), hook, { ...hook, kind: 'Job' }];
  expect(workloadsIn(objects).map(({ kind }) => kind)).toEqual(['DaemonSet', 'Deployment']);
});

test.each([
  { reason: 'a Deployment without a status', kind: 'Deployment', status: {}, expected: false },
  { reason: 'a Deployment with pods', kind: 'Deployment', status: { ...seen, replicas: 1 }, expected: false },
  { reason: 'a Deployment without', kind: 'Deployment', status: { ...seen, replicas: 0 }, expected: true },
  {
    reason: 'a DaemonSet somewhere',
    kind: 'DaemonSet',
    status: { ...seen, desiredNumberScheduled: 1 },
    expected: false,
  },
  {
    reason: 'a DaemonSet whose pods have not ended yet',
    kind: 'DaemonSet',
    status: { ...seen, desiredNumberScheduled: 0, numberMisscheduled: 1 },
    expected: false,
  },
  { reason: 'a DaemonSet nowhere', kind: 'DaemonSet', status: { ...seen, desiredNumberScheduled: 0 }, expected: true },
])('at 0: $reason, $expected', ({ kind, status, expected }) => {
  expect(isAtZero(workload(kind, status))).toBe(expected);
});

describe('on a cluster', () => {
  const resourceOf = (kind: string): Resource => ({
    group: 'apps',
    version: 'v1',
    plural: `${kind.toLowerCase()}s`,
    kind,
    namespaced: true,
  });
  const cluster = () => memoryCluster(['Deployment', 'StatefulSet', 'DaemonSet'].map(resourceOf));
  const place = { namespace: 'shops', name: 'shop' };
  const daemon = (nodeSelector?: object): Workload =>
    ({
      ...workload('DaemonSet', {}),
      spec: { template: { spec: { containers: [], ...(nodeSelector === undefined ? {} : { nodeSelector }) } } },
    }) as Workload;

  test.each([
    { object: workload('Deployment', {}, 3), at: { replicas: 0 }, back: { replicas: 3 } },
    { object: workload('StatefulSet', {}), at: { replicas: 0 }, back: { replicas: 1 } },
    {
      object: daemon(),
      at: { template: { spec: { nodeSelector: { [heldLabel]: 'true' } } } },
      back: { template: { spec: { nodeSelector: {} } } },
    },
    {
      object: daemon({ disk: 'fast' }),
      at: { template: { spec: { nodeSelector: { disk: 'fast', [heldLabel]: 'true' } } } },
      back: { template: { spec: { nodeSelector: { disk: 'fast' } } } },
    },
  ])('a $object.kind is scaled to zero, and comes back as the snapshot says', async ({ object, at, back }) => {
    const { client, put, get, calls } = cluster();
    const resource = resourceOf(object.kind);
    const specOf = () => get(resource, place)?.spec;
    put(resource, { ...object, metadata: place });
    await scale(client, [object], 'shops', 0);
    expect(specOf()).toMatchObject(at);
    expect(scaledToZero(object).spec).toMatchObject(at);
    const asked = calls.length;
    await scale(client, [object], 'shops', 0);
    expect(calls.slice(asked)).toEqual([`get ${resource.plural} shops/shop`]);
    await restoreReplicas(client, [object], 'shops');
    expect(specOf()).toMatchObject(back);
    await scale(client, [object], 'shops', 0);
    await scale(client, [object], 'shops');
    expect(specOf()).toMatchObject(back);
    expect(JSON.stringify(specOf())).not.toContain(heldLabel);
  });

  test('what somebody else has scaled, and is not at 0, is left to them', async () => {
    const { client, put, get } = cluster();
    const resource = resourceOf('Deployment');
    put(resource, { ...workload('Deployment', {}, 7), metadata: place });
    await restoreReplicas(client, [workload('Deployment', {})], 'shops');
    expect(get(resource, place)?.spec).toMatchObject({ replicas: 7 });
  });
});
