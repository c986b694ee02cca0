/**
 * The OperatorDeployment kind: the rollout of one version of an Operator to clusters (docs/requirements.md, 002
 * FR-OP-003 and the strategies).
 */

import { environments } from './cluster.ts';
import {
  ageColumn,
  isoDuration,
  labelSelector,
  objectName,
  prose,
  readyColumn,
  reasonColumn,
  semanticVersion,
  shortName,
  statusFields,
} from './common/index.ts';
import { GROUP } from './constants.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { operatorHealth } from './operator.ts';
import {
  anyObject,
  boolean,
  choice,
  decimal,
  immutable,
  instant,
  integer,
  list,
  object,
  set,
  text,
} from './schema/index.ts';

const strategies = ['Canary', 'BlueGreen', 'Rolling', 'Direct'] as const;
export type Strategy = (typeof strategies)[number];

export const rolloutPhases = ['Planning', 'Deploying', 'Validating', 'Completed', 'RollingBack', 'Failed'] as const;
export type RolloutPhase = (typeof rolloutPhases)[number];

/** The states of one cluster within a rollout. */
export const clusterStates = [
  'Pending',
  'Deploying',
  'Validating',
  'Healthy',
  'Unhealthy',
  'Skipped',
  'RollingBack',
  'RolledBack',
  'Failed',
] as const;
export type ClusterState = (typeof clusterStates)[number];

/** The finalizer that keeps an OperatorDeployment until the rollout has ended. */
export const ROLLOUT_FINALIZER = `${GROUP}/rollout`;

/**
 * The annotation with the user who requested the rollout. Admission sets it from the user of the request; it never
 * changes.
 */
export const REQUESTED_BY_ANNOTATION = `${GROUP}/requested-by`;

/**
 * The annotation with the W3C trace context of the requester. The trace of the rollout becomes part of it. Invalid
 * values are ignored.
 */
export const TRACEPARENT_ANNOTATION = `${GROUP}/traceparent`;

const percentage = (description: string) => integer(description, { minimum: 1, maximum: 100 });

const canaryConfig = object('Canary settings. Dev is reached before Staging, and Staging before Production.', {
  initialPercentage: percentage('Percentage of the clusters in the first stage, rounded up.').default(10),
  incrementPercentage: percentage(
    'Percentage of the clusters in the second stage. The third stage has the rest.',
  ).default(20),
  stages: list(
    'Cumulative percentage of clusters after each stage, strictly increasing. Replaces `initialPercentage` and `incrementPercentage`. The remaining clusters follow after the last stage.',
    percentage('A percentage of all clusters.'),
    { minItems: 1, maxItems: 20 },
  ).optional(),
  evaluationPeriod: isoDuration('Time that each stage is observed before the next one starts.').default('PT5M'),
  successThreshold: decimal('Share of health checks in a stage that must pass.', {
    minimum: 0,
    maximum: 1,
  }).default(0.95),
}).rules({
  // A sorted list without duplicates is strictly increasing. CEL has no access to the index of an element in Kubernetes 1.28.
  rule: '!has(self.stages) || (self.stages.isSorted() && self.stages.all(each, self.stages.exists_one(other, other == each)))',
  message: 'stages must be strictly increasing: each percentage must be greater than the one before it',
  fieldPath: '.stages',
});

const blueGreenConfig = object('Blue-green settings: the two namespaces and when traffic is switched.', {
  blueNamespace: shortName('Blue namespace.').default('operators-blue'),
  greenNamespace: shortName('Green namespace.').default('operators-green'),
  validationPeriod: isoDuration(
    'Time that the new version is observed before the switch. If the Operator does not set `coexist`, the new version starts only after the old one is scaled to 0, so it is observed after the switch, for at least this time.',
  ).default('PT10M'),
  autoSwitch: boolean(
    'Whether to switch automatically when validation has passed, or without `coexist` as soon as the new version is installed. If false, the rollout waits for `kidp rollout promote`.',
  ).default(true),
  monitorPeriod: isoDuration('Time that the new version is observed after the switch.').default('PT5M'),
  retentionPeriod: isoDuration('Time that the old version is kept, scaled to 0, for an instant rollback.').default(
    'PT24H',
  ),
}).rules({
  rule: 'self.blueNamespace != self.greenNamespace',
  message: 'blueNamespace and greenNamespace must differ',
  fieldPath: '.greenNamespace',
});

