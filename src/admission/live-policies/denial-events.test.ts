import { describe, expect, test } from 'vitest';
import type { PolicyDecision, RuleResult } from '../../policy/index.ts';
import type { EventInput } from '../../runtime/index.ts';
import type { AdmissionRequest } from '../review/decode.ts';
import { denialEvents } from './denial-events.ts';

const result = (more: Partial<RuleResult> = {}): RuleResult => ({
  policyKind: 'Policy',
  policy: 'require-backup',
  rule: 'enabled',
  result: 'fail',
  denies: true,
  audited: false,
  message: 'Set spec.backup.enabled to true',
  severity: 'medium',
  ...more,
});
const request: AdmissionRequest = {
  uid: '1',
  kind: { group: 'platform.company.com', version: 'v1', kind: 'Database' },
  operation: 'CREATE',
  namespace: 'team-a',
  name: 'users',
  userInfo: { username: 'ada' },
  object: { metadata: { name: 'users', namespace: 'team-a', uid: 'of-the-request' } },
};

function recorded(results: readonly RuleResult[], more: Partial<AdmissionRequest> = {}): EventInput[] {
  const events: EventInput[] = [];
  const decision: PolicyDecision = {
    allowed: !results.some(({ denies }) => denies),
    revision: 'r',
    matched: ['require-backup'],
    results,
    auditAnnotations: {},
    cost: 0,
    questions: [],
  };
  const observer = denialEvents({ record: (event) => void events.push(event) });
  observer.evaluated?.({ request: { ...request, ...more }, decision, microseconds: 1 });
  return events;
}

describe('a denial', () => {
  test('is an event about the object, related to the policy, with what each rule said', () => {
    expect(recorded([result(), result({ rule: 'daily', message: 'Daily' })])).toEqual([
      {
        regarding: {
          apiVersion: 'platform.company.com/v1',
          kind: 'Database',
          metadata: { name: 'users', namespace: 'team-a' },
        },
        related: { apiVersion: 'platform.company.com/v1', kind: 'Policy', metadata: { name: 'require-backup' } },
        type: 'Warning',
        reason: 'PolicyDenied',
        action: 'Admission',
        user: 'ada',
        note: 'CREATE by ada denied by policy require-backup: enabled: Set spec.backup.enabled to true; daily: Daily',
      },
    ]);
  });

  test('of an object that is there names that very object', () => {
    const oldObject = { metadata: { name: 'users', uid: 'stored' } };
    expect(recorded([result()], { operation: 'UPDATE', oldObject })[0]?.regarding.metadata.uid).toBe('stored');
  });

  test.each([
    { reason: 'where it is a trial', results: [result()], more: { dryRun: true }, events: 0 },
    { reason: 'for an admitted request', results: [result({ denies: false, result: 'warn' })], more: {}, events: 0 },
    {
      reason: 'where the API server did it by a policy of its own',
      results: [result({ policyKind: 'ValidatingAdmissionPolicy' })],
      more: {},
      events: 0,
    },
    { reason: 'for each policy', results: [result(), result({ policy: 'other' })], more: {}, events: 2 },
  ])('is recorded $reason $events times', ({ results, more, events }) => {
    expect(recorded(results, more)).toHaveLength(events);
  });

  test('of an object without a name is about the policy', () => {
    const { name, ...rest } = request;
    const events: EventInput[] = [];
    denialEvents({ record: (event) => void events.push(event) }).evaluated?.({
      request: { ...rest, object: { metadata: { generateName: 'web-' } } },
      decision: {
        allowed: false,
        revision: '',
        matched: [],
        results: [result()],
        auditAnnotations: {},
        cost: 0,
        questions: [],
      },
      microseconds: 1,
    });
    expect(events[0]?.regarding.kind).toBe('Policy');
    expect(name).toBe('users');
  });
});
