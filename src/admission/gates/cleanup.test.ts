import { describe, expect, test } from 'vitest';
import { ABANDON_CLEANUP_ANNOTATION } from '../../api/index.ts';
import { deadlineIn } from '../review/deadline.ts';
import type { AdmissionRequest, Json } from '../review/decode.ts';
import { cleanupGate } from './cleanup.ts';

const objectWith = (value?: string): Json => ({
  metadata: {
    name: 'users',
    namespace: 'team-backend',
    uid: 'u-1',
    ...(value === undefined ? {} : { annotations: { [ABANDON_CLEANUP_ANNOTATION]: value } }),
  },
});
const requestOf = (object: Json, oldObject: Json | undefined, more: object = {}): AdmissionRequest =>
  ({
    uid: 'r',
    name: 'users',
    namespace: 'team-backend',
    kind: { group: 'platform.company.com', version: 'v1', kind: 'Database' },
    operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
    userInfo: { username: 'ada' },
    object,
    ...(oldObject === undefined ? {} : { oldObject }),
    ...more,
  }) as AdmissionRequest;

describe('the annotation that abandons a cleanup', () => {
  test.each([
    { reason: 'concerns who sets it', request: requestOf(objectWith('u-1'), objectWith()), concerned: true },
    { reason: 'concerns who changes it', request: requestOf(objectWith('u-1'), objectWith('x')), concerned: true },
    { reason: 'concerns who creates with it', request: requestOf(objectWith('u-1'), undefined), concerned: true },
    { reason: 'is judged once', request: requestOf(objectWith('u-1'), objectWith('u-1')), concerned: false },
    { reason: 'may be taken away', request: requestOf(objectWith(), objectWith('u-1')), concerned: false },
    {
      reason: 'means nothing on what no broker brings about',
      request: requestOf(objectWith('u-1'), objectWith(), {
        kind: { group: 'platform.company.com', version: 'v1', kind: 'Team' },
      }),
      concerned: false,
    },
    {
      reason: 'does not come with a status',
      request: requestOf(objectWith('u-1'), objectWith(), { subResource: 'status' }),
      concerned: false,
    },
  ])('$reason', ({ request, concerned }) => {
    expect(cleanupGate().matches(request)).toBe(concerned);
  });

  test('needs the verb, on this very object, and leaves a mark in the audit log', async () => {
    const asked: unknown[] = [];
    const gate = cleanupGate(() => async (questions) => {
      asked.push(...questions);
      return [{ allowed: true }];
    });
    const found = await gate.evaluate(requestOf(objectWith('u-1'), objectWith()), deadlineIn(1_000));
    expect(asked).toMatchObject([
      {
        verb: 'abandon-cleanup',
        resource: 'databases',
        namespace: 'team-backend',
        name: 'users',
        subject: 'requester',
      },
    ]);
    expect(found).toMatchObject({ violations: [], auditAnnotations: { 'abandon-cleanup': 'ada' } });
    expect(found.warnings).toHaveLength(1);
  });

  test.each([
    {
      reason: 'is refused to who does not hold the verb',
      value: 'u-1',
      gate: cleanupGate(() => async () => [{ allowed: false }]),
      code: 'AbandonForbidden',
    },
    {
      reason: 'is refused where it names another object, whoever asks',
      value: 'yes',
      gate: cleanupGate(() => async () => [{ allowed: true }]),
      code: 'AbandonUidMismatch',
    },
    { reason: 'is refused where nobody can be asked', value: 'u-1', gate: cleanupGate(), code: 'AbandonForbidden' },
  ])('$reason', async ({ value, gate, code }) => {
    const { violations } = await gate.evaluate(requestOf(objectWith(value), objectWith()), deadlineIn(1_000));
    expect(violations).toMatchObject([{ code, gate: 'cleanup' }]);
  });
});
