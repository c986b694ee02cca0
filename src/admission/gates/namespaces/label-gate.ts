/**
 * The team label of Namespaces: only the platform sets, changes or removes it.
 *
 * The label gives no rights (src/api/namespace-team.ts decides the team of a namespace), but people, selectors and
 * network policies rely on it. So it must say what the Teams say. The webhook sends only requests that change it.
 */
import { TEAM_LABEL } from '../../../api/index.ts';
import type { Deadline } from '../../review/deadline.ts';
import type { AdmissionRequest } from '../../review/decode.ts';
import { type Findings, nothing } from '../../review/findings.ts';
import type { AsyncGate } from '../gate.ts';
import { labelsOf } from '../labels.ts';
import type { OwnerLookup } from '../ownership/owner-chain.ts';
import { shown } from '../ownership/owner-chain.ts';

interface LabelGateOptions {
  /** The users of the platform's own reconcilers. */
  readonly reconcilers: readonly string[];
  readonly owners?: Pick<OwnerLookup, 'teamOf'> | undefined;
}

export function namespaceLabelGate(options: LabelGateOptions): AsyncGate {
  return {
    name: 'namespaces',
    matches: changesTeamLabel,
    evaluate: (request, deadline) => checkLabel(request, deadline, options),
  };
}

const labelIn = (object: AdmissionRequest['object']): unknown => labelsOf(object)[TEAM_LABEL];

const changesTeamLabel = ({ kind, operation, object, oldObject }: AdmissionRequest): boolean =>
  kind.group === '' &&
  kind.kind === 'Namespace' &&
  (operation === 'CREATE' || operation === 'UPDATE') &&
  labelIn(object) !== labelIn(oldObject);

async function checkLabel(
  request: AdmissionRequest,
  deadline: Deadline,
  { reconcilers, owners }: LabelGateOptions,
): Promise<Findings> {
  const { userInfo, object, oldObject } = request;
  if (userInfo?.username !== undefined && reconcilers.includes(userInfo.username)) return nothing;
  const metadata = object?.metadata as { name?: string } | undefined;
  const name = request.name ?? metadata?.name ?? '';
  const team = await owners?.teamOf(name, { live: true, signal: deadline.signal() });
  const [before, after] = [labelIn(oldObject), labelIn(object)];
  if (after === (team === undefined ? undefined : name)) return nothing;
  const because =
    team === undefined ? 'no Team names this namespace in spec.namespace' : `the namespace belongs to Team ${team}`;
  return {
    ...nothing,
    violations: [
      {
        gate: 'namespaces',
        code: 'NamespaceLabelManaged',
        field: `metadata.labels[${TEAM_LABEL}]`,
        message: `${name}: the label ${TEAM_LABEL} changes from ${shown(before)} to ${shown(after)}, but ${because}`,
        next: 'Leave the label alone: the platform sets it on the namespace of each Team. To give a namespace to a team, create a Team with this spec.namespace',
      },
    ],
  };
}
