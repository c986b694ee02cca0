/**
 * Planning: from what a rollout says to what will be done, once and for all. Everything that can be known to be wrong is found here, before
 * anything is changed anywhere: the version, the clusters, the chart and whether it renders, the definitions.
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
import { type ClusterStatus, instantOf, namesOf, type Plan, type Rollout } from '../rollout.ts';
import { clusterFacts } from '../store/facts.ts';
import {
  type DefinitionVerdict,
  mostBreaks,
  type PlannedDefinition,
  plannedDefinition,
  type Verdicts,
} from './crd-verdicts.ts';
import { failureOf } from './failures.ts';

/** It cannot be planned as things are. */
export class PlanningBlocked extends Error {
  readonly reason: string;
  /** To find out whether it still is so, others have to be asked. */
  readonly isCostly: boolean;

  constructor(reason: string, message: string) {
    super(message);
    this.name = 'PlanningBlocked';
    this.reason = reason;
    this.isCostly = reason.startsWith('Chart') || reason === 'ClusterNotReady' || reason === 'BreakingDefinitions';
  }
}

export interface PlanningParts {
  readonly fleet: Pick<Fleet, 'connect'>;
  readonly charts: Charts;
  readonly snapshots: SnapshotStore;
  readonly verdicts: Verdicts;
  readonly settings: RolloutSettings;
  readonly operator: (name: string) => Operator | undefined;
  readonly clusters: () => readonly Cluster[];
  readonly installation: (operator: string, cluster: string) => OperatorInstallation | undefined;
  /** Of the Secret that `spec.valuesSecret` names, for an environment, the later over the earlier. */
  readonly secretValues: (
    name: string,
    operator: string,
    environment: Environment,
  ) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  readonly now: () => number;
}

/** Clusters that are asked about their definitions at a time. */
const atOnce = 8;

