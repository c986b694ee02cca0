import { describe, expect, test } from 'vitest';
import { applyJsonPatch } from '../../../policy/internal.ts';
import { deadlineIn } from '../../review/deadline.ts';
import type { AdmissionRequest, Json } from '../../review/decode.ts';
import { noFacts } from '../gate.ts';
import { approvalsGate, approvalVerbGate, stampApproval } from './gate.ts';

const now = Date.parse('2026-01-31T12:00:00Z');
const subject = { kind: 'CustomResourceDefinition', name: 'widgets.example.com', uid: 'u', digest: 'sha256:1' };
const graces = { decision: 'Approve', by: 'grace', at: '2026-01-01T00:00:00Z' };
const approvalWith = (spec: object): Json => ({
  metadata: { name: 'one' },
  spec: { subject, requester: 'ada', ...spec },
});

const requestOf = (user: string, object: Json, oldObject?: Json, kind = 'Approval'): AdmissionRequest =>
  ({
    uid: 'u',
    name: 'one',
    kind: { group: 'platform.company.com', version: 'v1', kind },
    operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
    userInfo: { username: user },
    object,
    ...(oldObject === undefined ? {} : { oldObject }),
  }) as AdmissionRequest;

describe('the stamp', () => {
  test.each([
    {
      reason: 'who asks is written down',
      request: requestOf('ada', { spec: { subject } }),
      spec: { subject, requester: 'ada' },
    },
    {
      reason: 'who asks is stored without control characters, and is nobody else without them',
      request: requestOf('ada\u202e', approvalWith({ requester: 'ada' })),
      spec: { subject, requester: 'ada\\u202e' },
    },
    {
      reason: 'so is who decides',
      request: requestOf(
        'li\u001b[2Jnus',
        approvalWith({ decisions: [{ decision: 'Reject', by: 'ada', at: '1999-01-01T00:00:00Z' }] }),
        approvalWith({ decisions: [] }),
      ),
      spec: {
        subject,
        requester: 'ada',
        decisions: [{ decision: 'Reject', by: 'li\\u001b[2Jnus', at: '2026-01-31T12:00:00Z' }],
      },
    },
    {
      reason: 'who claims to be somebody else is not',
      request: requestOf('ada', approvalWith({ requester: 'grace' })),
      spec: { subject, requester: 'ada' },
    },
    {
      reason: 'who decides, and when',
      request: requestOf(
        'linus',
        approvalWith({ decisions: [graces, { decision: 'Reject', by: 'ada', at: '1999-01-01T00:00:00Z' }] }),
        approvalWith({ decisions: [graces] }),
      ),
      spec: {
        subject,
        requester: 'ada',
        decisions: [graces, { decision: 'Reject', by: 'linus', at: '2026-01-31T12:00:00Z' }],
      },
    },
  ])('$reason', ({ request, spec }) => {
    const stamped = stampApproval(request, noFacts, now);
    expect(stamped?.object.spec).toEqual(spec);
    const patched = applyJsonPatch(request.object ?? {}, (stamped?.patches ?? []) as never);
    expect(patched).toMatchObject({ document: { spec } });
    // Asked again about what it has changed, it changes nothing.
    expect(stampApproval({ ...request, object: stamped?.object ?? {} }, noFacts, now + 5_000)).toBeUndefined();
  });

  test.each([
    { reason: 'another kind', request: requestOf('ada', { spec: {} }, undefined, 'Policy') },
    { reason: 'no spec: the API server says so itself', request: requestOf('ada', {}) },
    {
      reason: 'nothing new',
      request: requestOf('x', approvalWith({ decisions: [graces] }), approvalWith({ decisions: [graces] })),
    },
  ])('leaves alone: $reason', ({ request }) => {
    expect(stampApproval(request, noFacts, now)).toBeUndefined();
  });
});

