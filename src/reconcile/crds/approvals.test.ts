import { expect, test } from 'vitest';
import type { Approval } from '../../api/index.ts';
import { approvalStatus } from './approvals.ts';

const now = new Date('2026-01-31T12:00:00Z');
const decision = (by: string, decided: 'Approve' | 'Reject', reason?: string) => ({
  decision: decided,
  by,
  at: '2026-01-31T12:00:00Z',
  ...(reason === undefined ? {} : { reason }),
});
const approvalWith = (spec: object): Approval =>
  ({
    metadata: { name: 'one', generation: 3 },
    spec: { subject: {}, requester: 'ada', requiredApprovals: 2, decisions: [], ...spec },
  }) as unknown as Approval;

test.each([
  { reason: 'no decision yet', spec: {}, phase: 'pending', outcome: 'Pending', message: '0 of 2 approvals given' },
  {
    reason: 'one of two approved',
    spec: { decisions: [decision('grace', 'Approve')] },
    phase: 'pending',
    outcome: 'Pending',
    message: '1 of 2 approvals given',
  },
  {
    reason: 'both approved',
    spec: { decisions: [decision('grace', 'Approve'), decision('linus', 'Approve')] },
    phase: 'ready',
    outcome: 'Approved',
    message: 'by grace, linus',
  },
  {
    reason: 'one rejected it',
    spec: { decisions: [decision('grace', 'Approve'), decision('linus', 'Reject', 'Too early.')] },
    phase: 'failed',
    outcome: 'Rejected',
    message: 'by linus: Too early.',
  },
  {
    reason: 'the requester is unknown',
    spec: { requester: undefined, decisions: [decision('grace', 'Approve')] },
    phase: 'pending',
    outcome: 'Pending',
    message:
      'The Approval was created while the admission webhook was unavailable and has no requester: delete and re-create it',
  },
])('$reason: $outcome', ({ spec, phase, outcome, message }) => {
  const status = approvalStatus(approvalWith(spec), now);
  expect(status).toMatchObject({ phase, outcome, observedGeneration: 3 });
  expect(status.conditions).toMatchObject([
    { type: 'Ready', status: outcome === 'Approved' ? 'True' : 'False', reason: outcome, message },
  ]);
});
