/**
 * `planRollout` turns the spec of a rollout into its final plan. It finds every error that can be known in advance,
 * before any cluster is changed: in the version, the clusters, the chart and its rendering, and the CRDs.
 */
import {
  type Cluster,
  type Environment,
  mostDefinitionsOfAnOperator,
  type Operator,
  type OperatorInstallation,
  sameVersion,
} from '../../../../api/index.ts';
import type { Chart, Charts, Fleet, Snapshot, SnapshotStore, WorkContext } from '../../../../fleet/index.ts';
import type { LabelSelector } from '../../../../policy/index.ts';
import { selects } from '../../../../policy/internal.ts';
import { levelsFor, type RolloutSettings } from '../../settings.ts';
import { neededApprovals } from '../decide/approvals.ts';
import type { Planned } from '../decide/outcomes.ts';
import { configOf, planDigest, stagesOf } from '../decide/plan.ts';
import { type ClusterStatus, listNames, type Plan, type Rollout, toTimestamp } from '../rollout.ts';
import { clusterFacts } from '../store/facts.ts';
import {
  type CrdVerdicts,
  type DefinitionVerdict,
  maxBreaks,
  type PlannedDefinition,
  plannedDefinition,
} from './crd-verdicts.ts';
import { toFailure } from './failures.ts';

/** The rollout cannot be planned at the moment. `reason` becomes the reason of the condition Planned. */
export class PlanningBlocked extends Error {
  readonly reason: string;
  /** Whether a retry needs requests to other servers. */
  readonly isCostly: boolean;

  constructor(reason: string, message: string) {
    super(message);
    this.name = 'PlanningBlocked';
    this.reason = reason;
    this.isCostly = reason.startsWith('Chart') || reason === 'ClusterNotReady' || reason === 'BreakingCRDChange';
  }
}

export interface PlanningOptions {
  readonly fleet: Pick<Fleet, 'connect'>;
  readonly charts: Charts;
  readonly snapshots: SnapshotStore;
  readonly verdicts: CrdVerdicts;
  readonly settings: RolloutSettings;
  readonly operator: (name: string) => Operator | undefined;
  readonly clusters: () => readonly Cluster[];
  readonly installation: (operator: string, cluster: string) => OperatorInstallation | undefined;
  /** The values for an environment in the Secret that `spec.valuesSecret` names. Later ones take precedence. */
  readonly secretValues: (
    name: string,
    operator: string,
    environment: Environment,
  ) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  readonly now: () => number;
}

/** The number of clusters whose CRDs are compared at a time. */
const parallelism = 8;

export async function planRollout(object: Rollout, parts: PlanningOptions, context: WorkContext): Promise<Planned> {
  const { spec } = object;
  const { operator, chartVersion } = findVersion(object, parts);
  const clusters = findClusters(object, parts.clusters());
  const chart = await parts.charts.fetch(operator, chartVersion, context).catch(blocked('ChartUnavailable'));
  const config = configOf(spec, operator.spec.coexist === true);
  const known = clusters.map((cluster) => targetOf(object, operator, cluster, config, parts));
  const reachable = known.filter(({ cluster }) => cluster.status?.kubernetesVersion !== undefined);
  if (reachable.length === 0) throw new PlanningBlocked('ClusterNotReady', 'none of the clusters was ever reached');
  const snapshots = await renderAll(object, chart, reachable, parts, context);
  const { definitions, unreachable } = await definitionsOf(reachable, snapshots, parts, context);
  requireConsent(object, definitions, parts.settings);
  const stages = stagesOf(
    spec,
    reachable.map(({ cluster }) => ({
      name: cluster.metadata.name,
      environment: cluster.spec.environment,
      available: clusterFacts(cluster)?.available === true && !unreachable.has(cluster.metadata.name),
    })),
  );
  const statuses = known.map((target) => statusOf(target, stages, snapshots.get(target.cluster.metadata.name)));
  const fixed: Omit<Plan, 'digest' | 'createdAt'> = {
    operatorUid: operator.metadata.uid ?? '',
    chartDigest: chart.digest,
    strategy: spec.strategy,
    config: config as Plan['config'],
    stages,
    definitions,
    // An Approval covers the health checks too: later changes of the Operator apply to later rollouts.
    health: operator.spec.health ?? {},
    namespace: operatorNamespace(operator),
  };
  const digests = [...snapshots].map(([name, { digest }]) => [name, digest] as const);
  const plan: Plan = { ...fixed, digest: planDigest(fixed, digests), createdAt: toTimestamp(parts.now()) };
  const approvals = neededApprovals(object, plan, statuses, parts.settings).map(({ name, type }) => ({
    name,
    type,
    outcome: 'Pending' as const,
  }));
  return { plan, clusters: statuses, approvals };
}

