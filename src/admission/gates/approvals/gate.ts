/**
 * Approvals that are written: admission says who asked and who decided, from the user of the request, whatever the manifest says.
 * Nobody decides over what they asked for, nobody decides twice, and what was decided stays (requirement 002, FR-OP-007). The schema
 * of the kind holds the same as far as a schema can, for when this webhook is away.
 */
import { type Approval, approval, approvalLevel, GROUP, operatorDeployment } from '../../../api/index.ts';
import type { AskAuthorizer, JsonPatchOperation } from '../../../policy/index.ts';
import { sameJson } from '../../../policy/internal.ts';
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

const userOf = ({ userInfo }: AdmissionRequest): string => userInfo?.username ?? '';

/** A stamp of a moment ago is not renewed: an API server may ask again about what it has been told already. */
const freshMilliseconds = 60_000;

/** The platform asks on behalf of who created the rollout, whom admission has written down there; nobody else asks for another. */
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

/** Writes down who asks or decides, and when. None where it is no Approval, or says so already. */
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

/** Which roles who decides has, of those that count here; none are written where no level asks for any. */
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
          refused(
            'RequesterForged',
            'requester',
            `spec.requester is not the user who asks, "${user}"`,
            'Leave it out: it is written by itself',
          ),
        ]),
    ...(decisionsOf(object).length === 0
      ? []
      : [
          refused(
            'DecidedTooEarly',
            'decisions',
            'an Approval begins without decisions',
            'Create it first, and let somebody else decide',
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
      refused('ApprovalChanged', field, `spec.${field} stays as it was asked for`, 'Create another Approval'),
    ),
    ...(kept
      ? decisions.slice(known.length).flatMap((each) => wrongDecision(each, before, known, request))
      : [
          refused(
            'DecisionChanged',
            'decisions',
            'decisions are only added, never changed or removed',
            'Add yours at the end',
          ),
        ]),
    ...(decisions.length - known.length > 1
      ? [refused('DecidedTwice', 'decisions', 'one person decides once, and only for themselves', 'Add one decision')]
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
      refused(
        'DecisionForged',
        'decisions',
        `a decision is not of the user who makes it, "${user}"`,
        'Leave "by" and "at" out: they are written by themselves',
      ),
    ];
  if (before.requester === user)
    return [
      refused(
        'OwnRequest',
        'decisions',
        `"${user}" has asked for this Approval, and who asks does not decide`,
        'Let somebody else decide',
      ),
    ];
  if (known.some((each) => of(each) === user))
    return [refused('DecidedTwice', 'decisions', `"${user}" has decided already`, '')];
  return wrongRole(decision as Json, before, request);
}

/** Where levels are asked one after the other, only who is of the one that is asked now decides. */
function wrongRole(decision: Json, before: Json, request: AdmissionRequest): Violation[] {
  const roles = rolesFor(request);
  const level = approvalLevel({ spec: before as unknown as Approval['spec'] });
  const asked = level === undefined ? undefined : (before.levels as NonNullable<Approval['spec']['levels']>)[level - 1];
  if (roles === undefined || asked === undefined) return [];
  if (!sameJson(decision.roles ?? [], roles))
    return [
      refused(
        'DecisionForged',
        'decisions',
        `the roles of a decision are not those of the user who makes it, "${userOf(request)}"`,
        'Leave "roles" out: they are written by themselves',
      ),
    ];
  if (roles.includes(asked.role) || roles.includes('Admin')) return [];
  const environment = typeof before.environment === 'string' ? before.environment : undefined;
  return [
    refused(
      'MayNotDecide',
      'decisions',
      `"${userOf(request)}" is not in the group ${groupFor(asked.role, environment)}, which decides now`,
      'Let somebody decide who is',
    ),
  ];
}

const refused = (code: string, field: string, message: string, next: string): Violation => ({
  gate: 'approvals',
  code,
  field: `spec.${field}`,
  message,
  next,
});

/**
 * Who decides must hold the verb `approve`: on the definition that changes, or where it is something else on the Approval. Where levels
 * are asked, roles decide instead.
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
      const missing = `"${userOf(request)}" does not hold the verb ${approveVerb} on ${on.resource}.${on.group} "${on.name}"${why}`;
      return {
        ...nothing,
        violations: [refused('MayNotDecide', 'decisions', missing, 'Let somebody decide who does')],
      };
    },
  };
}
