import { expect, test } from 'vitest';
import { controllersIn, type Workload, whyNotRolledOut, workloadsIn } from './workloads.ts';

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
    reason: 'nobody has looked at the new one yet, however well the old one is',
    object: workload('Deployment', { observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1 }),
    expected: 'what it is told was not seen yet',
  },
  {
    reason: 'the new ones are not made yet',
    object: workload('Deployment', { ...seen, replicas: 2, updatedReplicas: 1, availableReplicas: 2 }, 2),
    expected: '1 of 2 are new',
  },
  {
    reason: 'old ones are still there',
    object: workload('Deployment', { ...seen, replicas: 2, updatedReplicas: 1, availableReplicas: 2 }),
    expected: 'old ones are still there',
  },
  {
    reason: 'they are there and not well',
    object: workload('Deployment', { ...seen, replicas: 1, updatedReplicas: 1 }),
    expected: '0 of 1 are available',
  },
  {
    reason: 'all is well',
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
    expected: '2 of 3 are available',
  },
  { reason: 'a DaemonSet with nowhere to go', object: workload('DaemonSet', seen), expected: undefined },
])('$reason', ({ object, expected }) => expect(whyNotRolledOut(object)).toBe(expected));

test('what has given up is not waited for', () => {
  const conditions = [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }];
  expect(() => whyNotRolledOut(workload('Deployment', { ...seen, conditions }))).toThrow(/has not come forward/);
});

test('hooks are no workloads, and a DaemonSet cannot be at 0', () => {
  const hook = {
    ...workload('Deployment', {}),
    metadata: { name: 'a', annotations: { 'helm.sh/hook': 'post-install' } },
  };
  const objects = [workload('DaemonSet', {}), workload('Deployment', {}), hook, { ...hook, kind: 'Job' }];
  expect(workloadsIn(objects).map(({ kind }) => kind)).toEqual(['DaemonSet', 'Deployment']);
  expect(controllersIn(objects).map(({ kind }) => kind)).toEqual(['Deployment']);
});
