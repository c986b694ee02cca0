/** Approval: one thing that waits for a second pair of eyes, and what those who looked have decided (requirement 002, FR-OP-007). */

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

const subject = object('What is approved, and nothing else. It never changes.', {
  kind: text('The kind of the object that is about to change, for example `CustomResourceDefinition`.', {
    minLength: 1,
    maxLength: 63,
    pattern: '^[A-Z][A-Za-z0-9]*$',
  }),
  name: objectName('The name of the object.'),
  uid: text('The uid of the object: one that is made anew under the same name is another one.', {
    minLength: 1,
    maxLength: 128,
  }),
  digest: text('The digest of exactly this change, as the denial prints it.', {
    minLength: 71,
    maxLength: 71,
    pattern: '^sha256:[0-9a-f]{64}$',
  }),
});

const userName = (description: string) => text(description, { minLength: 1, maxLength: 512 });

const decision = object('What one person has decided.', {
  decision: choice('Whether the change may be made.', ['Approve', 'Reject']),
  reason: prose('Why.', 4096).optional(),
  by: userName('Who decided. Admission writes it, from the user of the request.'),
  at: dateOrInstant('When. Admission writes it.'),
  roles: list(
    'The roles that who decided held then, as far as this Approval asks for them. Admission writes it, from the groups of the user.',
    choice('A role.', approverRoles),
    { maxItems: 2 },
  ).optional(),
});

const level = object('Those who have to agree before the next level is asked.', {
  role: choice(
    'Who decides: `Admin`, or `EnvironmentOwner` of the environment of this Approval; an Admin may decide in place of an owner.',
    approverRoles,
  ),
  approvals: integer('How many of them.', { minimum: 1, maximum: 8 }),
});

const address = text('An e-mail address.', { minLength: 3, maxLength: 320, pattern: '^[^\\s@<>,;]+@[^\\s@<>,;]+$' });

const spec = object('What waits, who asked, and what was decided.', {
  subject,
  type: choice('What is asked for. Left out, the change of a definition on this cluster.', approvalTypes).optional(),
  environment: choice('The environment that it is about.', environments).optional(),
  levels: list(
    'Who has to agree, level after level. Left out, `requiredApprovals` people who hold the verb `approve`.',
    level,
    { minItems: 1, maxItems: 4 },
  ).optional(),
  notify: list('Who is told by e-mail that it waits.', address, { maxItems: 32 }).optional(),
  reason: prose('Why it is needed, for those who decide.', 4096).optional(),
  requester: userName('Who asked. Admission writes it, from the user of the request.').optional(),
  requiredApprovals: integer('How many people have to approve, none of them the requester.', {
    minimum: 1,
    maximum: 8,
  }).default(1),
  decisions: list('What was decided so far. Entries are added at the end, and never changed or removed.', decision, {
    maxItems: 16,
  }).default([]),
}).rules(
  immutable('subject', 'spec.subject never changes: ask for another Approval'),
  immutable('requester', 'spec.requester never changes'),
  immutable('requiredApprovals', 'spec.requiredApprovals never changes: ask for another Approval'),
  immutable('type', 'spec.type never changes: ask for another Approval'),
  immutable('environment', 'spec.environment never changes: ask for another Approval'),
  immutable('levels', 'spec.levels never changes: ask for another Approval'),
  {
    rule: 'self.decisions.size() >= oldSelf.decisions.size() && oldSelf.decisions.all(was, self.decisions.exists(is, is == was))',
    message: 'decisions are only added, never changed or removed',
    fieldPath: '.decisions',
    reason: 'FieldValueForbidden',
  },
  {
    rule: 'self.decisions.all(one, self.decisions.exists_one(other, other.by == one.by))',
    message: 'each person decides once',
    fieldPath: '.decisions',
    reason: 'FieldValueDuplicate',
  },
  {
    rule: '!has(self.requester) || self.decisions.all(each, each.by != self.requester)',
    message: 'who asked does not decide',
    fieldPath: '.decisions',
    reason: 'FieldValueForbidden',
  },
);

const status = object('What the decisions come to.', {
  ...statusFields,
  outcome: choice('Whether the change may be made.', ['Pending', 'Approved', 'Rejected']).optional(),
  level: integer('The level that is asked now, counted from 1.', { minimum: 1, maximum: 4 }).optional(),
  notifiedAt: instant('When the mail server last took an e-mail about it.').optional(),
  notifiedLevel: integer('The level whose people were told by e-mail.', { minimum: 1, maximum: 4 }).optional(),
});

export const approval = defineKind({
  kind: 'Approval',
  plural: 'approvals',
  singular: 'approval',
  shortName: 'kappr',
  scope: 'Cluster',
  deployable: false,
  description:
    'An Approval lets one change through that would otherwise be refused, such as a breaking change of a CustomResourceDefinition. Somebody asks for it, others decide; admission writes down who they were.',
  spec,
  status,
  maxNameLength: 253,
  columns: [
    { name: 'Kind', type: 'string', jsonPath: '.spec.subject.kind', description: 'The kind of what changes.' },
    { name: 'Subject', type: 'string', jsonPath: '.spec.subject.name', description: 'The name of what changes.' },
    { name: 'Outcome', type: 'string', jsonPath: '.status.outcome', description: 'Whether it may be changed.' },
    { name: 'Requester', type: 'string', jsonPath: '.spec.requester', description: 'Who asked.' },
    { name: 'By', type: 'string', jsonPath: '.spec.decisions[*].by', description: 'Who decided.' },
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
 * What the decisions come to. One rejection is final. What admission has not stamped (it was away, and ignored) has no requester,
 * and is not decided by anybody.
 */
export function approvalOutcome({ spec }: Pick<Approval, 'spec'>): ApprovalOutcome {
  const { requester, decisions = [], requiredApprovals = 1, levels } = spec;
  if (decisions.some((each) => each.decision === 'Reject')) return 'Rejected';
  if (requester === undefined || requester === '') return 'Pending';
  const approvals = decisions.filter(({ by }) => by !== requester);
  if (levels !== undefined) return levelsPassed(levels, approvals) === levels.length ? 'Approved' : 'Pending';
  return new Set(approvals.map(({ by }) => by)).size >= requiredApprovals ? 'Approved' : 'Pending';
}

/** The level that is asked now, counted from 1; the last one where all have agreed. */
export function approvalLevel({ spec }: Pick<Approval, 'spec'>): number | undefined {
  const { levels, requester, decisions = [] } = spec;
  if (levels === undefined) return undefined;
  const approvals = decisions.filter(({ by, decision }) => by !== requester && decision === 'Approve');
  return Math.min(levelsPassed(levels, approvals) + 1, levels.length);
}

type Levels = NonNullable<Approval['spec']['levels']>;

/** Each decision counts once, for the first level that is still open when it is made. An Admin may stand in for an owner. */
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
