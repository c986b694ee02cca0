/** Which second pairs of eyes a plan needs, and the Approvals that ask for them (requirement 002, FR-OP-007). */
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
import { type Client, isAlreadyExists } from '../../../../runtime/index.ts';
import { type ApprovalLevel, levelsFor, type RolloutSettings } from '../../settings.ts';
import type { ClusterStatus, Plan, Rollout } from '../rollout.ts';
import { fieldManager } from '../store/status-writer.ts';

interface NeededApproval {
  readonly name: string;
  readonly type: ApprovalType;
  readonly environment: Environment;
  readonly levels: readonly ApprovalLevel[];
}

const words: Readonly<Record<ApprovalType, string>> = {
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
      const name = `rollout-${metadata.uid ?? ''}-${words[type]}-${environment.toLowerCase()}`;
      return levels.length === 0 ? [] : [{ name, type, environment, levels }];
    });
  });
}

/** The Approval that this rollout asks for under that name; undefined where it asks for none. */
function approvalFor(name: string, object: Rollout, settings: RolloutSettings): Approval | undefined {
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
      // Who has switched approvals off meanwhile has not decided about those that were asked for.
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
  const unseen =
    off.length === 0 ? '' : `\nwhether it is well is not looked at by its Operator's word: ${off.join(', ')}`;
  const asked = `${spec.reason === undefined ? what : `${what}: ${spec.reason}`}${unseen}`;
  if (type !== 'BreakingCRDChange') return asked;
  const breaking = (status?.plan?.definitions ?? []).filter(({ verdict }) => verdict === 'breaking');
  return [asked, ...breaking.map(({ name, summary }) => `${name}: ${summary ?? 'breaking'}`)].join('\n');
}

/** Whether it is what this rollout asks for: for exactly this plan, asked by the same person, decided by nobody less. */
export function isAskedFor(found: Approval, object: Rollout, settings: RolloutSettings): boolean {
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

/** Sees to it that all of them are there. Returns those of that name that are something else. */
export async function askForApprovals(
  client: Client,
  object: Rollout,
  settings: RolloutSettings,
): Promise<readonly string[]> {
  const strange: string[] = [];
  for (const { name, outcome } of object.status?.approvals ?? []) {
    const wanted = outcome === 'Pending' ? approvalFor(name, object, settings) : undefined;
    if (wanted === undefined) continue;
    try {
      await client.create(approval.resource, wanted, { fieldManager });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const found = await client.get<Approval>(approval.resource, { name });
      if (!isAskedFor(found, object, settings)) strange.push(name);
    }
  }
  return strange;
}