const rollingConfig = object('Rolling settings: one cluster after another.', {
  clusterOrder: list(
    'Order of the clusters. Clusters that are not listed follow, Dev before Staging before Production. If omitted, all clusters are ordered that way.',
    objectName('A cluster.'),
    { maxItems: 1000 },
  ).optional(),
  validationPeriod: isoDuration('Time that each cluster is observed.').default('PT5M'),
  pauseBetweenClusters: isoDuration('Pause before the next cluster.').default('PT2M'),
});

const directConfig = object('Direct settings: all clusters at once. Not recommended for production.', {
  parallelClusters: integer('Number of clusters deployed in parallel.', { minimum: 1, maximum: 100 }).default(10),
  skipHealthChecks: boolean('Whether a cluster counts as completed as soon as Helm has finished.').default(false),
});

const frozen =
  'cannot be changed after creation, because a rollout must not change while it is in progress. Create another OperatorDeployment';

const spec = object('The version to roll out, the clusters and the strategy.', {
  operator: objectName('Name of the Operator.'),
  version: semanticVersion('Version of the Operator, as listed by it.'),
  clusters: set('Clusters, by name.', objectName('A Cluster.'), { minItems: 1, maxItems: 1000 }).optional(),
  clusterSelector: labelSelector(
    'Clusters, by labels. Mutually exclusive with `clusters`. The selection is made when the rollout starts.',
  ).optional(),
  environments: set(
    'Restricts the rollout to clusters of these environments.',
    choice('An environment.', environments),
    {
      minItems: 1,
      maxItems: 3,
    },
  ).optional(),
  values: anyObject('Helm values for every cluster. Not for secrets: see `valuesSecret`.').optional(),
  environmentValues: object('Helm values per environment. They take precedence over `values`.', {
    Dev: anyObject('Values for Dev clusters.').optional(),
    Staging: anyObject('Values for Staging clusters.').optional(),
    Production: anyObject('Values for Production clusters.').optional(),
  }).optional(),
  valuesSecret: objectName(
    'Kubernetes Secret in the namespace of the platform, labelled `platform.company.com/values-for` with the name of the operator. It contains `values.yaml` and, for values per environment, `Dev.yaml`, `Staging.yaml` and `Production.yaml`. These values take precedence over all others.',
  ).optional(),
  strategy: choice('Rollout strategy.', strategies),
  canaryConfig: canaryConfig.optional(),
  blueGreenConfig: blueGreenConfig.optional(),
  rollingConfig: rollingConfig.optional(),
  directConfig: directConfig.optional(),
  health: object('Health checks during the rollout.', {
    interval: isoDuration('Interval of the health checks.').default('PT30S'),
    failureThreshold: integer('Number of consecutive failures that fail the rollout.', {
      minimum: 1,
      maximum: 100,
    }).default(3),
    minimumSoak: isoDuration(
      'Minimum time that a cluster must be healthy before it counts as completed, whatever the strategy.',
    ).default('PT0S'),
  }).default({}),
  maxFailures: integer(
    'Number of clusters that may fail before the whole rollout is rolled back. Until then only the failed clusters are rolled back.',
    {
      minimum: 0,
      maximum: 1000,
    },
  ).default(0),
  progressDeadline: isoDuration('Time without progress after which the rollout fails and is rolled back.').default(
    'PT30M',
  ),
  helmTimeout: isoDuration('Timeout of Helm on one cluster.').default('PT5M'),
  rollbackOnFailure: boolean('Whether to roll back automatically on failure.').default(true),
  allowBreaking: boolean(
    'Whether to roll out breaking changes of CustomResourceDefinitions in environments where the platform does not require an Approval. Where it does, the Approval decides.',
  ).optional(),
  reason: prose('Reason for the rollout, for approvers and for the history.', 4096).optional(),
  paused: boolean('Pauses the rollout. Steps that have started on a cluster are finished.').optional(),
  promote: integer(
    'Proceeds with this stage, counted from 1, without waiting for the rest of its evaluation; in a blue-green deployment 1 is the switch. Unhealthy clusters still block it.',
    { minimum: 1, maximum: 1000 },
  ).optional(),
  abort: boolean('Aborts the rollout and leaves every cluster in its current state. Irreversible.').optional(),
  rollback: boolean('Rolls back every cluster that was changed to its previous version. Irreversible.').optional(),
}).rules(
  ...[
    'operator',
    'version',
    'clusters',
    'clusterSelector',
    'environments',
    'values',
    'environmentValues',
    'valuesSecret',
    'strategy',
    'canaryConfig',
    'blueGreenConfig',
    'rollingConfig',
    'directConfig',
    // Approvers have approved these fields as well.
    'health',
    'maxFailures',
    'progressDeadline',
    'helmTimeout',
    'rollbackOnFailure',
    'allowBreaking',
    'reason',
  ].map((field) => immutable(field, `spec.${field} ${frozen}`)),
  {
    rule: 'has(self.clusters) != has(self.clusterSelector)',
    message: 'exactly one of clusters and clusterSelector must be set',
    fieldPath: '.clusters',
    reason: 'FieldValueRequired',
  },
  ...(
    [
      ['canaryConfig', 'Canary'],
      ['blueGreenConfig', 'BlueGreen'],
      ['rollingConfig', 'Rolling'],
      ['directConfig', 'Direct'],
    ] as const
  ).map(([field, strategy]) => ({
    rule: `!has(self.${field}) || self.strategy == '${strategy}'`,
    message: `${field} requires the strategy ${strategy}`,
    fieldPath: `.${field}`,
  })),
  {
    rule: '!(has(oldSelf.abort) && oldSelf.abort) || (has(self.abort) && self.abort)',
    message: 'an abort cannot be undone: create another OperatorDeployment',
    fieldPath: '.abort',
    reason: 'FieldValueForbidden',
  },
  {
    rule: '!(has(oldSelf.rollback) && oldSelf.rollback) || (has(self.rollback) && self.rollback)',
    message: 'a rollback cannot be undone: create another OperatorDeployment',
    fieldPath: '.rollback',
    reason: 'FieldValueForbidden',
  },
);

