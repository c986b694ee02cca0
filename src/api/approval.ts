/**
 * The Approval kind: a request for one specific change and the decisions on it (docs/requirements.md, 002 FR-OP-007).
 */

import { environments } from './cluster.ts';
import {
  ageColumn,
  dateOrInstant,
  objectName,
  phaseColumn,
  prose,
  readyColumn,
  reasonColumn,
  statusFields,
} from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { choice, immutable, instant, integer, list, object, text } from './schema/index.ts';

const approvalTypes = ['ProductionDeployment', 'VersionUpgrade', 'BreakingCRDChange'] as const;
export type ApprovalType = (typeof approvalTypes)[number];

export const approverRoles = ['Admin', 'EnvironmentOwner'] as const;
export type ApproverRole = (typeof approverRoles)[number];

const subject = object('The one change that is approved. Immutable.', {
  kind: text('Kind of the object to change, for example `CustomResourceDefinition`.', {
    minLength: 1,
    maxLength: 63,
    pattern: '^[A-Z][A-Za-z0-9]*$',
  }),
  name: objectName('Name of the object.'),
  uid: text('UID of the object. An object that is deleted and re-created under the same name has a different UID.', {
    minLength: 1,
    maxLength: 128,
  }),
  digest: text('Digest of the change, as printed in the denial message.', {
    minLength: 71,
    maxLength: 71,
    pattern: '^sha256:[0-9a-f]{64}$',
  }),
});

const userName = (description: string) => text(description, { minLength: 1, maxLength: 512 });

const decision = object('The decision of one user.', {
  decision: choice('Whether the user approves or rejects the change.', ['Approve', 'Reject']),
  reason: prose('Reason for the decision.', 4096).optional(),
  by: userName('User who made the decision. Set by admission from the user of the request.'),
  at: dateOrInstant('Time of the decision. Set by admission.'),
  roles: list(
    'Roles that the user held at the time, limited to the roles that this Approval requires. Set by admission from the groups of the user.',
    choice('A role.', approverRoles),
    { maxItems: 2 },
  ).optional(),
});

const level = object('An approval level. All of its approvals are required before the next level can decide.', {
  role: choice(
    'Role that decides at this level: `Admin`, or `EnvironmentOwner` of the environment of this Approval. An Admin can decide in place of an environment owner.',
    approverRoles,
  ),
  approvals: integer('Number of approvals required at this level.', { minimum: 1, maximum: 8 }),
});

const address = text('An email address.', { minLength: 3, maxLength: 320, pattern: '^[^\\s@<>,;]+@[^\\s@<>,;]+$' });

const spec = object('The requested change, its requester and the decisions on it.', {
  subject,
  type: choice(
    'Type of the request. Defaults to a change of a CustomResourceDefinition on this cluster.',
    approvalTypes,
  ).optional(),
  environment: choice('Environment that the change applies to.', environments).optional(),
  levels: list(
    'Approval levels, in order. If omitted, `requiredApprovals` users who hold the verb `approve` must approve.',
    level,
    { minItems: 1, maxItems: 4 },
  ).optional(),
  notify: list('Email addresses that are notified about the pending Approval.', address, { maxItems: 32 }).optional(),
  reason: prose('Reason for the change, shown to approvers.', 4096).optional(),
  requester: userName('User who requested the change. Set by admission from the user of the request.').optional(),
  requiredApprovals: integer('Number of users who must approve. The requester does not count.', {
    minimum: 1,
    maximum: 8,
  }).default(1),
  decisions: list('Decisions so far. Entries can only be appended, never changed or removed.', decision, {
    maxItems: 16,
  }).default([]),
}).rules(
  immutable('subject', 'spec.subject cannot be changed after creation: create another Approval'),
  immutable('requester', 'spec.requester cannot be changed after creation'),
  immutable('requiredApprovals', 'spec.requiredApprovals cannot be changed after creation: create another Approval'),
  immutable('type', 'spec.type cannot be changed after creation: create another Approval'),
  immutable('environment', 'spec.environment cannot be changed after creation: create another Approval'),
  immutable('levels', 'spec.levels cannot be changed after creation: create another Approval'),
  {
    rule: 'self.decisions.size() >= oldSelf.decisions.size() && oldSelf.decisions.all(was, self.decisions.exists(is, is == was))',
    message: 'decisions are append-only: existing decisions must not be changed or removed',
    fieldPath: '.decisions',
    reason: 'FieldValueForbidden',
  },
  {
    rule: 'self.decisions.all(one, self.decisions.exists_one(other, other.by == one.by))',
    message: 'each user can decide only once',
    fieldPath: '.decisions',
    reason: 'FieldValueDuplicate',
  },
  {
    rule: '!has(self.requester) || self.decisions.all(each, each.by != self.requester)',
    message: 'the requester must not decide on their own request',
    fieldPath: '.decisions',
    reason: 'FieldValueForbidden',
  },
);

