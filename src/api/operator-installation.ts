/**
 * The OperatorInstallation kind: the installed version of one Operator on one Cluster and its health. The platform
 * writes it.
 */
import { createHash } from 'node:crypto';
import {
  ageColumn,
  dateOrInstant,
  objectName,
  phaseColumn,
  prose,
  readyColumn,
  reasonColumn,
  shortName,
  statusFields,
} from './common/index.ts';
import { GROUP } from './constants.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { choice, instant, integer, list, object, text } from './schema/index.ts';

const spec = object('The installed release.', {
  operator: objectName('Name of the Operator.'),
  cluster: objectName('Name of the Cluster.'),
  version: text('Installed version.', { maxLength: 128 }),
  snapshot: text('Snapshot of the installed manifests: its name in the snapshot store.', { maxLength: 253 }),
  namespace: shortName('Namespace of the Helm release.'),
  releaseName: text('Name of the Helm release.', { maxLength: 53 }),
  revision: integer('Revision of the Helm release.', { minimum: 0, maximum: 2_147_483_647 }),
  color: choice('Color of the namespace in a blue-green deployment.', ['Blue', 'Green']).optional(),
  deployment: objectName('OperatorDeployment that installed this version.').optional(),
  restoredBy: objectName(
    'OperatorDeployment whose rollback restored this version. Failures since then are not attributed to the OperatorDeployment that originally installed it.',
  ).optional(),
  previous: object('Previous release, for rollbacks.', {
    version: text('Installed version.', { maxLength: 128 }),
    snapshot: text('Snapshot of the manifests: its name in the snapshot store.', { maxLength: 253 }),
    namespace: shortName('Namespace of the Helm release.'),
    keptUntil: dateOrInstant('Time until which the release is kept, scaled to 0.').optional(),
  }).optional(),
  kept: list(
    'Older releases of blue-green deployments that are still kept, scaled to 0, in other namespaces.',
    object('A retained release.', {
      version: text('Installed version.', { maxLength: 128 }),
      snapshot: text('Snapshot of the manifests: its name in the snapshot store.', { maxLength: 253 }),
      namespace: shortName('Namespace of the Helm release.'),
      keptUntil: dateOrInstant('Time until which the release is kept.'),
    }),
    { maxItems: 8 },
  ).optional(),
});

const part = (description: string) =>
  object(description, {
    state: choice('Result of the check.', ['Healthy', 'Unhealthy', 'Unknown', 'NotChecked']),
    message: prose('Explanation of the result.', 2048).optional(),
  });

const status = object('Observed state of the installation.', {
  ...statusFields,
  health: choice('Overall health.', ['Healthy', 'Unhealthy', 'Unknown']).optional(),
  since: instant('Time since which the installation has this health.').optional(),
  failuresInRow: integer('Number of consecutive failed health checks.', {
    minimum: 0,
    maximum: 2_147_483_647,
  }).optional(),
  controllerPods: integer('Number of running controller Pods.', { minimum: 0, maximum: 100_000 }).optional(),
  pods: part('Health of the controller Pods.').optional(),
  webhook: part('Health of the webhooks.').optional(),
  reconciliation: part('Health of the custom resources.').optional(),
  definitions: list(
    'CustomResourceDefinitions that the operator uses on the cluster.',
    object('A definition.', {
      name: objectName('Name of the definition.'),
      digest: text('Digest of the spec of the definition.', { maxLength: 71 }),
      storedVersions: list('Versions that objects are stored in.', text('A version.', { maxLength: 63 }), {
        maxItems: 32,
      }).optional(),
    }),
    { maxItems: 50 },
  ).optional(),
});

export const operatorInstallation = defineKind({
  kind: 'OperatorInstallation',
  plural: 'operatorinstallations',
  singular: 'operatorinstallation',
  shortName: 'koi',
  scope: 'Cluster',
  deployable: false,
  description:
    'An OperatorInstallation records which version of an Operator is installed on a Cluster, and its health there. The platform writes it. Deleting it removes the record and uninstalls nothing.',
  spec,
  status,
  maxNameLength: 253,
  columns: [
    { name: 'Operator', type: 'string', jsonPath: '.spec.operator', description: 'Name of the Operator.' },
    { name: 'Cluster', type: 'string', jsonPath: '.spec.cluster', description: 'Name of the Cluster.' },
    { name: 'Version', type: 'string', jsonPath: '.spec.version', description: 'Installed version.' },
    { name: 'Health', type: 'string', jsonPath: '.status.health', description: 'Overall health.' },
    { ...phaseColumn, priority: 1 },
    { ...readyColumn, priority: 1 },
    ageColumn,
    reasonColumn,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: OperatorInstallation
metadata:
  name: cert-manager.production-us-east
  labels:
    installation.platform.company.com/operator: cert-manager
    installation.platform.company.com/cluster: production-us-east
spec:
  operator: cert-manager
  cluster: production-us-east
  version: v1.14.0
  snapshot: snapshot-9f86d081884c7d65
  namespace: cert-manager
  releaseName: cert-manager
  revision: 1
`,
});

export type OperatorInstallation = ObjectOf<typeof operatorInstallation>;

/** The labels that select all installations of one operator or on one cluster, among tens of thousands. */
export const OPERATOR_LABEL = `installation.${GROUP}/operator`;
export const CLUSTER_LABEL = `installation.${GROUP}/cluster`;

export const installationLabels = (operator: string, cluster: string): Record<string, string> => ({
  [OPERATOR_LABEL]: operator,
  [CLUSTER_LABEL]: cluster,
});

/**
 * `installationName` names the installation of an operator on a cluster. Names with dots get a hash suffix: otherwise
 * `a.b` on `c` and `a` on `b.c` would collide.
 */
export function installationName(operator: string, cluster: string): string {
  const name = `${operator}.${cluster}`;
  if (!operator.includes('.') && !cluster.includes('.')) return name;
  return `${name}-${createHash('sha256').update(`${operator}/${cluster}`).digest('hex').slice(0, 16)}`;
}
