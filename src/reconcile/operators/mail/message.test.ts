import { expect, test } from 'vitest';
import type { Approval } from '../../../api/index.ts';
import { messageOf } from './message.ts';

const approvalWith = (spec: object): Approval =>
  ({
    metadata: { name: 'rollout-1', uid: 'u-1' },
    spec: {
      subject: { kind: 'OperatorDeployment', name: 'certificates-1.2.0', uid: 'd', digest: 'sha256:1' },
      requester: 'ada',
      decisions: [],
      notify: ['owners@company.com'],
      ...spec,
    },
  }) as unknown as Approval;

const levels = [
  { role: 'EnvironmentOwner', approvals: 1 },
  { role: 'Admin', approvals: 2 },
];
const owners = { decision: 'Approve', by: 'grace', at: '2026-01-31T12:00:00Z', roles: ['EnvironmentOwner'] };

test.each([
  {
    reason: 'names requester, change, environment, reason and the commands',
    spec: { type: 'VersionUpgrade', environment: 'Production', reason: 'Two weaknesses.', levels },
    id: '<approval-u-1-1@company.com>',
    subject: 'Approval required: a version upgrade in Production: certificates-1.2.0',
    says: [
      'ada requests approval of a version upgrade in Production',
      'Two weaknesses.',
      'Level 1 of 2: 1 × EnvironmentOwner',
      'kidp rollout approve rollout-1',
    ],
  },
  {
    reason: 'each level has its own message',
    spec: { levels, decisions: [owners] },
    id: '<approval-u-1-2@company.com>',
    subject: 'Approval required: a change: certificates-1.2.0',
    says: ['Level 2 of 2: 2 × Admin'],
  },
  {
    reason: 'a name cannot inject a header',
    spec: { requester: 'ada\r\nBcc: all@company.com' },
    id: '<approval-u-1-1@company.com>',
    subject: 'Approval required: a change: certificates-1.2.0',
    says: ['ada Bcc: all@company.com requests approval of a change'],
  },
])('$reason', ({ spec, id, subject, says }) => {
  const message = messageOf(approvalWith(spec), 'company.com');
  expect(message).toMatchObject({ id, subject, to: ['owners@company.com'] });
  for (const words of says) expect(message?.text).toContain(words);
});

test('sends nothing without recipients', () => {
  expect(messageOf(approvalWith({ notify: [] }), 'company.com')).toBeUndefined();
});