const blocked = (reason: string) => (error: unknown) => {
  throw new PlanningBlocked(reason, toFailure(error).message);
};

function findVersion({ spec }: Rollout, parts: PlanningOptions): { operator: Operator; chartVersion: string } {
  const operator = parts.operator(spec.operator);
  if (operator === undefined) throw new PlanningBlocked('OperatorNotFound', `Operator ${spec.operator} not found`);
  const { versions } = operator.status ?? {};
  if (versions === undefined) {
    throw new PlanningBlocked('OperatorNotReady', `the versions of Operator ${spec.operator} are not listed yet`);
  }
  const found =
    versions.find(({ version }) => version === spec.version) ??
    versions.find(({ version }) => sameVersion(version, spec.version));
  if (found === undefined || found.state === 'Missing') {
    throw new PlanningBlocked('VersionNotFound', `Operator ${spec.operator} has no version ${spec.version}`);
  }
  if (found.state === 'Invalid') {
    const why = found.message ?? 'the chart is invalid';
    throw new PlanningBlocked('VersionInvalid', `version ${spec.version} of Operator ${spec.operator}: ${why}`);
  }
  return { operator, chartVersion: found.chartVersion };
}

function findClusters({ spec }: Rollout, all: readonly Cluster[]): Cluster[] {
  const alive = all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const { clusters: names, clusterSelector, environments: only, rollingConfig } = spec;
  const missing = (names ?? []).filter((name) => !alive.some(({ metadata }) => metadata.name === name)).map(named);
  if (missing.length > 0) throw new PlanningBlocked('ClusterNotFound', `Cluster not found: ${listNames(missing)}`);
  const chosen = alive.filter(({ metadata, spec: { environment } }) => {
    if (only !== undefined && !only.includes(environment)) return false;
    if (names !== undefined) return names.includes(metadata.name);
    return selects((clusterSelector ?? {}) as LabelSelector, metadata.labels ?? {});
  });
  if (chosen.length === 0) throw new PlanningBlocked('NoClustersSelected', 'no Cluster is selected');
  const unknown = (rollingConfig?.clusterOrder ?? []).filter(
    (name) => !chosen.some(({ metadata }) => metadata.name === name),
  );
  if (unknown.length > 0) {
    const message = `spec.rollingConfig.clusterOrder names clusters that are not selected: ${listNames(unknown.map(named))}`;
    throw new PlanningBlocked('ClusterNotFound', message);
  }
  return chosen;
}

const named = (name: string) => ({ name });

const operatorNamespace = ({ spec }: Operator): string => spec.namespace ?? 'operators';

/** The release that the rollout will create on a cluster. */
interface Target {
  readonly cluster: Cluster;
  readonly installation: OperatorInstallation | undefined;
  readonly namespace: string;
  readonly releaseName: string;
  readonly color?: 'Blue' | 'Green';
}

/** The target is the current namespace, or for a blue-green deployment the other one of the two. */
function targetOf(
  { spec }: Rollout,
  operator: Operator,
  cluster: Cluster,
  config: Readonly<Record<string, unknown>>,
  { installation: find }: PlanningOptions,
): Target {
  const installation = find(spec.operator, cluster.metadata.name);
  const releaseName =
    installation?.spec.releaseName ?? operator.spec.releaseName ?? operator.metadata.name.slice(0, 53);
  const common = { cluster, installation, releaseName };
  if (spec.strategy !== 'BlueGreen') {
    const { namespace = operatorNamespace(operator), color } = installation?.spec ?? {};
    return { ...common, namespace, ...(color === undefined ? {} : { color }) };
  }
  const { blueNamespace, greenNamespace } = config as { blueNamespace: string; greenNamespace: string };
  const current = installation?.spec.namespace ?? operator.spec.namespace;
  return current === greenNamespace
    ? { ...common, namespace: blueNamespace, color: 'Blue' }
    : { ...common, namespace: greenNamespace, color: 'Green' };
}

/**
 * Renders the chart once for each environment, Kubernetes version, namespace and release name; clusters that share
 * these share a snapshot.
 */