export async function planRollout(object: Rollout, parts: PlanningParts, context: WorkContext): Promise<Planned> {
  const { spec } = object;
  const { operator, chartVersion } = findVersion(object, parts);
  const clusters = findClusters(object, parts.clusters());
  const chart = await parts.charts.fetch(operator, chartVersion, context).catch(blocked('ChartUnavailable'));
  const config = configOf(spec, operator.spec.coexist === true);
  const known = clusters.map((cluster) => targetOf(object, operator, cluster, config, parts));
  const reachable = known.filter(({ cluster }) => cluster.status?.kubernetesVersion !== undefined);
  if (reachable.length === 0) throw new PlanningBlocked('ClusterNotReady', 'none of its clusters was ever reached');
  const snapshots = await renderAll(object, chart, reachable, parts, context);
  const { definitions, away } = await definitionsOf(reachable, snapshots, parts, context);
  demandConsent(object, definitions, parts.settings);
  const stages = stagesOf(
    spec,
    reachable.map(({ cluster }) => ({
      name: cluster.metadata.name,
      environment: cluster.spec.environment,
      available: clusterFacts(cluster)?.available === true && !away.has(cluster.metadata.name),
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
    // Those who agree agree to what makes it well, too: what the Operator says later is for later rollouts.
    health: operator.spec.health ?? {},
    namespace: operatorNamespace(operator),
  };
  const digests = [...snapshots].map(([name, { digest }]) => [name, digest] as const);
  const plan: Plan = { ...fixed, digest: planDigest(fixed, digests), createdAt: instantOf(parts.now()) };
  const approvals = neededApprovals(object, plan, statuses, parts.settings).map(({ name, type }) => ({
    name,
    type,
    outcome: 'Pending' as const,
  }));
  return { plan, clusters: statuses, approvals };
}

const blocked = (reason: string) => (error: unknown) => {
  throw new PlanningBlocked(reason, failureOf(error).message);
};

function findVersion({ spec }: Rollout, parts: PlanningParts): { operator: Operator; chartVersion: string } {
  const operator = parts.operator(spec.operator);
  if (operator === undefined) throw new PlanningBlocked('OperatorMissing', `there is no Operator ${spec.operator}`);
  const { versions } = operator.status ?? {};
  if (versions === undefined) {
    throw new PlanningBlocked('OperatorNotReady', `the versions of Operator ${spec.operator} are not known yet`);
  }
  const found =
    versions.find(({ version }) => version === spec.version) ??
    versions.find(({ version }) => sameVersion(version, spec.version));
  if (found === undefined || found.state === 'Missing') {
    throw new PlanningBlocked('VersionMissing', `Operator ${spec.operator} has no version ${spec.version}`);
  }
  if (found.state === 'Invalid') {
    const why = found.message ?? 'its chart cannot be used';
    throw new PlanningBlocked('VersionInvalid', `${spec.version} of Operator ${spec.operator}: ${why}`);
  }
  return { operator, chartVersion: found.chartVersion };
}

function findClusters({ spec }: Rollout, all: readonly Cluster[]): Cluster[] {
  const alive = all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const { clusters: names, clusterSelector, environments: only, rollingConfig } = spec;
  const missing = (names ?? []).filter((name) => !alive.some(({ metadata }) => metadata.name === name)).map(named);
  if (missing.length > 0) throw new PlanningBlocked('ClusterMissing', `there is no Cluster ${namesOf(missing)}`);
  const chosen = alive.filter(({ metadata, spec: { environment } }) => {
    if (only !== undefined && !only.includes(environment)) return false;
    if (names !== undefined) return names.includes(metadata.name);
    return selects((clusterSelector ?? {}) as LabelSelector, metadata.labels ?? {});
  });
  if (chosen.length === 0) throw new PlanningBlocked('NoClusters', 'no Cluster is selected');
  const unknown = (rollingConfig?.clusterOrder ?? []).filter(
    (name) => !chosen.some(({ metadata }) => metadata.name === name),
  );
  if (unknown.length > 0) {
    const message = `spec.rollingConfig.clusterOrder names ${namesOf(unknown.map(named))}, which it does not go to`;
    throw new PlanningBlocked('ClusterMissing', message);
  }
  return chosen;
}

const named = (name: string) => ({ name });

const operatorNamespace = ({ spec }: Operator): string => spec.namespace ?? 'operators';

/** Where it goes on a cluster. */
interface Target {
  readonly cluster: Cluster;
  readonly installation: OperatorInstallation | undefined;
  readonly namespace: string;
  readonly releaseName: string;
  readonly color?: 'Blue' | 'Green';
}

/** Into the namespace where it is, or for a blue-green deployment into the other one of the two. */
function targetOf(
  { spec }: Rollout,
  operator: Operator,
  cluster: Cluster,
  config: Readonly<Record<string, unknown>>,
  { installation: find }: PlanningParts,
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

/** One for each environment, version of Kubernetes and namespace; the same snapshot for all clusters that share these. */
async function renderAll(
  object: Rollout,
  chart: Chart,
  targets: readonly Target[],
  { charts, snapshots, secretValues }: PlanningParts,
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
          : await secretValues(spec.valuesSecret, spec.operator, environment).catch(blocked('ValuesUnreadable'));
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
        .catch(blocked('ChartDoesNotRender'));
      if (snapshot.definitions.length > mostDefinitionsOfAnOperator) {
        const message = `it has ${snapshot.definitions.length} definitions, and ${mostDefinitionsOfAnOperator} at most are tracked`;
        throw new PlanningBlocked('TooManyDefinitions', message);
      }
      rendered.set(key, snapshot);
    }
    byCluster.set(cluster.metadata.name, snapshot);
  }
  return byCluster;
}

/** What becomes of each definition. A cluster that does not answer is asked when its turn has come. */
async function definitionsOf(
  targets: readonly Target[],
  snapshots: ReadonlyMap<string, Snapshot>,
  { fleet, verdicts }: PlanningParts,
  context: WorkContext,
): Promise<{ definitions: PlannedDefinition[]; away: ReadonlySet<string> }> {
  const found: { environment: Environment; verdict: DefinitionVerdict }[] = [];
  const away = new Set<string>();
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
        const { temporary, message } = failureOf(error);
        if (!temporary) throw new PlanningBlocked('ClusterNotReady', `${name}: ${message}`);
        away.add(name);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const byName = [...Map.groupBy(found, ({ verdict }) => verdict.name)].sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const definitions = byName.map(([, each]) => plannedDefinition(each)).filter((each) => each !== undefined);
  const manifold = definitions.find(({ breaks = [] }) => breaks.length > mostBreaks);
  if (manifold !== undefined) {
    const message = `${manifold.name} breaks in more than ${mostBreaks} different ways: roll out to fewer clusters at a time`;
    throw new PlanningBlocked('TooManyBreaks', message);
  }
  return { definitions, away };
}

/** Where nobody else is asked about what breaks, whoever starts the rollout has to say so: a break that nobody has meant is none. */
function demandConsent({ spec }: Rollout, definitions: readonly PlannedDefinition[], settings: RolloutSettings): void {
  if (spec.allowBreaking === true) return;
  for (const { name, environments: where = [], summary = '' } of definitions) {
    const unasked = where.filter((each) => levelsFor(settings, 'BreakingCRDChange', each).length === 0);
    if (unasked.length === 0) continue;
    const message = `${name} breaks what is there in ${unasked.join(', ')}, where nobody is asked: create the rollout anew with spec.allowBreaking if that is meant. ${summary}`;
    throw new PlanningBlocked('BreakingDefinitions', message);
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
      ? { state: 'Skipped', message: 'the Cluster was never reached: its version of Kubernetes is not known' }
      : { state: 'Pending', snapshot: snapshot.name }),
  };
}
