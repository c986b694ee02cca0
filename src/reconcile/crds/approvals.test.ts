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
  { reason: 'nobody has decided', spec: {}, phase: 'pending', outcome: 'Pending', message: '0 of 2 have approved' },
  {
    reason: 'one of two has',
    spec: { decisions: [decision('grace', 'Approve')] },
    phase: 'pending',
    outcome: 'Pending',
    message: '1 of 2 have approved',
  },
  {
    reason: 'both have',
    spec: { decisions: [decision('grace', 'Approve'), decision('linus', 'Approve')] },
    phase: 'ready',
    outcome: 'Approved',
    message: 'by grace, linus',
  },
  {
    reason: 'one has rejected it',
    spec: { decisions: [decision('grace', 'Approve'), decision('linus', 'Reject', 'Too early.')] },
    phase: 'failed',
    outcome: 'Rejected',
    message: 'by linus: Too early.',
  },
  {
    reason: 'nobody knows who asked',
    spec: { requester: undefined, decisions: [decision('grace', 'Approve')] },
    phase: 'pending',
    outcome: 'Pending',
    message: 'It was created while admission was away: delete it and create it anew',
  },
])('$reason: $outcome', ({ spec, phase, outcome, message }) => {
  const status = approvalStatus(approvalWith(spec), now);
  expect(status).toMatchObject({ phase, outcome, observedGeneration: 3 });
  expect(status.conditions).toMatchObject([
    { type: 'Ready', status: outcome === 'Approved' ? 'True' : 'False', reason: outcome, message },
  ]);
});