async function renderAll(
  object: Rollout,
  chart: Chart,
  targets: readonly Target[],
  { charts, snapshots, secretValues }: PlanningOptions,
  context: WorkContext,
): Promise<Map<string, Snapshot>> {
  const { spec } = object;
  const rendered = new Map<string, Snapshot>();
  const byCluster = new Map<string, Snapshot>();
  for (const { cluster, namespace, releaseName } of targets) {
    const { environment } = cluster.spec;
    const kubernetesVersion = cluster.status?.kubernetesVersion ?? '';
    const key = JSON.stringify([environment, kubernetesVersion, namespace, releaseName]);
    let snapshot = rendered.get(key);
    if (snapshot === undefined) {
      const secret =
        spec.valuesSecret === undefined
          ? []
          : await secretValues(spec.valuesSecret, spec.operator, environment).catch(blocked('ValuesInvalid'));
      const values = [spec.values ?? {}, spec.environmentValues?.[environment] ?? {}, ...secret];
      const input = {
        operator: spec.operator,
        version: spec.version,
        environment,
        kubernetesVersion,
        hasSecrets: spec.valuesSecret !== undefined,
      };
      snapshot = await charts
        .render(chart, { ...input, namespace, releaseName, values }, context)
        .then((content) => snapshots.put(content))
        .catch(blocked('ChartRenderFailed'));
      if (snapshot.definitions.length > mostDefinitionsOfAnOperator) {
        const message = `the chart has ${snapshot.definitions.length} CRDs, the maximum is ${mostDefinitionsOfAnOperator}`;
        throw new PlanningBlocked('TooManyCRDs', message);
      }
      rendered.set(key, snapshot);
    }
    byCluster.set(cluster.metadata.name, snapshot);
  }
  return byCluster;
}

/** Compares the CRDs with those on each cluster. A cluster that does not respond is compared when its turn has come. */
async function definitionsOf(
  targets: readonly Target[],
  snapshots: ReadonlyMap<string, Snapshot>,
  { fleet, verdicts }: PlanningOptions,
  context: WorkContext,
): Promise<{ definitions: PlannedDefinition[]; unreachable: ReadonlySet<string> }> {
  const found: { environment: Environment; verdict: DefinitionVerdict }[] = [];
  const unreachable = new Set<string>();
  const waiting = targets.filter(({ cluster }) => clusterFacts(cluster)?.available === true);
  const work = async (): Promise<void> => {
    for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
      const { name } = target.cluster.metadata;
      const { environment } = target.cluster.spec;
      const wanted = snapshots.get(name)?.definitions ?? [];
      try {
        const connection = await fleet.connect(name, { kind: 'observe' }, context);
        for (const verdict of await verdicts.on(connection, wanted, context.signal))
          found.push({ environment, verdict });
      } catch (error) {
        const { temporary, message } = toFailure(error);
        if (!temporary) throw new PlanningBlocked('ClusterNotReady', `${name}: ${message}`);
        unreachable.add(name);
      }
    }
  };
  await Promise.all(Array.from({ length: parallelism }, work));
  const byName = [...Map.groupBy(found, ({ verdict }) => verdict.name)].sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const definitions = byName.map(([, each]) => plannedDefinition(each)).filter((each) => each !== undefined);
  const tooMany = definitions.find(({ breaks = [] }) => breaks.length > maxBreaks);
  if (tooMany !== undefined) {
    const message = `CRD ${tooMany.name} breaks in more than ${maxBreaks} different ways: roll out to fewer clusters at a time`;
    throw new PlanningBlocked('TooManyBreakingChanges', message);
  }
  return { definitions, unreachable };
}

/**
 * In environments without Approvals for breaking CRD changes, the rollout itself must allow them with
 * spec.allowBreaking.
 */
function requireConsent({ spec }: Rollout, definitions: readonly PlannedDefinition[], settings: RolloutSettings): void {
  if (spec.allowBreaking === true) return;
  for (const { name, environments: where = [], summary = '' } of definitions) {
    const unapproved = where.filter((each) => levelsFor(settings, 'BreakingCRDChange', each).length === 0);
    if (unapproved.length === 0) continue;
    const message = `CRD ${name} has breaking changes in ${unapproved.join(', ')}, where no Approval is required. To apply it anyway, create the rollout again with spec.allowBreaking: true. ${summary}`;
    throw new PlanningBlocked('BreakingCRDChange', message);
  }
}

function statusOf(target: Target, stages: Plan['stages'], snapshot: Snapshot | undefined): ClusterStatus {
  const { cluster, installation, namespace, color } = target;
  const { name, uid } = cluster.metadata;
  const stage = stages.findIndex(({ clusters }) => clusters.includes(name)) + 1;
  const fromVersion = installation?.spec.version;
  return {
    name,
    ...(uid === undefined ? {} : { uid }),
    environment: cluster.spec.environment,
    stage: Math.max(1, stage),
    namespace,
    ...(color === undefined ? {} : { color }),
    ...(fromVersion === undefined ? {} : { fromVersion }),
    ...(snapshot === undefined
      ? { state: 'Skipped', message: 'Cluster was never reached: its Kubernetes version is unknown' }
      : { state: 'Pending', snapshot: snapshot.name }),
  };
}
