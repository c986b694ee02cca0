/** Cluster: one Kubernetes cluster that operators are rolled out to (requirement 002, FR-OP-002). Its credentials are never in it. */
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

/** In the order in which a rollout reaches them. */
export const environments = ['Dev', 'Staging', 'Production'] as const;
export type Environment = (typeof environments)[number];

/** Keeps a Cluster until its credentials and what was made for them on the cluster are gone. */
export const ERASE_FINALIZER = `${GROUP}/erase-credentials`;

/** On the Secret of a Cluster: the only type that is read. */
export const SEALED_KUBECONFIG_TYPE = `${GROUP}/sealed-kubeconfig`;

/** The key in the Secret of a Cluster. */
export const SEALED_KUBECONFIG_KEY = 'kubeconfig.jwe';

const spec = object('What it is for, and how it is reached.', {
  environment: choice('What it is for. Rollouts reach Dev first and Production last.', environments),
  description: prose('What runs there.').optional(),
  contact: text('Whom to ask, for example an e-mail address. It is erased with the Cluster.', {
    maxLength: 320,
  }).optional(),
  credentials: object('Where the sealed kubeconfig is.', {
    secretName: objectName(
      `A Kubernetes Secret of the type \`${SEALED_KUBECONFIG_TYPE}\` in the namespace of the platform, as \`kidp clusters add\` makes it. Left out, \`cluster-\` and the name of this object.`,
    ).optional(),
  }).default({}),
  paused: boolean(
    'Nothing new is rolled out to it. A rollout that comes to it goes on without it, also where it was deployed there already: it is not looked at for the rollout, holds nobody up and takes nobody back. A way back reaches it all the same.',
  ).optional(),
}).rules(
  immutable(
    'environment',
    'spec.environment is fixed at creation, for it decides who has to agree: delete the Cluster and add it anew',
  ),
);

const status = object('What the platform knows about it.', {
  ...statusFields,
  health: choice('How it fares.', ['Healthy', 'Unhealthy', 'Unknown']).optional(),
  kubernetesVersion: text('The version that it runs, for example `v1.36.3`.', { maxLength: 64 }).optional(),
  sealedWith: text('The id of the key that its kubeconfig is sealed with.', { maxLength: 128 }).optional(),
  credentialsDigest: text('The digest of the sealed text that was last opened.', { maxLength: 71 }).optional(),
  lastCheckedTime: instant('When it was last asked how it fares.').optional(),
  operatorsCheckedTime: instant('When the operators on it were last looked at.').optional(),
  latencyMilliseconds: integer('How long it took to answer.', { minimum: 0, maximum: 3_600_000 }).optional(),
  failures: integer('How often in a row it could not be reached.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
});

export const cluster = defineKind({
  kind: 'Cluster',
  plural: 'clusters',
  singular: 'cluster',
  shortName: 'kcl',
  scope: 'Cluster',
  deployable: false,
  description:
    'A Cluster is a Kubernetes cluster that operators are rolled out to. Its kubeconfig is sealed in a Secret; `kidp clusters add` makes both, and deleting the Cluster erases both.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 63,
  columns: [
    { name: 'Environment', type: 'string', jsonPath: '.spec.environment', description: 'What it is for.' },
    { name: 'Health', type: 'string', jsonPath: '.status.health', description: 'How it fares.' },
    { name: 'Version', type: 'string', jsonPath: '.status.kubernetesVersion', description: 'The Kubernetes it runs.' },
    { name: 'Paused', type: 'boolean', jsonPath: '.spec.paused', description: 'Nothing new goes there.', priority: 1 },
    { ...phaseColumn, priority: 1 },
    readyColumn,
    { name: 'Checked', type: 'date', jsonPath: '.status.lastCheckedTime', description: 'When it was last asked.' },
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
  description: What the shops of the east coast run on.
`,
});

export type Cluster = ObjectOf<typeof cluster>;
