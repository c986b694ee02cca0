/**
 * The Approval controller: summarizes the decisions in the status, for users and `kubectl wait`. Admission reads the
 * decisions themselves.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Approval, type ApprovalOutcome, approval, approvalLevel, approvalOutcome } from '../../api/index.ts';
import {
  type Condition,
  controllerManagedBy,
  type DesiredCondition,
  generationChanged,
  type Manager,
  mergeConditions,
} from '../../runtime/index.ts';

type Status = NonNullable<Approval['status']>;

export function addApprovalReconciler(manager: Manager): void {
  controllerManagedBy(manager, 'approvals')
    .for<Approval>(approval.resource, { predicates: [generationChanged] })
    .complete(async ({ name }, { client, read }) => {
      const object = await read.get<Approval>(approval.resource, { name });
      if (object === undefined) return;
      const status = approvalStatus(object, new Date(manager.clock.now()));
      const { notifiedAt, notifiedLevel, ...ours } = object.status ?? {};
      if (isDeepStrictEqual(ours, status)) return;
      const { resourceVersion } = object.metadata;
      const metadata = { name, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
      const body = { apiVersion: object.apiVersion, kind: object.kind, metadata, status };
      await client.apply(approval.resource, body, { subresource: 'status', fieldManager: 'kidp-crds', force: true });
    });
}

const phases = { Pending: 'pending', Approved: 'ready', Rejected: 'failed' } as const satisfies Record<
  ApprovalOutcome,
  Status['phase']
>;

export function approvalStatus(object: Approval, now: Date): Status {
  const outcome = approvalOutcome(object);
  const observedGeneration = object.metadata.generation ?? 0;
  const condition: DesiredCondition = {
    type: 'Ready',
    status: outcome === 'Approved' ? 'True' : 'False',
    reason: outcome,
    message: messageOf(outcome, object),
    observedGeneration,
  };
  const { conditions } = mergeConditions(object.status?.conditions as Condition[] | undefined, [condition], now);
  const level = approvalLevel(object);
  return {
    phase: phases[outcome],
    observedGeneration,
    conditions,
    outcome,
    ...(level === undefined ? {} : { level }),
  } as Status;
}

function messageOf(outcome: ApprovalOutcome, { spec }: Approval): string {
  const { decisions, requiredApprovals, requester, levels } = spec;
  const rejection = decisions.find(({ decision }) => decision === 'Reject');
  switch (outcome) {
    case 'Approved':
      return `by ${decisions.map(({ by }) => by).join(', ')}`;
    case 'Rejected':
      return `by ${rejection?.by ?? 'unknown'}${rejection?.reason === undefined ? '' : `: ${rejection.reason}`}`;
    case 'Pending':
      if (requester === undefined)
        return 'The Approval was created while the admission webhook was unavailable and has no requester: delete and re-create it';
      if (levels !== undefined) return `level ${approvalLevel({ spec })} of ${levels.length} is pending`;
      return `${decisions.length} of ${requiredApprovals} approvals given`;
  }
}
