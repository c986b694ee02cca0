/**
 * The Operator kind: an operator that is installed on many clusters from a Helm chart (docs/requirements.md, 002
 * FR-OP-001).
 */
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

/** The maximum number of definitions that are tracked per operator (docs/requirements.md, 002 scalability targets). */
export const mostDefinitionsOfAnOperator = 50;

const url = (description: string, schemes: string) =>
  text(description, { minLength: 6, maxLength: 2048, pattern: `^(${schemes})://[^\\s@]+$` });

const chart = object('Source of the Helm chart: exactly one of `repository`, `oci` and `path`.', {
  repository: url('URL of a Helm repository. `name` selects the chart.', 'https?').optional(),
  oci: url(
    'URL of the chart in an OCI registry, for example `oci://charts.example.com/cert-manager`.',
    'oci',
  ).optional(),
  path: text(
    'Directory or packaged chart, relative to the charts directory that the platform was started with (`--charts`).',
    { minLength: 1, maxLength: 1024, pattern: '^[A-Za-z0-9_][A-Za-z0-9._/-]*$' },
  ).optional(),
  name: text('Name of the chart in its repository. Defaults to the name of this object.', {
    minLength: 1,
    maxLength: 253,
    pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$',
  }).optional(),
  credentialsSecret: objectName(
    'Kubernetes Secret in the namespace of the platform with `username` and `password` for the repository. Its annotation `platform.company.com/repository` names the repository, for example `https://charts.example.com`; the credentials are sent nowhere else.',
  ).optional(),
  caBundle: text(
    'CA certificates that the repository is verified with: PEM, base64-encoded. Defaults to the system certificates.',
    {
      maxLength: 131_072,
      pattern: '^[A-Za-z0-9+/]+={0,2}$',
    },
  ).optional(),
}).rules(
  {
    rule: '[has(self.repository), has(self.oci), has(self.path)].filter(each, each).size() == 1',
    message: 'exactly one of repository, oci and path must be set',
  },
  {
    rule: "!has(self.path) || !self.path.matches('(^|/)[.][.]?(/|$)')",
    message: 'the path must stay inside the charts directory: it must not contain . or .. as a segment',
    fieldPath: '.path',
  },
);

export const operatorHealth = object(
  'Health checks on each cluster. Omitted fields use the thresholds of the platform.',
  {
    pods: object('Check of the controller Pods.', {
      enabled: boolean('Whether the Pods are checked. Defaults to true.').optional(),
      maxRestarts: integer(
        'Number of restarts within `restartWindow` that makes the operator unhealthy. Defaults to 3.',
        {
          minimum: 1,
          maximum: 1000,
        },
      ).optional(),
      restartWindow: isoDuration('Window in which restarts are counted. Defaults to PT5M.').optional(),
      maxResourceShare: decimal('Share of its limits that a Pod may use. Defaults to 1. Requires the metrics API.', {
        minimum: 0.01,
        maximum: 1,
      }).optional(),
    }).optional(),
    webhook: object('Check of the admission webhooks, with a dry run through the API server of the cluster.', {
      enabled: boolean('Whether the webhooks are checked. Defaults to true if the operator has any.').optional(),
      maxLatency: isoDuration('Maximum latency of the dry run. Defaults to PT1S.').optional(),
      probe: object('Object that the dry run creates. By default an object is derived from the rules of the webhook.', {
        apiVersion: text('apiVersion of the object.', { minLength: 1, maxLength: 317 }),
        kind: text('Kind of the object.', { minLength: 1, maxLength: 63 }),
        manifest: text('The whole object as YAML or JSON.', { minLength: 1, maxLength: 65_536 }).optional(),
      }).optional(),
    }).optional(),
    reconciliation: object('Check of the custom resources: whether the operator reconciles them.', {
      enabled: boolean(
        'Whether the custom resources are checked. Defaults to true if the operator has any.',
      ).optional(),
      staleAfter: isoDuration(
        'Time after which an observedGeneration that lags behind is stale. Defaults to PT5M.',
      ).optional(),
      maxErrorRate: decimal('Share of the custom resources that may report an error. Defaults to 0.05.', {
        minimum: 0,
        maximum: 1,
      }).optional(),
      errorConditions: set(
        'Condition types that indicate an error if they are False. Defaults to `Ready`.',
        text('A condition type.', { minLength: 1, maxLength: 316 }),
        { maxItems: 16 },
      ).optional(),
    }).optional(),
  },
);