const digest = (description: string) => text(description, { maxLength: 71 });

const clusterStatus = object('Progress of one cluster.', {
  name: objectName('Name of the Cluster.'),
  uid: text(
    'UID of the Cluster when the rollout started. A Cluster that is re-created under the same name has a different UID.',
    {
      maxLength: 128,
    },
  ).optional(),
  environment: choice('Environment of the Cluster when the rollout started.', environments),
  stage: integer('Stage of the cluster, counted from 1.', { minimum: 1, maximum: 1000 }),
  state: choice('State of the cluster.', clusterStates),
  fromVersion: text('Previous version; empty if the operator was not installed.', { maxLength: 128 }).optional(),
  snapshot: text('Snapshot of the new manifests: its name in the snapshot store.', { maxLength: 253 }).optional(),
  snapshotBefore: text('Snapshot of the previous manifests: its name in the snapshot store.', {
    maxLength: 253,
  }).optional(),
  attempt: text('ID of the current step, so that it is not executed twice.', {
    maxLength: 128,
  }).optional(),
  revision: integer('Revision of the Helm release.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  namespace: shortName('Namespace of the release.').optional(),
  color: choice('Color of the new namespace in a blue-green deployment.', ['Blue', 'Green']).optional(),
  colorBefore: choice('Color of the previous namespace in a blue-green deployment.', ['Blue', 'Green']).optional(),
  deploymentBefore: text('OperatorDeployment that installed the previous version.', {
    maxLength: 253,
  }).optional(),
  switched: boolean('Whether traffic is switched to the new version in a blue-green deployment.').optional(),
  startedAt: instant('Time at which the cluster was started.').optional(),
  preparedAt: instant('Time at which the previous version was recorded. Nothing is changed before that.').optional(),
  deployedAt: instant('Time at which Helm finished.').optional(),
  switchedAt: instant('Time at which traffic was switched in a blue-green deployment.').optional(),
  restoredAt: instant('Time at which the previous version was restored.').optional(),
  retryAt: instant('Time of the next retry of a failed step.').optional(),
  healthySince: instant('Time since which the new revision has been continuously healthy.').optional(),
  finishedAt: instant('Time at which the cluster was finished.').optional(),
  checks: integer('Number of health checks since the deployment.', {
    minimum: 0,
    maximum: 2_147_483_647,
  }).optional(),
  checksPassed: integer('Number of passed health checks.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  failuresInRow: integer('Number of consecutive failed health checks.', {
    minimum: 0,
    maximum: 2_147_483_647,
  }).optional(),
  refusals: integer('Number of times the rollback was refused with an error that a retry does not resolve.', {
    minimum: 0,
    maximum: 2_147_483_647,
  }).optional(),
  lastCheckedAt: instant('Time of the last health check.').optional(),
  message: prose('Human-readable summary of the state.', 2048).optional(),
});

