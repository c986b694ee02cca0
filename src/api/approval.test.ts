import { expect, test } from 'vitest';
import { type Approval, approvalOutcome } from './index.ts';

const decision = (by: string, decided: 'Approve' | 'Reject' = 'Approve') => ({
  decision: decided,
  by,
  at: '2026-01-31T12:00:00Z',
});

test.each([
  { reason: 'there is no decision yet', spec: {}, outcome: 'Pending' },
  { reason: 'one approval is enough by default', spec: { decisions: [decision('grace')] }, outcome: 'Approved' },
  {
    reason: 'the requester does not count',
    spec: { decisions: [decision('ada')] },
    outcome: 'Pending',
  },
  {
    reason: 'two approvals are required and one is given',
    spec: { requiredApprovals: 2, decisions: [decision('grace')] },
    outcome: 'Pending',
  },
  {
    reason: 'two approvals of the same user count once',
    spec: { requiredApprovals: 2, decisions: [decision('grace'), decision('grace')] },
    outcome: 'Pending',
  },
  {
    reason: 'two approvals are required and two are given',
    spec: { requiredApprovals: 2, decisions: [decision('grace'), decision('linus')] },
    outcome: 'Approved',
  },
  {
    reason: 'one rejection is final',
    spec: { decisions: [decision('grace'), decision('linus', 'Reject')] },
    outcome: 'Rejected',
  },
  {
    reason: 'admission did not record the requester, so a user could approve their own request',
    spec: { requester: undefined, decisions: [decision('grace')] },
    outcome: 'Pending',
  },
])('$reason: $outcome', ({ spec, outcome }) => {
  const subject = { kind: 'CustomResourceDefinition', name: 'widgets.example.com', uid: 'u', digest: 'sha256:' };
  const whole = { subject, requester: 'ada', requiredApprovals: 1, decisions: [], ...spec };
  expect(approvalOutcome({ spec: whole as Approval['spec'] })).toBe(outcome);
});
