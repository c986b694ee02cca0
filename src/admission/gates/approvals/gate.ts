/**
 * The approvals gate: records who requests and who decides an Approval, from the user of the request, whatever the
 * manifest says.
 *
 * No user decides on their own request or decides twice, and decisions are final (docs/requirements.md, 002 FR-OP-007).
 * The CRD enforces the same as far as a schema can, for when the webhook is unavailable.
 */
import { type Approval, approval, approvalLevel, GROUP, operatorDeployment } from '../../../api/index.ts';
import type { AskAuthorizer, JsonPatchOperation } from '../../../policy/index.ts';
import { sameJson } from '../../../policy/internal.ts';
import { plainName } from '../../../runtime/internal.ts';
import { type AdmissionRequest, isObject, type Json, type UserInfo } from '../../review/decode.ts';
import { type Findings, nothing, type Violation } from '../../review/findings.ts';
import { denyAccess } from '../access.ts';
import { definitionGroup, definitionKind, definitionPlural, textIn } from '../crds/definition.ts';
import type { AsyncGate, Facts, Gate, PlatformMutation } from '../gate.ts';
import { groupFor, rolesIn } from './roles.ts';

const approveVerb = 'approve';

type Decision = Approval['spec']['decisions'][number];

const isApproval = ({ kind, subResource, operation }: AdmissionRequest): boolean =>
  kind.group === GROUP &&
  kind.kind === approval.kind &&
  subResource === undefined &&
  (operation === 'CREATE' || operation === 'UPDATE');

const specOf = (object: Json | undefined): Json => (isObject(object?.spec) ? object.spec : {});

const decisionsOf = (object: Json | undefined): readonly unknown[] => {
  const { decisions } = specOf(object);
  return Array.isArray(decisions) ? decisions : [];
};

/** The name as it is stored and compared. */
const userOf = ({ userInfo }: AdmissionRequest): string => plainName(userInfo?.username ?? '');

/** A recent timestamp is not renewed: an API server may call again with an object that was already stamped. */
const freshMilliseconds = 60_000;

/**
 * The platform creates Approvals on behalf of the requester of a rollout, which admission has recorded. No other user
 * can request for someone else.
 */
const asksForAnother = (request: AdmissionRequest, { reconcilers }: Pick<Facts, 'reconcilers'>): boolean => {
  const { subject, requester } = specOf(request.object);
  return (
    reconcilers.includes(userOf(request)) &&
    isObject(subject) &&
    subject.kind === operatorDeployment.kind &&
    typeof requester === 'string' &&
    requester !== ''
  );
};

/**
 * `stampApproval` records the requester or the decider, and the time. It returns undefined if the object is not an
 * Approval or is already stamped.
 */
export function stampApproval(
  request: AdmissionRequest,
  facts: Pick<Facts, 'reconcilers'> = { reconcilers: [] },
  now: number = Date.now(),
): PlatformMutation | undefined {
  const { object, oldObject, operation } = request;
  if (!isApproval(request) || object === undefined || !isObject(object.spec)) return undefined;
  const user = userOf(request);
  const { spec } = object;
  if (operation === 'CREATE') {
    if (spec.requester === user || asksForAnother(request, facts)) return undefined;
    return {
      object: { ...object, spec: { ...spec, requester: user } },
      patches: [{ op: 'add', path: '/spec/requester', value: user }],
      warnings: [],
    };
  }
  const known = decisionsOf(oldObject).length;
  const roles = rolesFor(request);
  const patches: JsonPatchOperation[] = [];
  const decisions = decisionsOf(object).map((each, index) => {
    if (index < known || !isObject(each)) return each;
    const stamps = stampsOf(each, user, now, roles);
    for (const [field, value] of stamps) patches.push({ op: 'add', path: `/spec/decisions/${index}/${field}`, value });
    return { ...each, ...Object.fromEntries(stamps) };
  });
  if (patches.length === 0) return undefined;
  return { object: { ...object, spec: { ...spec, decisions } }, patches, warnings: [] };
}

/** Returns the roles of the deciding user that count for this Approval, or undefined if no level requires a role. */
function rolesFor({ oldObject, userInfo = {} }: AdmissionRequest): string[] | undefined {
  const { levels, environment } = specOf(oldObject);
  return Array.isArray(levels)
    ? rolesIn(typeof environment === 'string' ? environment : undefined, userInfo)
    : undefined;
}

function stampsOf(
  decision: Json,
  user: string,
  now: number,
  roles: readonly string[] | undefined,
): [string, string | readonly string[]][] {
  const at = Date.parse(textIn(decision, 'at'));
  const isFresh = Math.abs(now - at) < freshMilliseconds;
  const stamp = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
  return [
    ...(decision.by === user ? [] : [['by', user] as [string, string]]),
    ...(isFresh ? [] : [['at', stamp] as [string, string]]),
    ...(roles === undefined || sameJson(decision.roles ?? null, roles)
      ? []
      : [['roles', roles] as [string, readonly string[]]]),
  ];
}

export const approvalsGate: Gate = { name: 'approvals', evaluate: checkApproval };

function checkApproval(request: AdmissionRequest, facts: Facts): Findings {
  const { object, oldObject, operation } = request;
  if (!isApproval(request) || object === undefined) return nothing;
  const violations =
    operation === 'CREATE' ? wrongRequest(request, object, facts) : wrongChange(request, object, oldObject);
  return violations.length === 0 ? nothing : { ...nothing, violations };
}

