/**
 * Approvals that are written: admission says who asked and who decided, from the user of the request, whatever the manifest says.
 * Nobody decides over what they asked for, nobody decides twice, and what was decided stays (requirement 002, FR-OP-007). The schema
 * of the kind holds the same as far as a schema can, for when this webhook is away.
 */
import { type Approval, approval, GROUP } from '../../api/index.ts';
import { type Ask, type JsonPatchOperation, sameJson } from '../../policy/index.ts';
import { askNobody } from '../authorize.ts';
import type { Findings, Gate, Violation } from '../gates.ts';
import type { LaterGate } from '../judge.ts';
import type { Mutated } from '../mutate.ts';
import { type AdmissionRequest, isObject, type Json, type UserInfo } from '../review.ts';
import { definitionGroup, definitionKind, definitionPlural, textIn } from './definition.ts';

export const approveVerb = 'approve';

/** Not that of gates.ts, which has this gate in its list. */
const nothing: Findings = { violations: [], warnings: [], patches: [] };

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

/** Writes down who asks or decides, and when. None where it is no Approval, or says so already. */
export function stampApproval(request: AdmissionRequest, now: number = Date.now()): Mutated | undefined {
  const { object, oldObject, operation } = request;
  if (!isApproval(request) || object === undefined || !isObject(object.spec)) return undefined;
  const user = userOf(request);
  const { spec } = object;
  if (operation === 'CREATE') {
    if (spec.requester === user) return undefined;
    return {
      object: { ...object, spec: { ...spec, requester: user } },
      patches: [{ op: 'add', path: '/spec/requester', value: user }],
      warnings: [],
    };
  }
  const known = decisionsOf(oldObject).length;
  const patches: JsonPatchOperation[] = [];
  const decisions = decisionsOf(object).map((each, index) => {
    if (index < known || !isObject(each)) return each;
    const stamps = stampsOf(each, user, now);
    for (const [field, value] of stamps) patches.push({ op: 'add', path: `/spec/decisions/${index}/${field}`, value });
    return { ...each, ...Object.fromEntries(stamps) };
  });
  if (patches.length === 0) return undefined;
  return { object: { ...object, spec: { ...spec, decisions } }, patches, warnings: [] };
}

function stampsOf(decision: Json, user: string, now: number): [string, string][] {
  const at = Date.parse(textIn(decision, 'at'));
  const isFresh = Math.abs(now - at) < freshMilliseconds;
  const stamp = new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
  return [
    ...(decision.by === user ? [] : [['by', user] as [string, string]]),
    ...(isFresh ? [] : [['at', stamp] as [string, string]]),
  ];
}

export const approvalsGate: Gate = { name: 'approvals', judge: judgeApproval };

function judgeApproval(request: AdmissionRequest): Findings {
  const { object, oldObject, operation } = request;
  if (!isApproval(request) || object === undefined) return nothing;
  const violations = operation === 'CREATE' ? wrongRequest(request, object) : wrongChange(request, object, oldObject);
  return violations.length === 0 ? nothing : { ...nothing, violations };
}

function wrongRequest(request: AdmissionRequest, object: Json): Violation[] {
  const { requester } = specOf(object);
  const user = userOf(request);
  return [
    ...(requester === user && user !== ''
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
  const changed = ['subject', 'requester', 'requiredApprovals'].filter(
    (field) => !sameJson(after[field] ?? null, before[field] ?? null),
  );
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
  return [];
}

const refused = (code: string, field: string, message: string, next: string): Violation => ({
  gate: 'approvals',
  code,
  field: `spec.${field}`,
  message,
  next,
});

/** Who decides must hold the verb `approve`: on the definition that changes, or where it is something else on the Approval. */
export function approvalVerbGate(ask?: (user: UserInfo, signal: () => AbortSignal) => Ask): LaterGate {
  return {
    name: 'approvals',
    concerns: (request) =>
      isApproval(request) &&
      request.operation === 'UPDATE' &&
      decisionsOf(request.object).length > decisionsOf(request.oldObject).length,
    async judge(request, deadline) {
      const { subject } = specOf(request.oldObject);
      const name = textIn(isObject(subject) ? subject : {}, 'name');
      const isOfDefinition = isObject(subject) && subject.kind === definitionKind;
      const on = isOfDefinition
        ? { group: definitionGroup, resource: definitionPlural, name }
        : { group: GROUP, resource: approval.plural, name: request.name ?? '' };
      const asking = ask?.(request.userInfo ?? {}, () => deadline.signal()) ?? askNobody;
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
