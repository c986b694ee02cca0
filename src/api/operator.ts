/** Operator: something that runs in many clusters and is installed from a Helm chart (requirement 002, FR-OP-001). */
import {
  ageColumn,
  isoDuration,
  objectName,
  phaseColumn,
  prose,
  readyColumn,
  reasonColumn,
  semanticVersion,
  shortName,
  statusFields,
  unobserved,
} from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { boolean, choice, decimal, instant, integer, list, listByKey, object, set, text } from './schema/index.ts';

/** More definitions than this are not tracked of one operator (requirement 002, scalability targets). */
export const mostDefinitionsOfAnOperator = 50;

const url = (description: string, schemes: string) =>
  text(description, { minLength: 6, maxLength: 2048, pattern: `^(${schemes})://[^\\s@]+$` });

const chart = object('Where the Helm chart comes from: exactly one of `repository`, `oci` and `path`.', {
  repository: url('The address of a Helm repository; `name` says which chart of it.', 'https?').optional(),
  oci: url(
    'The address of the chart in a registry, for example `oci://charts.example.com/cert-manager`.',
    'oci',
  ).optional(),
  path: text(
    'A directory or packaged chart, relative to the directory of charts that the platform was given with `--charts`.',
    { minLength: 1, maxLength: 1024, pattern: '^[A-Za-z0-9_][A-Za-z0-9._/-]*$' },
  ).optional(),
  name: text('The name of the chart in its repository. Left out, the name of this object.', {
    minLength: 1,
    maxLength: 253,
    pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$',
  }).optional(),
  credentialsSecret: objectName(
    'A Kubernetes Secret in the namespace of the platform with `username` and `password` for the repository, and the annotation `platform.company.com/repository` that says which: `https://charts.example.com`. It is sent nowhere else.',
  ).optional(),
  caBundle: text(
    'The certificates, in PEM form and base64, that the repository is trusted by. Left out, those of the system.',
    {
      maxLength: 131_072,
      pattern: '^[A-Za-z0-9+/]+={0,2}$',
    },
  ).optional(),
}).rules(
  {
    rule: '[has(self.repository), has(self.oci), has(self.path)].filter(each, each).size() == 1',
    message: 'say where the chart comes from: exactly one of repository, oci and path',
  },
  {
    rule: "!has(self.path) || !self.path.matches('(^|/)[.][.]?(/|$)')",
    message: 'the path stays inside the directory of charts: it may not contain . or .. as a part',
    fieldPath: '.path',
  },
);

export const operatorHealth = object(
  'What makes it healthy on a cluster. What is left out has the thresholds of the platform.',
  {
    pods: object('Its controller pods.', {
      enabled: boolean('Whether they are looked at. Left out, they are.').optional(),
      maxRestarts: integer('This many restarts within `restartWindow` make it unhealthy. Left out, 3.', {
        minimum: 1,
        maximum: 1000,
      }).optional(),
      restartWindow: isoDuration('Left out, PT5M.').optional(),
      maxResourceShare: decimal('The share of its limits that a pod may use. Left out, 1. Needs the metrics API.', {
        minimum: 0.01,
        maximum: 1,
      }).optional(),
    }).optional(),
    webhook: object('Its admission webhooks, asked with a dry run through the API server of the cluster.', {
      enabled: boolean('Whether they are looked at. Left out, they are where it has any.').optional(),
      maxLatency: isoDuration('Left out, PT1S.').optional(),
      probe: object('What the dry run creates. Left out, an object is made up from the rules of the webhook.', {
        apiVersion: text('Its apiVersion.', { minLength: 1, maxLength: 317 }),
        kind: text('Its kind.', { minLength: 1, maxLength: 63 }),
        manifest: text('The whole object, as YAML or JSON.', { minLength: 1, maxLength: 65_536 }).optional(),
      }).optional(),
    }).optional(),
    reconciliation: object('Whether it keeps up with its custom resources.', {
      enabled: boolean('Whether they are looked at. Left out, they are where it has any.').optional(),
      staleAfter: isoDuration('An observedGeneration that is behind for longer is stale. Left out, PT5M.').optional(),
      maxErrorRate: decimal('The share of its custom resources that may report an error. Left out, 0.05.', {
        minimum: 0,
        maximum: 1,
      }).optional(),
      errorConditions: set(
        'The types of conditions that mean an error where they are False. Left out, `Ready`.',
        text('A type of condition.', { minLength: 1, maxLength: 316 }),
        { maxItems: 16 },
      ).optional(),
    }).optional(),
  },
);

const version = semanticVersion('A version, for example `1.14.0` or `v1.14.0`.');