describe('the gate', () => {
  const linus = { decision: 'Approve', by: 'linus', at: '2026-01-31T12:00:00Z' };
  const pending = approvalWith({ decisions: [] });

  test.each([
    { reason: 'somebody asks', request: requestOf('ada', approvalWith({})), codes: [] },
    {
      reason: 'somebody asks as another',
      request: requestOf('ada', approvalWith({ requester: 'x' })),
      codes: ['RequesterMismatch'],
    },
    { reason: 'nobody asks', request: requestOf('', approvalWith({ requester: '' })), codes: ['RequesterMismatch'] },
    {
      reason: 'it comes decided',
      request: requestOf('ada', approvalWith({ decisions: [graces] })),
      codes: ['DecisionOnCreate'],
    },
    {
      reason: 'somebody decides',
      request: requestOf('linus', approvalWith({ decisions: [linus] }), pending),
      codes: [],
    },
    {
      reason: 'a decision of another',
      request: requestOf('ada', approvalWith({ decisions: [linus] }), pending),
      codes: ['DecisionUserMismatch'],
    },
    {
      reason: 'a decision that is none',
      request: requestOf('ada', approvalWith({ decisions: ['yes'] }), pending),
      codes: ['DecisionUserMismatch'],
    },
    {
      reason: 'the requester decides',
      request: requestOf('ada', approvalWith({ decisions: [{ ...linus, by: 'ada' }] }), pending),
      codes: ['SelfApproval'],
    },
    {
      reason: 'a second decision of the same person',
      request: requestOf(
        'grace',
        approvalWith({ decisions: [graces, { ...graces, decision: 'Reject' }] }),
        approvalWith({ decisions: [graces] }),
      ),
      codes: ['DuplicateDecision'],
    },
    {
      reason: 'two at once',
      request: requestOf('linus', approvalWith({ decisions: [linus, linus] }), pending),
      codes: ['DuplicateDecision'],
    },
    {
      reason: 'a decision is taken out',
      request: requestOf('linus', approvalWith({ decisions: [] }), approvalWith({ decisions: [graces] })),
      codes: ['DecisionImmutable'],
    },
    {
      reason: 'another subject, and more approvals',
      request: requestOf(
        'ada',
        approvalWith({ subject: { ...subject, uid: 'v' }, requiredApprovals: 2, decisions: [] }),
        pending,
      ),
      codes: ['ApprovalImmutable', 'ApprovalImmutable'],
    },
    {
      reason: 'another reason and other notification addresses',
      request: requestOf('ada', approvalWith({ reason: 'small', notify: ['ada@example.com'], decisions: [] }), pending),
      codes: ['ApprovalImmutable', 'ApprovalImmutable'],
    },
    {
      reason: 'labels of it change',
      request: requestOf('x', { ...pending, metadata: { labels: {} } }, pending),
      codes: [],
    },
  ])('$reason: $codes', ({ request, codes }) => {
    expect(approvalsGate.evaluate(request, noFacts).violations.map(({ code }) => code)).toEqual(codes);
  });
});