const version = semanticVersion('A version, for example `1.14.0` or `v1.14.0`.');

const spec = object('Source of the operator, where it is installed, and its health checks.', {
  description: prose('Human-readable description of the operator.').optional(),
  namespace: shortName('Namespace that the operator is installed into on every cluster.').default('operators'),
  releaseName: text('Name of the Helm release. Defaults to the name of this object.', {
    minLength: 1,
    maxLength: 53,
    pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
  }).optional(),
  chart,
  versions: listByKey(
    'Versions that may be rolled out. Defaults to all versions in the repository.',
    ['version'],
    object('A version of the operator.', {
      version,
      chartVersion: semanticVersion('Version of the chart, if it differs.').optional(),
      digest: text('Expected digest of the packaged chart. A chart with a different digest is rejected.', {
        minLength: 71,
        maxLength: 71,
        pattern: '^sha256:[0-9a-f]{64}$',
      }).optional(),
      migrationGuide: prose(
        'Migration guide for users of the custom resources, shown with breaking changes.',
        8192,
      ).optional(),
    }),
    { maxItems: 256 },
  ).optional(),
  health: operatorHealth.optional(),
  coexist: boolean(
    'Whether two versions of the controllers can run side by side. If not, a blue-green deployment starts the new controllers only after the old ones are scaled to 0. Defaults to false.',
  ).optional(),
  historyLimit: integer('Number of finished OperatorDeployments that are kept.', { minimum: 0, maximum: 1000 }).default(
    20,
  ),
});

const status = object('Observed state of the operator.', {
  ...statusFields,
  versions: listByKey(
    'Known versions, the newest first.',
    ['version'],
    object('A version of the operator.', {
      version,
      chartVersion: text('Version of the chart.', { maxLength: 128 }),
      appVersion: text('appVersion of the chart.', { maxLength: 128 }).optional(),
      state: choice('Whether the version can be rolled out.', ['Available', 'Missing', 'Invalid', 'Listed']),
      message: prose('Explanation, if the version cannot be rolled out.').optional(),
      digest: text('Digest of the packaged chart.', { maxLength: 71 }).optional(),
      definitions: list(
        'CustomResourceDefinitions of the version.',
        object('A definition.', {
          name: objectName('Name of the definition.'),
          digest: text('Digest of the spec of the definition.', { maxLength: 71 }),
          versions: list('Served versions of the definition.', text('A version.', { maxLength: 63 }), {
            maxItems: 32,
          }).optional(),
        }),
        { maxItems: mostDefinitionsOfAnOperator },
      ).optional(),
      definitionsRef: text('Location of the definitions: their name in the store of the platform.', {
        maxLength: 253,
      }).optional(),
      compatibility: choice('Compatibility of the definitions with the previous version in this list.', [
        'safe',
        'risky',
        'breaking',
      ]).optional(),
      doesNotRender: prose(
        'Error of rendering the chart with its default values: a deployment must provide other values. Empty if the chart renders, or if Helm was not available.',
      ).optional(),
      checkedAt: instant('Time of the last check.').optional(),
    }),
    { maxItems: 256 },
  ).optional(),
  repositoryCheckedAt: instant('Time at which the repository was last reached.').optional(),
  installations: integer('Number of clusters that the operator is installed on.', {
    minimum: 0,
    maximum: 100_000,
  }).optional(),
  healthyInstallations: integer('Number of clusters on which the operator is healthy.', {
    minimum: 0,
    maximum: 100_000,
  }).optional(),
});

export const operator = defineKind({
  kind: 'Operator',
  plural: 'operators',
  singular: 'operator',
  shortName: 'kop',
  scope: 'Cluster',
  deployable: false,
  description:
    'An Operator is installed on many clusters from a Helm chart. It defines the source of the chart, the available versions and the health checks; an OperatorDeployment rolls out a version.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 63,
  columns: [
    {
      name: 'Namespace',
      type: 'string',
      jsonPath: '.spec.namespace',
      description: 'Namespace of the operator on each cluster.',
    },
    { name: 'Newest', type: 'string', jsonPath: '.status.versions[0].version', description: 'Newest version.' },
    {
      name: 'Clusters',
      type: 'integer',
      jsonPath: '.status.installations',
      description: 'Number of clusters that the operator is installed on.',
    },
    {
      name: 'Healthy',
      type: 'integer',
      jsonPath: '.status.healthyInstallations',
      description: 'Number of clusters on which the operator is healthy.',
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