const status = object('Observed state of the approval.', {
  ...statusFields,
  outcome: choice('Outcome of the decisions: whether the change is allowed.', [
    'Pending',
    'Approved',
    'Rejected',
  ]).optional(),
  level: integer('Current approval level, counted from 1.', { minimum: 1, maximum: 4 }).optional(),
  notifiedAt: instant('Time at which the mail server last accepted a notification for this Approval.').optional(),
  notifiedLevel: integer('Level whose approvers were last notified by email.', { minimum: 1, maximum: 4 }).optional(),
});

export const approval = defineKind({
  kind: 'Approval',
  plural: 'approvals',
  singular: 'approval',
  shortName: 'kappr',
  scope: 'Cluster',
  deployable: false,
  description:
    'An Approval allows one specific change that would otherwise be denied, such as a breaking change of a CustomResourceDefinition. One user requests it, other users decide; admission records who they are.',
  spec,
  status,
  maxNameLength: 253,
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.subject.kind', description: 'Kind of the object that changes.' },
    {
      name: 'Subject',
      type: 'string',
      jsonPath: '.spec.subject.name',
      description: 'Name of the object that changes.',
    },
    { name: 'Outcome', type: 'string', jsonPath: '.status.outcome', description: 'Whether the change is allowed.' },
    { name: 'Requester', type: 'string', jsonPath: '.spec.requester', description: 'User who requested the change.' },
    { name: 'By', type: 'string', jsonPath: '.spec.decisions[*].by', description: 'Users who decided.' },
    { ...phaseColumn, priority: 1 },
    { ...readyColumn, priority: 1 },
    ageColumn,
    reasonColumn,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: Approval
metadata:
  name: widgets-without-colour
spec:
  subject:
    kind: CustomResourceDefinition
    name: widgets.example.com
    uid: 3f0c9c0e-6b1f-4a53-9d0e-2f6f0b8f6d11
    digest: sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
  reason: Nobody has set the colour since 2024, and the new controller does not read it.
`,
});

export type Approval = ObjectOf<typeof approval>;

export type ApprovalOutcome = 'Pending' | 'Approved' | 'Rejected';

/**
 * `approvalOutcome` derives the outcome from the decisions. A single rejection is final. An Approval without a
 * requester was stored while the webhook was unavailable; it stays pending.
 */
export function approvalOutcome({ spec }: Pick<Approval, 'spec'>): ApprovalOutcome {
  const { requester, decisions = [], requiredApprovals = 1, levels } = spec;
  if (decisions.some((each) => each.decision === 'Reject')) return 'Rejected';
  if (requester === undefined || requester === '') return 'Pending';
  const approvals = decisions.filter(({ by }) => by !== requester);
  if (levels !== undefined) return levelsPassed(levels, approvals) === levels.length ? 'Approved' : 'Pending';
  return new Set(approvals.map(({ by }) => by)).size >= requiredApprovals ? 'Approved' : 'Pending';
}

/** `approvalLevel` returns the current approval level, counted from 1, or the last level if all levels are approved. */
export function approvalLevel({ spec }: Pick<Approval, 'spec'>): number | undefined {
  const { levels, requester, decisions = [] } = spec;
  if (levels === undefined) return undefined;
  const approvals = decisions.filter(({ by, decision }) => by !== requester && decision === 'Approve');
  return Math.min(levelsPassed(levels, approvals) + 1, levels.length);
}

type Levels = NonNullable<Approval['spec']['levels']>;

/**
 * Counts the completed levels. Each decision counts once, for the first level that is open at the time. An Admin can
 * stand in for an environment owner.
 */
function levelsPassed(levels: Levels, approvals: Approval['spec']['decisions']): number {
  let passed = 0;
  let counted = 0;
  for (const { roles = [] } of approvals) {
    const level = levels[passed];
    if (level === undefined) break;
    if (!roles.includes(level.role) && !roles.includes('Admin')) continue;
    counted += 1;
    if (counted < level.approvals) continue;
    passed += 1;
    counted = 0;
  }
  return passed;
}
