/**
 * The Cluster kind: a Kubernetes cluster that operators are rolled out to (docs/requirements.md, 002 FR-OP-002). It
 * never contains credentials.
 */
import {
  ageColumn,
  objectName,
  phaseColumn,
  prose,
  readyColumn,
  reasonColumn,
  statusFields,
  unobserved,
} from './common/index.ts';
import { GROUP } from './constants.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { boolean, choice, immutable, instant, integer, object, text } from './schema/index.ts';

/** The environments, in the order in which a rollout reaches them. */
export const environments = ['Dev', 'Staging', 'Production'] as const;
export type Environment = (typeof environments)[number];

/**
 * The finalizer that keeps a Cluster until its credentials, and the objects created for them on the cluster, are
 * removed.
 */
export const ERASE_FINALIZER = `${GROUP}/erase-credentials`;

/** The type of the Secret of a Cluster. Secrets of other types are ignored. */
export const SEALED_KUBECONFIG_TYPE = `${GROUP}/sealed-kubeconfig`;

/** The key in the Secret of a Cluster. */
export const SEALED_KUBECONFIG_KEY = 'kubeconfig.jwe';

const spec = object('Purpose of the cluster and its credentials.', {
  environment: choice(
    'Environment of the cluster. Rollouts reach Dev first and Production last. Immutable.',
    environments,
  ),
  description: prose('Human-readable description of the cluster.').optional(),
  contact: text('Contact for the cluster, for example an email address. It is erased together with the Cluster.', {
    maxLength: 320,
  }).optional(),
  credentials: object('Location of the sealed kubeconfig.', {
    secretName: objectName(
      `Kubernetes Secret of type \`${SEALED_KUBECONFIG_TYPE}\` in the namespace of the platform, as created by \`kidp clusters add\`. Defaults to \`cluster-\` followed by the name of this object.`,
    ).optional(),
  }).default({}),
  paused: boolean(
    'Pauses rollouts to this cluster. A rollout skips a paused cluster, even if it has already deployed there: the cluster is not health-checked for the rollout, does not delay it and does not trigger a rollback. A rollback still reaches a paused cluster.',
  ).optional(),
}).rules(
  immutable(
    'environment',
    'spec.environment cannot be changed after creation, because it determines the required approvals: delete the Cluster and add it again',
  ),
);

const status = object('Observed state of the cluster.', {
  ...statusFields,
  health: choice('Health of the cluster.', ['Healthy', 'Unhealthy', 'Unknown']).optional(),
  kubernetesVersion: text('Kubernetes version of the cluster, for example `v1.36.3`.', { maxLength: 64 }).optional(),
  sealedWith: text('ID of the key that the kubeconfig is sealed with.', { maxLength: 128 }).optional(),
  credentialsDigest: text('Digest of the sealed kubeconfig that was last opened.', { maxLength: 71 }).optional(),
  lastCheckedTime: instant('Time of the last health check.').optional(),
  operatorsCheckedTime: instant('Time at which the operators on the cluster were last checked.').optional(),
  latencyMilliseconds: integer('Response time of the last health check, in milliseconds.', {
    minimum: 0,
    maximum: 3_600_000,
  }).optional(),
  failures: integer('Number of consecutive failed connection attempts.', {
    minimum: 0,
    maximum: 2_147_483_647,
  }).optional(),
});

export const cluster = defineKind({
  kind: 'Cluster',
  plural: 'clusters',
  singular: 'cluster',
  shortName: 'kcl',
  scope: 'Cluster',
  deployable: false,
  description:
    'A Cluster is a Kubernetes cluster that operators are rolled out to. Its kubeconfig is sealed in a Secret. `kidp clusters add` creates both; deleting the Cluster erases both.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 63,
  columns: [
    { name: 'Environment', type: 'string', jsonPath: '.spec.environment', description: 'Environment of the cluster.' },
    { name: 'Health', type: 'string', jsonPath: '.status.health', description: 'Health of the cluster.' },
    {
      name: 'Version',
      type: 'string',
      jsonPath: '.status.kubernetesVersion',
      description: 'Kubernetes version of the cluster.',
    },
    {
      name: 'Paused',
      type: 'boolean',
      jsonPath: '.spec.paused',
      description: 'Whether rollouts to the cluster are paused.',
      priority: 1,
    },
    { ...phaseColumn, priority: 1 },
    readyColumn,
    {
      name: 'Checked',
      type: 'date',
      jsonPath: '.status.lastCheckedTime',
      description: 'Time of the last health check.',
    },
    ageColumn,
    reasonColumn,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: Cluster
metadata:
  name: production-us-east
  labels:
    region: us-east
spec:
  environment: Production
  description: Runs the shops of the east coast.
`,
});

export type Cluster = ObjectOf<typeof cluster>;