const status = object('Observed state of the rollout.', {
  ...statusFields,
  phase: choice(
    'Phase of the rollout: Planning → Deploying → Validating → Completed, or RollingBack and then Failed.',
    rolloutPhases,
  ).optional(),
  plan: object('Rollout plan. It is fixed when the rollout starts.', {
    digest: digest('Digest of the plan. Approvals apply to exactly this digest.'),
    operatorUid: text('UID of the Operator.', { maxLength: 128 }),
    chartDigest: digest('Digest of the packaged chart.'),
    strategy: choice('Strategy.', strategies),
    config: anyObject('Configuration of the strategy, with defaults applied.'),
    stages: list(
      'Stages, in order.',
      object('A stage.', {
        name: text('Name of the stage.', { maxLength: 128 }),
        clusters: list('Clusters of the stage.', objectName('A Cluster.'), { maxItems: 1000 }),
      }),
      { maxItems: 1000 },
    ),
    definitions: list(
      'Changes of the CustomResourceDefinitions.',
      object('The change of one definition.', {
        name: objectName('Name of the definition.'),
        verdict: choice('Compatibility verdict of the change.', ['created', 'unchanged', 'safe', 'risky', 'breaking']),
        digest: digest('Digest of the change.').optional(),
        summary: prose('Summary of the change.', 4096).optional(),
        environments: list('Environments in which the change is breaking.', choice('An environment.', environments), {
          maxItems: 3,
        }).optional(),
        breaks: list(
          'Distinct sets of breaking changes. On a cluster, nothing beyond them may break.',
          object('A set of breaking changes.', {
            environment: choice('Environment.', environments),
            digest: digest('Digest of the breaking changes.'),
          }),
          { maxItems: 64 },
        ).optional(),
      }),
      { maxItems: 50 },
    ).optional(),
    health: operatorHealth.optional(),
    namespace: shortName(
      'Namespace of the Operator when the plan was made. The operator may have been installed there manually.',
    ).optional(),
    createdAt: instant('Creation time of the plan.'),
  }).optional(),
  approvals: list(
    'Approvals that the rollout requires.',
    object('An Approval.', {
      name: objectName('Name of the Approval.'),
      type: choice('Type of the Approval.', ['ProductionDeployment', 'VersionUpgrade', 'BreakingCRDChange']),
      outcome: choice('Outcome of the Approval.', ['Pending', 'Approved', 'Rejected']),
    }),
    { maxItems: 16 },
  ).optional(),
  stage: integer('Current stage, counted from 1.', { minimum: 0, maximum: 1000 }).optional(),
  stageStartedAt: instant('Start time of the current stage.').optional(),
  stageDeployedAt: instant('Time at which the last cluster of the stage was deployed.').optional(),
  stageFinishedAt: instant('Time at which the previous stage was finished.').optional(),
  startedAt: instant('Time at which the rollout left Planning.').optional(),
  finishedAt: instant('Time at which the rollout ended.').optional(),
  progressedAt: instant('Time of the last progress.').optional(),
  heldSince: instant(
    'Time since which the rollout is on hold, because it is paused or waits for a promotion. A rollout on hold does not occupy a slot, and needs one to continue.',
  ).optional(),
  rollback: object('Rollback of the rollout.', {
    reason: choice('Reason for the rollback.', [
      'Unhealthy',
      'DeployFailed',
      'ProgressDeadline',
      'Requested',
      'RevalidationFailed',
      'Deleted',
    ]),
    message: prose('Human-readable explanation.', 2048).optional(),
    startedAt: instant('Start time of the rollback.'),
    finishedAt: instant('End time of the rollback.').optional(),
  }).optional(),
  counts: object('Number of clusters by state.', {
    total: integer('Total number of clusters.', { minimum: 0, maximum: 1000 }),
    healthy: integer('Clusters that are completed and healthy.', { minimum: 0, maximum: 1000 }),
    failed: integer('Clusters that failed.', { minimum: 0, maximum: 1000 }),
    skipped: integer('Clusters that were skipped.', { minimum: 0, maximum: 1000 }),
    rolledBack: integer('Clusters that were rolled back.', { minimum: 0, maximum: 1000 }),
  }).optional(),
  // The list is atomic: with a key, Kubernetes would track the manager of each field of each cluster, which doubles the
  // size of the object.
  clusters: list('Clusters of the rollout.', clusterStatus, { maxItems: 1000 }).optional(),
  traceparent: text('W3C trace context of the rollout.', { maxLength: 128 }).optional(),
  history: list(
    'History, the newest entry last. The oldest entries are dropped.',
    object('A history entry.', {
      at: instant('Time of the entry.'),
      what: text('Event in CamelCase.', { maxLength: 64 }),
      cluster: text('Cluster of the event.', { maxLength: 253 }).optional(),
      message: prose('Human-readable message.', 1024).optional(),
    }),
    { maxItems: 200 },
  ).optional(),
});