describe('of a rollout', () => {
  const rollout = { ...subject, kind: 'OperatorDeployment', name: 'rollout' };
  const levels = [
    { role: 'EnvironmentOwner', approvals: 1 },
    { role: 'Admin', approvals: 1 },
  ];
  const asked = (spec: object = {}): Json =>
    approvalWith({ subject: rollout, environment: 'Production', levels, decisions: [], ...spec });
  const platform = { ...noFacts, reconcilers: ['kidp'] };

  test.each([
    { reason: 'the platform asks for who created it', user: 'kidp', object: asked(), codes: [] },
    { reason: 'nobody else asks for another', user: 'grace', object: asked(), codes: ['RequesterMismatch'] },
    {
      reason: 'the platform names nobody',
      user: 'kidp',
      object: asked({ requester: '' }),
      codes: ['RequesterMismatch'],
    },
    {
      reason: 'it asks only about rollouts so',
      user: 'kidp',
      object: asked({ subject }),
      codes: ['RequesterMismatch'],
    },
  ])('$reason: $codes', ({ user, object, codes }) => {
    const request = requestOf(user, object);
    expect(approvalsGate.evaluate(request, platform).violations.map(({ code }) => code)).toEqual(codes);
    expect(stampApproval(request, platform, now) === undefined).toBe(codes.length === 0);
  });

  const owner = 'kidp:environment-owner:Production';
  const owners = { decision: 'Approve', by: 'grace', at: '2026-01-01T00:00:00Z', roles: ['EnvironmentOwner'] };
  test.each([
    { reason: 'its owner first', groups: [owner], known: [], roles: ['EnvironmentOwner'], codes: [] },
    { reason: 'an admin in place of its owner', groups: ['kidp:admin'], known: [], roles: ['Admin'], codes: [] },
    { reason: 'an admin then', groups: ['kidp:admin'], known: [owners], roles: ['Admin'], codes: [] },
    {
      reason: 'no owner where an admin is asked',
      groups: [owner],
      known: [owners],
      roles: ['EnvironmentOwner'],
      codes: ['DecisionForbidden'],
    },
    {
      reason: 'no owner of another environment',
      groups: ['kidp:environment-owner:Dev'],
      known: [],
      roles: [],
      codes: ['DecisionForbidden'],
    },
    { reason: 'no operator', groups: ['kidp:operator'], known: [], roles: [], codes: ['DecisionForbidden'] },
  ])('who decides: $reason', ({ groups, known, roles, codes }) => {
    const before = asked({ decisions: known });
    const claims = { decision: 'Approve', roles: ['Admin', 'EnvironmentOwner'] };
    const request = {
      ...requestOf('linus', asked({ decisions: [...known, claims] }), before),
      userInfo: { username: 'linus', groups },
    };
    expect(approvalsGate.evaluate(request, platform).violations.map(({ code }) => code)).toEqual([
      'DecisionUserMismatch',
    ]);
    const stamped = stampApproval(request, platform, now);
    const decision = { decision: 'Approve', by: 'linus', at: '2026-01-31T12:00:00Z', roles };
    expect(stamped?.object.spec).toMatchObject({ decisions: [...known, decision] });
    const after = { ...request, object: stamped?.object ?? {} };
    expect(approvalsGate.evaluate(after, platform).violations.map(({ code }) => code)).toEqual(codes);
    expect(stampApproval(after, platform, now)).toBeUndefined();
    expect(approvalVerbGate().matches(after)).toBe(false);
  });
});

describe('the verb', () => {
  const linus = { decision: 'Approve', by: 'linus', at: '2026-01-31T12:00:00Z' };
  const other = { ...subject, kind: 'OperatorDeployment', name: 'rollout' };

  test.each([
    {
      reason: 'of a definition it is asked on that',
      of: subject,
      resource: 'customresourcedefinitions',
      name: 'widgets.example.com',
    },
    { reason: 'of anything else on the Approval', of: other, resource: 'approvals', name: 'one' },
  ])('$reason', async ({ of, resource, name }) => {
    const asked: unknown[] = [];
    const gate = approvalVerbGate(() => async (questions) => {
      asked.push(...questions);
      return [{ allowed: false }];
    });
    const before = approvalWith({ subject: of, decisions: [] });
    const request = requestOf('linus', approvalWith({ subject: of, decisions: [linus] }), before);
    expect(gate.matches(request)).toBe(true);
    expect(gate.matches(requestOf('linus', before, before))).toBe(false);
    const { violations } = await gate.evaluate(request, deadlineIn(1_000));
    expect(asked).toMatchObject([{ verb: 'approve', resource, name, subject: 'requester' }]);
    expect(violations).toMatchObject([{ code: 'DecisionForbidden' }]);
  });

  test('is nobody’s where there is no cluster to ask', async () => {
    const request = requestOf('linus', approvalWith({ decisions: [linus] }), approvalWith({ decisions: [] }));
    const { violations } = await approvalVerbGate().evaluate(request, deadlineIn(1_000));
    expect(violations[0]?.message).toContain('there is no cluster to check access in');
  });
});
