import { describe, expect, test } from 'vitest';
import {
  compilePolicy,
  kubernetesSchemas,
  type PolicyModel,
  readPolicy,
  runPolicyTests,
  typeCheckPolicy,
} from '../../policy/index.ts';
import { getCondition } from '../../runtime/index.ts';
import { type Known, statusOf } from './status.ts';

const now = new Date('2026-01-01T00:00:00Z');

function modelOf(expression: string, tests: object[] = []): PolicyModel {
  const { model } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name: 'p', uid: 'u', generation: 3 },
    spec: {
      selector: { resourceTypes: ['core/v1/ConfigMap'] },
      rules: [{ name: 'rule', expression }],
      ...(tests.length === 0 ? {} : { tests }),
    },
  });
  if (model === undefined) throw new Error('not a policy');
  return model;
}

function known(expression: string, more: Partial<Known> = {}, tests: object[] = []): Known {
  const model = modelOf(expression, tests);
  const { policy, issues } = compilePolicy(model);
  const replica = { identity: 'a', appliedVersion: '10', revision: 'r', absent: [], silent: false };
  return {
    state: {
      name: 'p',
      uid: 'u',
      generation: 3,
      resourceVersion: '10',
      model,
      ...(policy === undefined ? {} : { policy }),
      issues,
      inForce: policy !== undefined,
      waitsFor: [],
    },
    examination: policy === undefined ? undefined : typeCheckPolicy(model, kubernetesSchemas()),
    tests: policy === undefined ? undefined : runPolicyTests(model),
    replicas: [replica],
    uncovered: undefined,
    reports: { group: 'openreports.io', version: 'v1alpha1', available: true },
    authenticates: true,
    scan: undefined,
    unreadable: [],
    ...more,
  };
}
const conditionOf = (of: Known, type: string) => getCondition(statusOf(of, undefined, now).conditions as never, type);
const waiting = known('true');

describe('Ready', () => {
  test('is True when the webhook is registered and every replica enforces the policy', () => {
    const status = statusOf(known('has(object.data)'), undefined, now);
    expect(getCondition(status.conditions as never, 'Ready')).toEqual({
      type: 'Ready',
      status: 'True',
      reason: 'Enforced',
      message: 'Enforced by one replica',
      lastTransitionTime: '2026-01-01T00:00:00Z',
      observedGeneration: 3,
    });
    expect(status).toMatchObject({ phase: 'ready', observedGeneration: 3, matchedKinds: ['core/v1/ConfigMap'] });
    expect(Object.values(status.replicas ?? {})).toEqual([status.revision]);
    expect(status.cost).toBeGreaterThan(0);
  });

  test.each([
    { reason: 'Invalid', of: known('('), phase: 'failed', said: 'spec.rules[0].expression, line 1' },
    {
      reason: 'WaitingForObjects',
      of: { ...waiting, state: { ...waiting.state, waitsFor: [{ apiVersion: 'v1', kind: 'Secret' }] } },
      phase: 'pending',
      said: 'v1/Secret',
    },
    {
      reason: 'WebhookNotRegistered',
      of: known('true', { uncovered: 'CREATE of x' }),
      phase: 'pending',
      said: 'CREATE of x',
    },
    {
      reason: 'ReplicasBehind',
      of: known('true', {
        replicas: [{ identity: 'late', appliedVersion: '9', revision: 'r', absent: [], silent: false }],
      }),
      phase: 'pending',
      said: 'late',
    },
    { reason: 'NoReplicas', of: known('true', { replicas: [] }), phase: 'pending', said: 'No webhook replica' },
  ])('is not True for the reason $reason', ({ reason, of, phase, said }) => {
    expect(conditionOf(of, 'Ready')).toMatchObject({ status: 'False', reason, message: expect.stringContaining(said) });
    expect(statusOf(of, undefined, now).phase).toBe(phase);
  });
});

describe('the other conditions', () => {
  const trial = (allowed: boolean) => ({
    name: 'one',
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'n' }, data: { a: 'b' } },
    expect: { allowed },
  });
  test.each([
    { type: 'TypeChecked', of: known('has(object.data)'), status: 'True', reason: 'TypesMatch' },
    { type: 'TypeChecked', of: known('object.dta == 1'), status: 'False', reason: 'TypeMismatch' },
    { type: 'TypeChecked', of: known('('), status: 'Unknown', reason: 'Invalid' },
    { type: 'TestsPassed', of: known('has(object.data)', {}, [trial(true)]), status: 'True', reason: 'Passed' },
    { type: 'TestsPassed', of: known('has(object.data)', {}, [trial(false)]), status: 'False', reason: 'TestsFailed' },
    { type: 'TestsPassed', of: known('true'), status: 'Unknown', reason: 'NoTests' },
    { type: 'TestsPassed', of: known('('), status: 'Unknown', reason: 'Invalid' },
    { type: 'ReportsAvailable', of: known('true'), status: 'True', reason: 'Installed' },
    { type: 'CallersAuthenticated', of: known('true'), status: 'True', reason: 'ClientCertificate' },
    {
      type: 'CallersAuthenticated',
      of: known('true', { authenticates: false }),
      status: 'False',
      reason: 'Untrusted',
    },
    {
      type: 'ReportsAvailable',
      of: known('true', { reports: { group: 'openreports.io', version: 'v1alpha1', available: false } }),
      status: 'False',
      reason: 'OpenReportsNotInstalled',
    },
  ])('$type is $status for the reason $reason', ({ type, of, status, reason }) => {
    expect(conditionOf(of, type)).toMatchObject({ status, reason });
  });

  test('count tests, and list type errors with their position', () => {
    const status = statusOf(known('object.dta == 1', {}, [trial(true)]), undefined, now);
    expect(status.tests).toEqual({ passed: 0, failed: 1 });
    expect(status.typeChecking?.[0]).toMatchObject({
      fieldRef: 'spec.rules[0].expression',
      severity: 'error',
      line: 1,
      resourceType: 'core/v1/ConfigMap',
    });
  });
});

test('scan results are in the status, with times in whole seconds', () => {
  const scan = { violations: 2, scannedObjects: 9, at: Date.UTC(2026, 0, 1) + 250, p99Microseconds: 40 };
  expect(statusOf(known('true', { scan }), undefined, now)).toMatchObject({
    violations: 2,
    scannedObjects: 9,
    lastScanTime: '2026-01-01T00:00:00Z',
    p99Microseconds: 40,
  });
});

test('a second evaluation changes nothing', () => {
  const of = known('has(object.data)');
  const first = statusOf(of, undefined, now);
  expect(statusOf(of, first, new Date('2027-01-01T00:00:00Z'))).toEqual(first);
});