const spec = object('Where it comes from, where it goes, and how to see that it is well.', {
  description: prose('What it is.').optional(),
  namespace: shortName('The namespace that it is installed into, on every cluster.').default('operators'),
  releaseName: text('The name of the Helm release. Left out, the name of this object.', {
    minLength: 1,
    maxLength: 53,
    pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
  }).optional(),
  chart,
  versions: listByKey(
    'The versions that may be rolled out. Left out, every version that the repository has.',
    ['version'],
    object('One version.', {
      version,
      chartVersion: semanticVersion('The version of the chart, where it is another one.').optional(),
      digest: text('The digest that the packaged chart must have. Another one is refused.', {
        minLength: 71,
        maxLength: 71,
        pattern: '^sha256:[0-9a-f]{64}$',
      }).optional(),
      migrationGuide: prose(
        'What those who use its custom resources have to do, shown with breaking changes.',
        8192,
      ).optional(),
    }),
    { maxItems: 256 },
  ).optional(),
  health: operatorHealth.optional(),
  coexist: boolean(
    'Two versions of its controllers may run side by side. Left out, in a blue-green deployment the new ones start when the old ones are at 0.',
  ).optional(),
  historyLimit: integer('How many finished OperatorDeployments are kept of it.', { minimum: 0, maximum: 1000 }).default(
    20,
  ),
});

const status = object('What the platform found out about it.', {
  ...statusFields,
  versions: listByKey(
    'The versions that were looked at, the newest first.',
    ['version'],
    object('One version.', {
      version,
      chartVersion: text('The version of the chart.', { maxLength: 128 }),
      appVersion: text('The version that the chart says it installs.', { maxLength: 128 }).optional(),
      state: choice('Whether it can be rolled out.', ['Available', 'Missing', 'Invalid', 'Listed']),
      message: prose('Why not.').optional(),
      digest: text('The digest of the packaged chart.', { maxLength: 71 }).optional(),
      definitions: list(
        'The custom resource definitions that come with it.',
        object('One definition.', {
          name: objectName('The name of the definition.'),
          digest: text('The digest of its spec.', { maxLength: 71 }),
          versions: list('The versions that it serves.', text('A version.', { maxLength: 63 }), {
            maxItems: 32,
          }).optional(),
        }),
        { maxItems: mostDefinitionsOfAnOperator },
      ).optional(),
      definitionsRef: text('Where the definitions themselves are kept: a name for the store of the platform.', {
        maxLength: 253,
      }).optional(),
      compatibility: choice('What the version before it, in this list, becomes through it.', [
        'safe',
        'risky',
        'breaking',
      ]).optional(),
      doesNotRender: prose(
        'Why its chart does not render with the values that come with it: a deployment has to bring others. Left out, it does, or there was no Helm to try.',
      ).optional(),
      checkedAt: instant('When it was looked at.').optional(),
    }),
    { maxItems: 256 },
  ).optional(),
  repositoryCheckedAt: instant('When the repository was last reached.').optional(),
  installations: integer('On how many clusters it is.', { minimum: 0, maximum: 100_000 }).optional(),
  healthyInstallations: integer('On how many of them it is well.', { minimum: 0, maximum: 100_000 }).optional(),
});

export const operator = defineKind({
  kind: 'Operator',
  plural: 'operators',
  singular: 'operator',
  shortName: 'kop',
  scope: 'Cluster',
  deployable: false,
  description:
    'An Operator is installed on many clusters from a Helm chart. It says where the chart comes from, which versions there are, and what makes it healthy; an OperatorDeployment rolls a version out.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 63,
  columns: [
    { name: 'Namespace', type: 'string', jsonPath: '.spec.namespace', description: 'Where it is installed.' },
    { name: 'Newest', type: 'string', jsonPath: '.status.versions[0].version', description: 'Its newest version.' },
    {
      name: 'Clusters',
      type: 'integer',
      jsonPath: '.status.installations',
      description: 'On how many clusters it is.',
    },
    {
      name: 'Healthy',
      type: 'integer',
      jsonPath: '.status.healthyInstallations',
      description: 'On how many it is well.',
    },
    phaseColumn,
    readyColumn,
    ageColumn,
    reasonColumn,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: Operator
metadata:
  name: cert-manager
spec:
  description: Certificates from many issuers.
  namespace: cert-manager
  chart:
    repository: https://charts.example.com
    name: cert-manager
  versions:
  - version: v1.14.0
  health:
    webhook:
      maxLatency: PT1S
`,
});

export type Operator = ObjectOf<typeof operator>;
