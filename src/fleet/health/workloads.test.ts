/** Whether a workload is rolled out, from what the API server says of it. */
import { describe, expect, it } from 'vitest';
import type { WorkloadProfile } from './profile.ts';
import type { Workload } from './shapes.ts';
import { judgeWorkload, type WorkloadVerdict } from './workloads.ts';

const template = {
  metadata: { labels: { app: 'controller' }, annotations: { checksum: '1' } },
  spec: {
    containers: [{ name: 'manager', image: 'controller:2', args: ['--leader'], env: [{ name: 'MODE', value: 'on' }] }],
  },
};
const profile: WorkloadProfile = {
  kind: 'Deployment',
  namespace: 'operators',
  name: 'controller',
  replicas: 2,
  template,
};
const progressing = (reason: string, status = 'True') => ({ conditions: [{ type: 'Progressing', status, reason }] });
const done = {
  observedGeneration: 3,
  replicas: 2,
  updatedReplicas: 2,
  availableReplicas: 2,
  ...progressing('NewReplicaSetAvailable'),
};

function live(status: NonNullable<Workload['status']>, spec: Workload['spec'] = {}): Workload {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'controller', namespace: 'operators', generation: 3 },
    spec: { replicas: 2, template, ...spec },
    status,
  };
}
const container = template.spec.containers[0];
const running = (changes: object): Workload =>
  live(done, { template: { ...template, spec: { containers: [{ ...container, ...changes } as never] } } });

describe('a Deployment', () => {
  const rows: { reason: string; object: Workload | undefined; state: WorkloadVerdict['state'] }[] = [
    { reason: 'all pods are the new ones and ready', object: live(done), state: 'rolled-out' },
    { reason: 'it does not exist', object: undefined, state: 'other' },
    {
      reason: 'it is being deleted',
      object: {
        ...live(done),
        metadata: { name: 'controller', generation: 3, deletionTimestamp: '2026-01-01T00:00:00Z' },
      },
      state: 'other',
    },
    {
      reason: 'its status is of the previous generation',
      object: live({ ...done, observedGeneration: 2 }),
      state: 'under-way',
    },
    { reason: 'it has no status', object: live({}), state: 'under-way' },
    {
      reason: 'some pods are updated',
      object: live({ ...done, updatedReplicas: 1, ...progressing('ReplicaSetUpdated') }),
      state: 'under-way',
    },
    {
      reason: 'old pods are still there',
      object: live({ ...done, replicas: 3, ...progressing('ReplicaSetUpdated') }),
      state: 'under-way',
    },
    {
      reason: 'the new pods are not ready yet',
      object: live({ ...done, availableReplicas: 1, ...progressing('ReplicaSetUpdated') }),
      state: 'under-way',
    },
    {
      reason: 'it was rolled out, and a pod is not ready any more',
      object: live({ ...done, availableReplicas: 1 }),
      state: 'short',
    },
    {
      reason: 'its progress deadline is exceeded',
      object: live({ ...done, updatedReplicas: 1, ...progressing('ProgressDeadlineExceeded', 'False') }),
      state: 'short',
    },
    {
      reason: 'somebody has scaled it to 0',
      object: live({ observedGeneration: 3 }, { replicas: 0 }),
      state: 'at-zero',
    },
    {
      reason: 'it is scaling to 0',
      object: live({ observedGeneration: 3, replicas: 1, updatedReplicas: 1 }, { replicas: 0 }),
      state: 'under-way',
    },
    {
      reason: 'an autoscaler wants more than the chart',
      object: live({ ...done, replicas: 5, updatedReplicas: 5, availableReplicas: 5 }, { replicas: 5 }),
      state: 'rolled-out',
    },
    { reason: 'it runs the previous image', object: running({ image: 'controller:1' }), state: 'other' },
    { reason: 'it has other arguments', object: running({ args: ['--follower'] }), state: 'other' },
    {
      reason: 'it has another environment',
      object: running({ env: [{ name: 'MODE', value: 'off' }] }),
      state: 'other',
    },
    {
      reason: 'somebody added to its environment',
      object: running({
        env: [
          { name: 'MODE', value: 'on' },
          { name: 'PROXY', value: 'x' },
        ],
      }),
      state: 'rolled-out',
    },
    {
      reason: 'its pods have another annotation',
      object: live(done, { template: { ...template, metadata: { labels: { app: 'controller' } } } }),
      state: 'other',
    },
  ];
  for (const { reason, object, state } of rows) {
    it(`is ${state} where ${reason}`, () => expect(judgeWorkload(profile, object).state).toBe(state));
  }

  it('quotes no value of the environment, which may be a secret', () => {
    const verdict = judgeWorkload(profile, running({ env: [{ name: 'MODE', value: 'hunter2' }] }));
    expect(JSON.stringify(verdict)).toContain('MODE');
    expect(JSON.stringify(verdict)).not.toContain('hunter2');
  });
});

describe('other workloads', () => {
  const rows: { reason: string; kind: 'StatefulSet' | 'DaemonSet'; status: object; state: WorkloadVerdict['state'] }[] =
    [
      {
        reason: 'all are of its newest revision',
        kind: 'StatefulSet',
        status: { replicas: 2, readyReplicas: 2, availableReplicas: 2, currentRevision: 'b', updateRevision: 'b' },
        state: 'rolled-out',
      },
      {
        reason: 'one is of the revision before',
        kind: 'StatefulSet',
        status: { replicas: 2, updatedReplicas: 1, availableReplicas: 2, currentRevision: 'a', updateRevision: 'b' },
        state: 'under-way',
      },
      {
        reason: 'every node has its new pod',
        kind: 'DaemonSet',
        status: { desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3 },
        state: 'rolled-out',
      },
      {
        reason: 'one node has none that is ready',
        kind: 'DaemonSet',
        status: { desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 2 },
        state: 'short',
      },
    ];
  for (const { reason, kind, status, state } of rows) {
    it(`a ${kind} is ${state} where ${reason}`, () => {
      const object = { ...live({ observedGeneration: 3, ...status }), kind };
      expect(judgeWorkload({ ...profile, kind }, object).state).toBe(state);
    });
  }
});