function wrongRequest(request: AdmissionRequest, object: Json, facts: Facts): Violation[] {
  const { requester } = specOf(object);
  const user = userOf(request);
  return [
    ...((requester === user && user !== '') || asksForAnother(request, facts)
      ? []
      : [
          denied(
            'RequesterMismatch',
            'requester',
            `spec.requester is not the requesting user "${user}"`,
            'Remove it: admission sets it automatically',
          ),
        ]),
    ...(decisionsOf(object).length === 0
      ? []
      : [
          denied(
            'DecisionOnCreate',
            'decisions',
            'an Approval must be created without decisions',
            'Create it first; another user must decide',
          ),
        ]),
  ];
}

function wrongChange(request: AdmissionRequest, object: Json, oldObject: Json | undefined): Violation[] {
  const [after, before] = [specOf(object), specOf(oldObject)];
  const [decisions, known] = [decisionsOf(object), decisionsOf(oldObject)];
  const changed = [
    'subject',
    'requester',
    'requiredApprovals',
    'type',
    'environment',
    'levels',
    'reason',
    'notify',
  ].filter((field) => !sameJson(after[field] ?? null, before[field] ?? null));
  const kept = known.every((each, index) => sameJson(each, decisions[index] ?? null));
  return [
    ...changed.map((field) =>
      denied('ApprovalImmutable', field, `spec.${field} cannot be changed after creation`, 'Create another Approval'),
    ),
    ...(kept
      ? decisions.slice(known.length).flatMap((each) => wrongDecision(each, before, known, request))
      : [
          denied(
            'DecisionImmutable',
            'decisions',
            'decisions are append-only: existing decisions must not be changed or removed',
            'Append your decision',
          ),
        ]),
    ...(decisions.length - known.length > 1
      ? [
          denied(
            'DuplicateDecision',
            'decisions',
            'a user can add only one decision, their own',
            'Add a single decision',
          ),
        ]
      : []),
  ];
}

function wrongDecision(
  decision: unknown,
  before: Json,
  known: readonly unknown[],
  request: AdmissionRequest,
): Violation[] {
  const user = userOf(request);
  const by = isObject(decision) ? decision.by : undefined;
  const of = (each: unknown) => (isObject(each) ? (each as Partial<Decision>).by : undefined);
  if (user === '' || by !== user)
    return [
      denied(
        'DecisionUserMismatch',
        'decisions',
        `the decision is not by the requesting user "${user}"`,
        'Remove "by" and "at": admission sets them automatically',
      ),
    ];
  if (before.requester === user)
    return [
      denied(
        'SelfApproval',
        'decisions',
        `user "${user}" requested this Approval and must not decide on it`,
        'Another user must decide',
      ),
    ];
  if (known.some((each) => of(each) === user))
    return [denied('DuplicateDecision', 'decisions', `user "${user}" has already decided`, '')];
  return wrongRole(decision as Json, before, request);
}

/** With approval levels, only users with the role of the current level can decide. */
function wrongRole(decision: Json, before: Json, request: AdmissionRequest): Violation[] {
  const roles = rolesFor(request);
  const level = approvalLevel({ spec: before as unknown as Approval['spec'] });
  const asked = level === undefined ? undefined : (before.levels as NonNullable<Approval['spec']['levels']>)[level - 1];
  if (roles === undefined || asked === undefined) return [];
  if (!sameJson(decision.roles ?? [], roles))
    return [
      denied(
        'DecisionUserMismatch',
        'decisions',
        `the roles of the decision are not those of the requesting user "${userOf(request)}"`,
        'Remove "roles": admission sets them automatically',
      ),
    ];
  if (roles.includes(asked.role) || roles.includes('Admin')) return [];
  const environment = typeof before.environment === 'string' ? before.environment : undefined;
  return [
    denied(
      'DecisionForbidden',
      'decisions',
      `user "${userOf(request)}" is not in the group ${groupFor(asked.role, environment)}, which decides at the current level`,
      'Ask a user in this group to decide',
    ),
  ];
}

const denied = (code: string, field: string, message: string, next: string): Violation => ({
  gate: 'approvals',
  code,
  field: `spec.${field}`,
  message,
  next,
});

/**
 * `approvalVerbGate` requires the verb `approve` of the deciding user: on the CustomResourceDefinition that changes, or
 * else on the Approval. With approval levels, roles decide instead.
 */
export function approvalVerbGate(ask?: (user: UserInfo, signal: () => AbortSignal) => AskAuthorizer): AsyncGate {
  return {
    name: 'approvals',
    matches: (request) =>
      isApproval(request) &&
      request.operation === 'UPDATE' &&
      !Array.isArray(specOf(request.oldObject).levels) &&
      decisionsOf(request.object).length > decisionsOf(request.oldObject).length,
    async evaluate(request, deadline) {
      const { subject } = specOf(request.oldObject);
      const name = textIn(isObject(subject) ? subject : {}, 'name');
      const isOfDefinition = isObject(subject) && subject.kind === definitionKind;
      const on = isOfDefinition
        ? { group: definitionGroup, resource: definitionPlural, name }
        : { group: GROUP, resource: approval.plural, name: request.name ?? '' };
      const asking = ask?.(request.userInfo ?? {}, () => deadline.signal()) ?? denyAccess;
      const rest = { subresource: '', namespace: '', fieldSelector: '', labelSelector: '' };
      const [answer] = await asking([{ kind: 'resource', subject: 'requester', verb: approveVerb, ...on, ...rest }]);
      if (answer?.allowed === true) return nothing;
      const why = answer?.error === undefined ? '' : ` (${answer.error})`;
      const missing = `user "${userOf(request)}" does not hold the verb ${approveVerb} on ${on.resource}.${on.group} "${on.name}"${why}`;
      return {
        ...nothing,
        violations: [denied('DecisionForbidden', 'decisions', missing, 'Ask a user who holds the verb to decide')],
      };
    },
  };
}
