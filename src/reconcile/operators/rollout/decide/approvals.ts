/** The Approvals that a plan needs (docs/requirements.md, 002 FR-OP-007). */
import { isDeepStrictEqual } from 'node:util';
import {
  API_VERSION,
  type Approval,
  type ApprovalType,
  approval,
  type Environment,
  environments,
  REQUESTED_BY_ANNOTATION,
  sameVersion,
} from '../../../../api/index.ts';
import { type ApprovalLevel, levelsFor, type RolloutSettings } from '../../settings.ts';
import type { ClusterStatus, Plan, Rollout } from '../rollout.ts';

interface NeededApproval {
  readonly name: string;
  readonly type: ApprovalType;
  readonly environment: Environment;
  readonly levels: readonly ApprovalLevel[];
}

const slugs: Readonly<Record<ApprovalType, string>> = {
  ProductionDeployment: 'deployment',
  VersionUpgrade: 'version-upgrade',
  BreakingCRDChange: 'breaking-crd-change',
};

export function neededApprovals(
  { metadata, spec }: Rollout,
  plan: Pick<Plan, 'definitions'>,
  clusters: readonly ClusterStatus[],
  settings: RolloutSettings,
): NeededApproval[] {
  return environments.flatMap((environment) => {
    const reached = clusters.filter((each) => each.environment === environment && each.state !== 'Skipped');
    if (reached.length === 0) return [];
    const isUpgrade = reached.some(
      ({ fromVersion }) => fromVersion !== undefined && !sameVersion(fromVersion, spec.version),
    );
    const isBreaking = (plan.definitions ?? []).some((each) => each.environments?.includes(environment) === true);
    const types: ApprovalType[] = [
      'ProductionDeployment',
      ...(isUpgrade ? (['VersionUpgrade'] as const) : []),
      ...(isBreaking ? (['BreakingCRDChange'] as const) : []),
    ];
    return types.flatMap((type) => {
      const levels = levelsFor(settings, type, environment);
      const name = `rollout-${metadata.uid ?? ''}-${slugs[type]}-${environment.toLowerCase()}`;
      return levels.length === 0 ? [] : [{ name, type, environment, levels }];
    });
  });
}

/** The Approval that this rollout requests under that name; undefined if it requests none. */
export function approvalFor(name: string, object: Rollout, settings: RolloutSettings): Approval | undefined {
  const { metadata, status } = object;
  const listed = status?.approvals?.find((each) => each.name === name);
  const environment = environments.find((each) => name.endsWith(`-${each.toLowerCase()}`));
  if (listed === undefined || environment === undefined || status?.plan === undefined) return undefined;
  const requester = metadata.annotations?.[REQUESTED_BY_ANNOTATION];
  const notify = settings.notify[environment] ?? [];
  const levels = levelsFor(settings, listed.type, environment);
  return {
    apiVersion: API_VERSION,
    kind: approval.kind,
    metadata: { name },
    spec: {
      subject: { kind: 'OperatorDeployment', name: metadata.name, uid: metadata.uid ?? '', digest: status.plan.digest },
      type: listed.type,
      environment,
      // Turning approvals off later does not decide the ones that were already requested.
      levels: levels.length === 0 ? [{ role: 'Admin', approvals: 1 }] : levels.map((each) => ({ ...each })),
      ...(notify.length === 0 ? {} : { notify: [...notify] }),
      reason: reasonOf(listed.type, object).slice(0, 4096),
      ...(requester === undefined ? {} : { requester }),
      requiredApprovals: 1,
      decisions: [],
    },
  } as Approval;
}

function reasonOf(type: ApprovalType, { spec, status }: Rollout): string {
  const what = `${spec.operator} ${spec.version} on ${status?.clusters?.length ?? 0} clusters (${spec.strategy})`;
  const off = (['pods', 'webhook', 'reconciliation'] as const).filter(
    (part) => status?.plan?.health?.[part]?.enabled === false,
  );
  const disabledChecks = off.length === 0 ? '' : `\nhealth checks disabled by the Operator: ${off.join(', ')}`;
  const asked = `${spec.reason === undefined ? what : `${what}: ${spec.reason}`}${disabledChecks}`;
  if (type !== 'BreakingCRDChange') return asked;
  const breaking = (status?.plan?.definitions ?? []).filter(({ verdict }) => verdict === 'breaking');
  return [asked, ...breaking.map(({ name, summary }) => `${name}: ${summary ?? 'breaking'}`)].join('\n');
}

/**
 * Whether an Approval is the one that this rollout requests: for the same plan, by the same requester, with the same
 * levels.
 */
export function matchesRequest(found: Approval, object: Rollout, settings: RolloutSettings): boolean {
  const wanted = approvalFor(found.metadata.name, object, settings);
  if (wanted === undefined) return false;
  const { subject, type, environment, levels, requester } = found.spec;
  const same = [subject, type, environment, levels, requester];
  const asked = [
    wanted.spec.subject,
    wanted.spec.type,
    wanted.spec.environment,
    wanted.spec.levels,
    wanted.spec.requester,
  ];
  return isDeepStrictEqual(JSON.parse(JSON.stringify(same)), JSON.parse(JSON.stringify(asked)));
}