export const operatorDeployment = defineKind({
  kind: 'OperatorDeployment',
  plural: 'operatordeployments',
  singular: 'operatordeployment',
  shortName: 'kod',
  scope: 'Cluster',
  deployable: false,
  description:
    'An OperatorDeployment rolls out one version of an Operator to clusters, stage by stage, checks its health there, and rolls it back if it is unhealthy.',
  spec,
  status,
  statusBefore: { observedGeneration: -1, phase: 'Planning' },
  maxNameLength: 63,
  columns: [
    { name: 'Operator', type: 'string', jsonPath: '.spec.operator', description: 'Operator that is rolled out.' },
    { name: 'Version', type: 'string', jsonPath: '.spec.version', description: 'Version that is rolled out.' },
    { name: 'Strategy', type: 'string', jsonPath: '.spec.strategy', description: 'Rollout strategy.' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Phase of the rollout.' },
    { name: 'Stage', type: 'integer', jsonPath: '.status.stage', description: 'Current stage.' },
    {
      name: 'Healthy',
      type: 'integer',
      jsonPath: '.status.counts.healthy',
      description: 'Clusters that are completed and healthy.',
    },
    { name: 'Clusters', type: 'integer', jsonPath: '.status.counts.total', description: 'Total number of clusters.' },
    { ...readyColumn, priority: 1 },
    ageColumn,
    reasonColumn,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: OperatorDeployment
metadata:
  name: cert-manager-1.14.0
spec:
  operator: cert-manager
  version: v1.14.0
  clusterSelector:
    matchLabels:
      region: us-east
  strategy: Canary
  canaryConfig:
    initialPercentage: 10
    incrementPercentage: 20
    evaluationPeriod: PT5M
    successThreshold: 0.95
`,
});

export type OperatorDeployment = ObjectOf<typeof operatorDeployment>;
export type RolloutClusterStatus = NonNullable<NonNullable<OperatorDeployment['status']>['clusters']>[number];
