/**
 * The health of operators and clusters in the shape of docs/requirements.md, 002 (Health Monitoring), from the last
 * health check.
 */
import {
  CLUSTER_LABEL,
  type Cluster,
  cluster,
  installationName,
  OPERATOR_LABEL,
  type Operator,
  type OperatorInstallation,
  operator,
  operatorInstallation,
} from '../../api/index.ts';
import { all, get } from '../objects.ts';
import { type Call, everybody, type Route } from '../route.ts';
import { objectNameSchema, ref } from '../schemas.ts';
import { conditionOf, prefix } from './common.ts';

const tag = 'Health';
const operatorName = objectNameSchema('The operator.', 63);
const clusterName = objectNameSchema('The cluster.', 63);

type Health = 'Healthy' | 'Unhealthy' | 'Unknown';

export const healthRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: `${prefix}/operators/{name}/health`,
    operationId: 'getOperatorHealth',
    tag,
    summary: 'Get the health of an operator on all its clusters',
    roles: everybody,
    params: { name: operatorName },
    answer: { status: 200, description: 'The health.', schema: ref('OperatorHealth') },
    problems: [404],
    run: operatorHealth,
  },
  {
    method: 'GET',
    path: `${prefix}/clusters/{name}/health`,
    operationId: 'getClusterHealth',
    tag,
    summary: 'Get the health of a cluster and its operators',
    roles: everybody,
    params: { name: clusterName },
    answer: { status: 200, description: 'The health.', schema: ref('ClusterHealth') },
    problems: [404],
    run: clusterHealth,
  },
  {
    method: 'GET',
    path: `${prefix}/clusters/{cluster}/operators/{name}/health`,
    operationId: 'getInstallationHealth',
    tag,
    summary: 'Get the health of an operator on one cluster',
    roles: everybody,
    params: { cluster: clusterName, name: operatorName },
    answer: { status: 200, description: 'The health of the operator.', schema: ref('InstallationHealth') },
    problems: [404],
    run: installationHealth,
  },
];

async function operatorHealth(call: Call) {
  const { name = '' } = call.params;
  const [, installations, clusters] = await Promise.all([
    get<Operator>(call, operator, name),
    all<OperatorInstallation>(call, operatorInstallation, `${OPERATOR_LABEL}=${name}`),
    all<Cluster>(call, cluster),
  ]);
  const byName = new Map(clusters.map((each) => [each.metadata.name, each]));
  const healths = installations
    .map((each) => ({ clusterName: each.spec.cluster, ...shownHealth(each, byName.get(each.spec.cluster)) }))
    .sort((one, other) => one.clusterName.localeCompare(other.clusterName));
  return {
    status: 200,
    body: { operatorName: name, overallHealth: worst(healths.map(({ health }) => health)), clusters: healths },
  };
}

async function clusterHealth(call: Call) {
  const { name = '' } = call.params;
  const [found, installations] = await Promise.all([
    get<Cluster>(call, cluster, name),
    all<OperatorInstallation>(call, operatorInstallation, `${CLUSTER_LABEL}=${name}`),
  ]);
  const { health = 'Unknown', kubernetesVersion, latencyMilliseconds, lastCheckedTime } = found.status ?? {};
  const operators = installations
    .map((each) => ({ operatorName: each.spec.operator, ...shownHealth(each, found) }))
    .sort((one, other) => one.operatorName.localeCompare(other.operatorName));
  const ready = conditionOf(found.status, 'Ready');
  return {
    status: 200,
    body: {
      clusterName: name,
      health,
      overallHealth: worst([health, ...operators.map((each) => each.health)]),
      environment: found.spec.environment,
      ...(kubernetesVersion === undefined ? {} : { kubernetesVersion }),
      ...(latencyMilliseconds === undefined ? {} : { latencyMilliseconds }),
      ...(health !== 'Healthy' && ready !== undefined && ready.message !== '' ? { message: ready.message } : {}),
      ...(lastCheckedTime === undefined ? {} : { lastChecked: lastCheckedTime }),
      operators,
    },
  };
}

async function installationHealth(call: Call) {
  const { name = '', cluster: on = '' } = call.params;
  const [found, installation] = await Promise.all([
    get<Cluster>(call, cluster, on),
    get<OperatorInstallation>(call, operatorInstallation, installationName(name, on)),
  ]);
  return { status: 200, body: { operatorName: name, clusterName: on, ...shownHealth(installation, found) } };
}

type Part = NonNullable<NonNullable<OperatorInstallation['status']>['pods']>;

/** The health of everything on an unreachable cluster is unknown, whatever the last check found. */
function shownHealth({ spec, status }: OperatorInstallation, on: Cluster | undefined) {
  const reachable = on?.status?.health !== 'Unhealthy';
  const health: Health = reachable ? (status?.health ?? 'Unknown') : 'Unknown';
  const wrong = [status?.pods, status?.webhook, status?.reconciliation]
    .filter((part) => part?.state === 'Unhealthy' && part.message !== undefined)
    .map((part) => part?.message);
  const message = reachable ? wrong.join('; ') : 'the cluster is unreachable';
  // An installation is written only on changes; the time of the last check is written once for the whole cluster.
  const lastChecked = on?.status?.operatorsCheckedTime ?? status?.since;
  return {
    health,
    version: spec.version,
    controllerPods: status?.controllerPods ?? 0,
    webhookStatus: worded(status?.webhook, 'Available', 'Unavailable'),
    crdReconciliation: worded(status?.reconciliation, 'Active', 'Failing'),
    ...(message === '' ? {} : { message }),
    ...(lastChecked === undefined ? {} : { lastChecked }),
  };
}

function worded(part: Part | undefined, well: string, unwell: string): string {
  switch (part?.state) {
    case 'Healthy':
      return well;
    case 'Unhealthy':
      return unwell;
    case 'NotChecked':
      return 'NotChecked';
    default:
      return 'Unknown';
  }
}

function worst(all: readonly Health[]): Health {
  if (all.includes('Unhealthy')) return 'Unhealthy';
  return all.length > 0 && all.every((each) => each === 'Healthy') ? 'Healthy' : 'Unknown';
}
