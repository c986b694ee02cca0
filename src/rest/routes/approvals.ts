/** Approvals: list, read and decide (docs/requirements.md, 002 FR-OP-007). */
import { type Approval, approval, approvalOutcome } from '../../api/index.ts';
import { Problem } from '../../runtime/internal.ts';
import { find, page, shown, update } from '../objects.ts';
import { type Answer, type Call, everybody, type Route } from '../route.ts';
import { idSchema, ref } from '../schemas.ts';
import { pageQuery, prefix } from './common.ts';

const id = { id: idSchema('the approval') };
const tag = 'Approvals';

export const approvalRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: `${prefix}/approvals`,
    operationId: 'listApprovals',
    tag,
    summary: 'List approvals',
    roles: everybody,
    query: {
      ...pageQuery,
      outcome: {
        type: 'string',
        enum: ['Pending', 'Approved', 'Rejected', 'All'],
        default: 'Pending',
        description: 'Only approvals with this outcome.',
      },
    },
    answer: { status: 200, description: 'A page of approvals.', schema: ref('ApprovalPage') },
    problems: [410],
    async run(call) {
      const { outcome = 'Pending' } = call.query;
      const { items, ...rest } = await page<Approval>(
        call,
        approval,
        (each) => outcome === 'All' || approvalOutcome(each) === outcome,
      );
      return { status: 200, body: { items: items.map((each) => shown(each)), ...rest } };
    },
  },
  {
    method: 'GET',
    path: `${prefix}/approvals/{id}`,
    operationId: 'getApproval',
    tag,
    summary: 'Get an approval with all its decisions',
    roles: everybody,
    params: id,
    answer: { status: 200, description: 'The approval.', schema: ref('Approval') },
    problems: [404],
    run: async (call) => ({ status: 200, body: shown(await find<Approval>(call, approval, call.params.id ?? '')) }),
  },
  decide('approve', 'Approve', 'Agree'),
  decide('reject', 'Reject', 'Reject: one rejection is final'),
];

function decide(verb: 'approve' | 'reject', decision: 'Approve' | 'Reject', summary: string): Route {
  return {
    method: 'POST',
    path: `${prefix}/approvals/{id}/${verb}`,
    operationId: `${verb}Approval`,
    tag,
    summary,
    description: 'An environment owner decides approvals of their environment. The requester cannot decide.',
    roles: ['Admin', 'EnvironmentOwner'],
    params: id,
    body: { schema: ref('Decision'), required: false },
    answer: { status: 200, description: 'The decision was recorded.', schema: ref('Approval') },
    problems: [404, 409],
    audit: `approval.${verb}`,
    async run(call) {
      const found = await find<Approval>(call, approval, call.params.id ?? '');
      const { reason } = (call.body ?? {}) as { reason?: string };
      return decided(call, found, decision, reason);
    },
  };
}

/**
 * `decided` appends one decision. Admission overwrites the user and time, and decides whether the user has the right.
 */
export async function decided(
  call: Call,
  found: Approval,
  decision: 'Approve' | 'Reject',
  reason: string | undefined,
): Promise<Answer> {
  const { caller } = call;
  demandRight(call, found);
  const outcome = approvalOutcome(found);
  if (outcome !== 'Pending') throw new Problem(409, 'decided', `the approval is already decided: ${outcome}`);
  if (found.spec.requester === caller.user) {
    throw new Problem(403, 'own-request', 'the requester cannot decide: another user must approve or reject');
  }
  if (found.spec.decisions.some(({ by }) => by === caller.user)) {
    throw new Problem(409, 'decided', 'you have already decided');
  }
  const at = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const entry = { decision, by: caller.user, at, ...(reason === undefined ? {} : { reason }) };
  call.touched(found);
  // The resourceVersion is sent, so that the second of two concurrent decisions fails with a conflict.
  const { object, warnings } = await update<Approval>(call, approval, {
    ...found,
    spec: { ...found.spec, decisions: [...found.spec.decisions, entry] },
  });
  return { status: 200, body: shown(object, { warnings }) };
}

function demandRight({ caller }: Call, { spec }: Approval): void {
  if (caller.roles.has('Admin')) return;
  const { environment } = spec;
  const asksOwners = spec.levels?.some(({ role }) => role === 'EnvironmentOwner') === true;
  if (environment !== undefined && asksOwners && caller.environments.has(environment)) return;
  throw new Problem(
    403,
    'forbidden',
    environment === undefined || !asksOwners
      ? 'only an admin can decide this'
      : `only the owner of ${environment} or an admin can decide this`,
  );
}
