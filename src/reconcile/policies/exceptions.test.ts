import { describe, expect, test } from 'vitest';
import type { PolicyException } from '../../api/index.ts';
import { readPolicy } from '../../policy/index.ts';
import { exceptionStatus } from './exceptions.ts';

const { model } = readPolicy({
  apiVersion: 'platform.company.com/v1',
  kind: 'Policy',
  metadata: { name: 'p' },
  spec: { selector: { resourceTypes: ['core/v1/ConfigMap'] }, rules: [{ name: 'rule', expression: 'true' }] },
});
const facts = {
  now: Date.UTC(2026, 5, 1),
  modelOf: (name: string) => (name === 'p' ? model : undefined),
  exceptionNamespaces: ['policy-exceptions'],
};
const exception = (spec: object = {}, namespace = 'policy-exceptions') =>
  ({
    apiVersion: 'platform.company.com/v1',
    kind: 'PolicyException',
    metadata: { name: 'e', namespace, generation: 2 },
    spec: { policies: [{ name: 'p', rules: ['rule'] }], selector: {}, reason: 'r', requester: 'ada', ...spec },
  }) as unknown as PolicyException;

describe('an exception', () => {
  test.each([
    { reason: 'Honoured', of: exception(), phase: 'ready', expired: false },
    { reason: 'Honoured', of: exception({ expiresAt: '2026-06-02' }), phase: 'ready', expired: false },
    { reason: 'Expired', of: exception({ expiresAt: '2026-01-01' }), phase: 'failed', expired: true },
    { reason: 'NamespaceNotConfigured', of: exception({}, 'team-a'), phase: 'failed', expired: false },
    { reason: 'PolicyNotFound', of: exception({ policies: [{ name: 'q' }] }), phase: 'pending', expired: false },
    {
      reason: 'RuleNotFound',
      of: exception({ policies: [{ name: 'p', rules: ['x'] }] }),
      phase: 'failed',
      expired: false,
    },
    {
      reason: 'Invalid',
      of: exception({ matchConditions: [{ name: 'c', expression: '(' }] }),
      phase: 'failed',
      expired: false,
    },
  ])('is $phase for the reason $reason', ({ of, reason, phase, expired }) => {
    const status = exceptionStatus(of, facts);
    expect(status).toMatchObject({
      phase,
      expired,
      observedGeneration: 2,
      conditions: [{ type: 'Ready', status: phase === 'ready' ? 'True' : 'False', reason, observedGeneration: 2 }],
    });
    expect(exceptionStatus({ ...of, status }, { ...facts, now: facts.now + 1 })).toEqual(status);
  });
});
