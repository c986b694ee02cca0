import { describe, expect, test } from 'vitest';
import type { UnknownObject } from '../../../runtime/index.ts';
import { readinessOf } from './readiness.ts';

const workload = (kind: string, status: object, more: object = {}): UnknownObject =>
  ({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'w', generation: 2 },
    spec: { replicas: 2 },
    status,
    ...more,
  }) as UnknownObject;
const done = { observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2, readyReplicas: 2 };
const pod = (reason: string, message?: string, restartCount = 0): UnknownObject =>
  ({
    status: { containerStatuses: [{ restartCount, state: { waiting: { reason, message } } }] },
  }) as unknown as UnknownObject;

describe('a workload', () => {
  test.each([
    { reason: 'rolled out', object: workload('Deployment', done), phase: 'ready' },
    {
      reason: 'not looked at yet',
      object: workload('Deployment', { ...done, observedGeneration: 1 }),
      phase: 'deploying',
    },
    {
      reason: 'with old copies beside the new',
      object: workload('Deployment', { ...done, replicas: 3 }),
      phase: 'deploying',
    },
    { reason: 'with too few', object: workload('Deployment', { ...done, availableReplicas: 1 }), phase: 'deploying' },
    {
      reason: 'with more copies than are wanted now',
      object: workload('Deployment', { ...done, replicas: 4, updatedReplicas: 4, availableReplicas: 4 }),
      phase: 'deploying',
    },
    { reason: 'without a status', object: workload('Deployment', {}, { status: undefined }), phase: 'deploying' },
    {
      reason: 'of no copies',
      object: workload('Deployment', { observedGeneration: 2 }, { spec: { replicas: 0 } }),
      phase: 'ready',
    },
    {
      reason: 'a StatefulSet of one revision',
      object: workload('StatefulSet', { ...done, currentRevision: 'a', updateRevision: 'a' }),
      phase: 'ready',
    },
    {
      reason: 'a StatefulSet of two',
      object: workload('StatefulSet', { ...done, updatedReplicas: 1, currentRevision: 'a', updateRevision: 'b' }),
      phase: 'deploying',
    },
  ])('$reason is $phase', ({ object, phase }) => {
    expect(readinessOf(object, [], false).phase).toBe(phase);
  });

  test('that was ready is so until its controller says otherwise', () => {
    expect(readinessOf(workload('Deployment', { ...done, observedGeneration: 1 }), [], true).phase).toBe('ready');
  });

  const condition = (type: string, status: string, reason: string, message: string) =>
    workload('Deployment', { observedGeneration: 2, conditions: [{ type, status, reason, message }] });
  test.each([
    {
      reason: 'no room',
      object: condition('ReplicaFailure', 'True', 'FailedCreate', 'exceeded quota: q'),
      error: { class: 'quota', code: 'quota-exceeded' },
    },
    {
      reason: 'a webhook',
      object: condition('ReplicaFailure', 'True', 'FailedCreate', 'denied by policy'),
      error: { class: 'permanent', code: 'pods-refused' },
    },
    {
      reason: 'it stands still',
      object: condition('Progressing', 'False', 'ProgressDeadlineExceeded', 'm'),
      error: { class: 'transient', code: 'no-progress' },
    },
  ])('fails: $reason', ({ object, error }) => {
    expect(readinessOf(object, [], false)).toMatchObject({ phase: 'failed', error });
  });

  test.each([
    {
      reason: 'in a namespace that was just made',
      object: condition('ReplicaFailure', 'True', 'FailedCreate', 'error looking up service account team/default'),
      message: 'error looking up service account team/default',
    },
    {
      reason: 'whose controller has not looked at this generation',
      object: workload('Deployment', {
        observedGeneration: 1,
        conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota: q' }],
      }),
      message: '0 of 2 replicas are ready',
    },
  ])('goes on: $reason', ({ object, message }) => {
    expect(readinessOf(object, [], false)).toEqual({ phase: 'deploying', message });
  });

  test.each([
    {
      pods: [pod('InvalidImageName')],
      error: { class: 'permanent', code: 'invalid-image' },
      reason: 'no name of an image',
    },
    {
      pods: [pod('CreateContainerConfigError', 'no secret')],
      error: { class: 'permanent', code: 'container-config' },
      reason: 'a reference to nothing',
    },
    {
      pods: [pod('CreateContainerConfigError', 'container has runAsNonRoot and image will run as root')],
      error: { code: 'container-config', message: expect.stringContaining('numeric USER other than 0, or') },
      reason: 'an image that runs as root',
    },
    {
      pods: [pod('ImagePullBackOff', 'manifest unknown')],
      error: { class: 'permanent', code: 'image-not-pulled' },
      reason: 'no such image',
    },
    {
      pods: [pod('ErrImagePull', 'i/o timeout')],
      error: { class: 'transient', code: 'image-not-pulled' },
      reason: 'a registry that is away',
    },
    {
      pods: [pod('CrashLoopBackOff', 'back-off', 5)],
      error: { class: 'transient', code: 'crash-loop' },
      reason: 'it ends again and again',
    },
  ])('fails by its pods: $reason', ({ pods, error }) => {
    expect(readinessOf(workload('Deployment', {}), pods, false)).toMatchObject({ phase: 'failed', error });
  });

  test('may end once or twice while something else starts', () => {
    expect(readinessOf(workload('Deployment', {}), [pod('CrashLoopBackOff', 'x', 1)], false).phase).toBe('deploying');
  });
});
