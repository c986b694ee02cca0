/** OperatorInstallation: what is installed of one Operator on one Cluster, and how it fares. The platform writes it. */
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

const spec = object('What is installed.', {
  operator: objectName('The Operator.'),
  cluster: objectName('The Cluster.'),
  version: text('The version.', { maxLength: 128 }),
  snapshot: text('What exactly: a name for the store of snapshots.', { maxLength: 253 }),
  namespace: shortName('The namespace of its release.'),
  releaseName: text('The name of its Helm release.', { maxLength: 53 }),
  revision: integer('The revision of its Helm release.', { minimum: 0, maximum: 2_147_483_647 }),
  color: choice('Which namespace of a blue-green deployment it is in.', ['Blue', 'Green']).optional(),
  deployment: objectName('The OperatorDeployment that put it there.').optional(),
  restoredBy: objectName(
    'The OperatorDeployment that was taken back to this. What is not well since then is not the fault of the one that once put it there.',
  ).optional(),
  previous: object('What was there before, for the way back.', {
    version: text('The version.', { maxLength: 128 }),
    snapshot: text('What exactly.', { maxLength: 253 }),
    namespace: shortName('The namespace of its release.'),
    keptUntil: dateOrInstant('It is kept at 0 until then.').optional(),
  }).optional(),
  kept: list(
    'Older sides of blue-green deployments that are still kept at 0, in other namespaces.',
    object('One side.', {
      version: text('The version.', { maxLength: 128 }),
      snapshot: text('What exactly.', { maxLength: 253 }),
      namespace: shortName('The namespace of its release.'),
      keptUntil: dateOrInstant('It is kept until then.'),
    }),
    { maxItems: 8 },
  ).optional(),
});

const part = (description: string) =>
  object(description, {
    state: choice('How it fares.', ['Healthy', 'Unhealthy', 'Unknown', 'NotChecked']),
    message: prose('Why.', 2048).optional(),
  });

const status = object('How it fares.', {
  ...statusFields,
  health: choice('All in all.', ['Healthy', 'Unhealthy', 'Unknown']).optional(),
  since: instant('Since when.').optional(),
  failuresInRow: integer('How often in a row it was not well.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  controllerPods: integer('How many of its pods run.', { minimum: 0, maximum: 100_000 }).optional(),
  pods: part('Its pods.').optional(),
  webhook: part('Its webhooks.').optional(),
  reconciliation: part('Its custom resources.').optional(),
  definitions: list(
    'The custom resource definitions that it uses there.',
    object('One definition.', {
      name: objectName('Its name.'),
      digest: text('The digest of its spec.', { maxLength: 71 }),
      storedVersions: list('The versions that objects are stored in.', text('A version.', { maxLength: 63 }), {
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
    'An OperatorInstallation says which version of an Operator is on a Cluster and how it fares there. The platform writes it; deleting it makes the platform forget, and uninstalls nothing.',
  spec,
  status,
  maxNameLength: 253,
  columns: [
    { name: 'Operator', type: 'string', jsonPath: '.spec.operator', description: 'The Operator.' },
    { name: 'Cluster', type: 'string', jsonPath: '.spec.cluster', description: 'The Cluster.' },
    { name: 'Version', type: 'string', jsonPath: '.spec.version', description: 'The version there.' },
    { name: 'Health', type: 'string', jsonPath: '.status.health', description: 'How it fares.' },
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

/** On each: all of one operator, and all on one cluster, are found by them among tens of thousands. */
export const OPERATOR_LABEL = `installation.${GROUP}/operator`;
export const CLUSTER_LABEL = `installation.${GROUP}/cluster`;

export const installationLabels = (operator: string, cluster: string): Record<string, string> => ({
  [OPERATOR_LABEL]: operator,
  [CLUSTER_LABEL]: cluster,
});

/** There is one for each pair. Names with dots in them get a suffix, or `a.b` on `c` and `a` on `b.c` would be one. */
export function installationName(operator: string, cluster: string): string {
  const name = `${operator}.${cluster}`;
  if (!operator.includes('.') && !cluster.includes('.')) return name;
  return `${name}-${createHash('sha256').update(`${operator}/${cluster}`).digest('hex').slice(0, 16)}`;
}
