/** OperatorDeployment: one rollout of one version of an Operator over clusters (requirement 002, FR-OP-003 and the strategies). */

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

/** What has become of one cluster within a rollout. */
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

/** Keeps an OperatorDeployment that is under way until it has come to an end. */
export const ROLLOUT_FINALIZER = `${GROUP}/rollout`;

/** On an OperatorDeployment: who asked for it. Admission writes it, from the user of the request, and it never changes. */
export const REQUESTED_BY_ANNOTATION = `${GROUP}/requested-by`;

/** On an OperatorDeployment: the W3C trace context of who asked for it, whose trace it is then part of. What cannot be read is ignored. */
export const TRACEPARENT_ANNOTATION = `${GROUP}/traceparent`;

const percentage = (description: string) => integer(description, { minimum: 1, maximum: 100 });

const canaryConfig = object('How a canary grows. Dev is reached before Staging, and Staging before Production.', {
  initialPercentage: percentage('The share of the clusters that come first, rounded up.').default(10),
  incrementPercentage: percentage('The share that comes second; the rest comes third.').default(20),
  stages: list(
    'The shares that are reached stage by stage, rising, in place of the two above. After the last comes the rest.',
    percentage('A share of all clusters.'),
    { minItems: 1, maxItems: 20 },
  ).optional(),
  evaluationPeriod: isoDuration('How long each stage is watched before the next.').default('PT5M'),
  successThreshold: decimal('The share of health checks in a stage that must have gone well.', {
    minimum: 0,
    maximum: 1,
  }).default(0.95),
}).rules({
  rule: '!has(self.stages) || self.stages.all(each, self.stages.filter(other, other == each).size() == 1)',
  message: 'each stage is larger than the one before',
  fieldPath: '.stages',
});

const blueGreenConfig = object('Which namespaces take turns, and when traffic is switched.', {
  blueNamespace: shortName('The one namespace.').default('operators-blue'),
  greenNamespace: shortName('The other namespace.').default('operators-green'),
  validationPeriod: isoDuration(
    'How long the new one is watched before the switch. One that starts only when the old one is at 0 (the Operator does not say `coexist`) cannot be watched before: it is watched after the switch, at least this long.',
  ).default('PT10M'),
  autoSwitch: boolean(
    'Switch when validation has passed, or without `coexist` as soon as the new one is installed. Otherwise wait for `kidp rollout promote`.',
  ).default(true),
  monitorPeriod: isoDuration('How long it is watched after the switch.').default('PT5M'),
  retentionPeriod: isoDuration('How long the old one is kept, at 0, for an instant way back.').default('PT24H'),
}).rules({
  rule: 'self.blueNamespace != self.greenNamespace',
  message: 'blueNamespace and greenNamespace must differ',
  fieldPath: '.greenNamespace',
});

const rollingConfig = object('One cluster after the other.', {
  clusterOrder: list(
    'The order. Clusters that are not named come after, Dev before Staging before Production. Left out, all come so.',
    objectName('A cluster.'),
    { maxItems: 1000 },
  ).optional(),
  validationPeriod: isoDuration('How long each cluster is watched.').default('PT5M'),
  pauseBetweenClusters: isoDuration('How long to wait before the next.').default('PT2M'),
});

const directConfig = object('All clusters at once. Not for production.', {
  parallelClusters: integer('How many at a time.', { minimum: 1, maximum: 100 }).default(10),
  skipHealthChecks: boolean('Count a cluster as done when Helm is.').default(false),
});

const frozen =
  'it is fixed once it is created: what is rolled out does not change under way. Create another OperatorDeployment';

const spec = object('What is rolled out, where, and how.', {
  operator: objectName('The Operator.'),
  version: semanticVersion('The version, as the Operator lists it.'),
  clusters: set('The clusters, by name.', objectName('A Cluster.'), { minItems: 1, maxItems: 1000 }).optional(),
  clusterSelector: labelSelector(
    'The clusters, by their labels, in place of names. Which they are is decided when the rollout starts.',
  ).optional(),
  environments: set('Only clusters of these environments.', choice('An environment.', environments), {
    minItems: 1,
    maxItems: 3,
  }).optional(),
  values: anyObject('Values for the chart, on every cluster. Not for secrets: see `valuesSecret`.').optional(),
  environmentValues: object('Values for the chart that differ between environments. They go over `values`.', {
    Dev: anyObject('On clusters of Dev.').optional(),
    Staging: anyObject('On clusters of Staging.').optional(),
    Production: anyObject('On clusters of Production.').optional(),
  }).optional(),
  valuesSecret: objectName(
    'A Kubernetes Secret in the namespace of the platform, with the label `platform.company.com/values-for` that names the operator, and with `values.yaml` and, where environments differ, `Dev.yaml`, `Staging.yaml` and `Production.yaml`. They go over all others.',
  ).optional(),
  strategy: choice('How it is rolled out.', strategies),
  canaryConfig: canaryConfig.optional(),
  blueGreenConfig: blueGreenConfig.optional(),
  rollingConfig: rollingConfig.optional(),
  directConfig: directConfig.optional(),
  health: object('When a cluster counts as failed.', {
    interval: isoDuration('How often it is looked at.').default('PT30S'),
    failureThreshold: integer('This many failures in a row end the rollout.', { minimum: 1, maximum: 100 }).default(3),
    minimumSoak: isoDuration(
      'How long a cluster must have been well before it counts as done, whatever the strategy says.',
    ).default('PT0S'),
  }).default({}),
  maxFailures: integer(
    'This many clusters may fail before everything is rolled back; the failed ones are rolled back alone.',
    {
      minimum: 0,
      maximum: 1000,
    },
  ).default(0),
  progressDeadline: isoDuration('Without any progress for this long the rollout fails and is rolled back.').default(
    'PT30M',
  ),
  helmTimeout: isoDuration('How long Helm may take on one cluster.').default('PT5M'),
  rollbackOnFailure: boolean('Roll back by itself when it fails.').default(true),
  allowBreaking: boolean(
    'Roll it out also where its custom resource definitions break what is there and the settings of the platform ask nobody. Where they do ask, the Approval decides.',
  ).optional(),
  reason: prose('Why, for those who approve and for the history.', 4096).optional(),
  paused: boolean('Begin nothing new. What has begun on a cluster is finished.').optional(),
  promote: integer(
    'Go on with this stage, counted from 1, without waiting for the rest of its evaluation; in a blue-green deployment 1 is the switch. Unhealthy clusters still hold it.',
    { minimum: 1, maximum: 1000 },
  ).optional(),
  abort: boolean('Stop where it is, leaving every cluster as it is. It cannot be taken back.').optional(),
  rollback: boolean('Take every cluster that was touched back to what was there. It cannot be taken back.').optional(),
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
    // Those who have agreed have agreed to these as well.
    'health',
    'maxFailures',
    'progressDeadline',
    'helmTimeout',
    'rollbackOnFailure',
    'allowBreaking',
    'reason',
  ].map((field) => immutable(field, `spec.${field}: ${frozen}`)),
  {
    rule: 'has(self.clusters) != has(self.clusterSelector)',
    message: 'say which clusters: either clusters or clusterSelector',
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
    message: `${field} is for the strategy ${strategy} only`,
    fieldPath: `.${field}`,
  })),
  {
    rule: '!(has(oldSelf.abort) && oldSelf.abort) || (has(self.abort) && self.abort)',
    message: 'an abort cannot be taken back: create another OperatorDeployment',
    fieldPath: '.abort',
    reason: 'FieldValueForbidden',
  },
  {
    rule: '!(has(oldSelf.rollback) && oldSelf.rollback) || (has(self.rollback) && self.rollback)',
    message: 'a rollback cannot be taken back: create another OperatorDeployment',
    fieldPath: '.rollback',
    reason: 'FieldValueForbidden',
  },
);

const digest = (description: string) => text(description, { maxLength: 71 });

const clusterStatus = object('How far one cluster is.', {
  name: objectName('The Cluster.'),
  uid: text('Its uid when the rollout started: one made anew under the same name is another.', {
    maxLength: 128,
  }).optional(),
  environment: choice('Its environment when the rollout started.', environments),
  stage: integer('The stage that it belongs to, counted from 1.', { minimum: 1, maximum: 1000 }),
  state: choice('What has become of it.', clusterStates),
  fromVersion: text('What was there before; none where it was not installed.', { maxLength: 128 }).optional(),
  snapshot: text('What is rolled out to it: a name for the store of snapshots.', { maxLength: 253 }).optional(),
  snapshotBefore: text('What was there before: a name for the store of snapshots.', { maxLength: 253 }).optional(),
  attempt: text('The identity of the step that is under way, so that it is not taken twice.', {
    maxLength: 128,
  }).optional(),
  revision: integer('The revision of the Helm release.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  namespace: shortName('The namespace that it was installed into.').optional(),
  color: choice('In a blue-green deployment: which namespace is the new one.', ['Blue', 'Green']).optional(),
  colorBefore: choice('Which namespace of a blue-green deployment it was in before.', ['Blue', 'Green']).optional(),
  deploymentBefore: text('The OperatorDeployment that had put there what was there before.', {
    maxLength: 253,
  }).optional(),
  switched: boolean('In a blue-green deployment: whether traffic goes to the new one.').optional(),
  startedAt: instant('When it was begun.').optional(),
  preparedAt: instant('When what was there before was known. Nothing is changed before that.').optional(),
  deployedAt: instant('When Helm was done.').optional(),
  switchedAt: instant('In a blue-green deployment: when traffic was switched.').optional(),
  restoredAt: instant('When what was there before was there again.').optional(),
  retryAt: instant('When a step that failed is taken again.').optional(),
  healthySince: instant('Since when it is well at the new revision, without a break.').optional(),
  finishedAt: instant('When it came to its end.').optional(),
  checks: integer('How often it was looked at since it was deployed.', {
    minimum: 0,
    maximum: 2_147_483_647,
  }).optional(),
  checksPassed: integer('How often it was well.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  failuresInRow: integer('How often in a row it was not.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  refusals: integer('How often the way back was refused, where asking again does not help by itself.', {
    minimum: 0,
    maximum: 2_147_483_647,
  }).optional(),
  lastCheckedAt: instant('When it was last looked at.').optional(),
  message: prose('In a sentence.', 2048).optional(),
});

const status = object('How far it is.', {
  ...statusFields,
  phase: choice(
    'Planning → Deploying → Validating → Completed, or RollingBack and then Failed.',
    rolloutPhases,
  ).optional(),
  plan: object('What was decided when the rollout started. It does not change under way.', {
    digest: digest('The digest of all of it. Approvals are for exactly this digest.'),
    operatorUid: text('The uid of the Operator.', { maxLength: 128 }),
    chartDigest: digest('The digest of the packaged chart.'),
    strategy: choice('The strategy.', strategies),
    config: anyObject('Its configuration, with everything that was left out filled in.'),
    stages: list(
      'The stages, in their order.',
      object('One stage.', {
        name: text('What it is called.', { maxLength: 128 }),
        clusters: list('Its clusters.', objectName('A Cluster.'), { maxItems: 1000 }),
      }),
      { maxItems: 1000 },
    ),
    definitions: list(
      'What becomes of the custom resource definitions.',
      object('One definition.', {
        name: objectName('Its name.'),
        verdict: choice('What the change means.', ['created', 'unchanged', 'safe', 'risky', 'breaking']),
        digest: digest('The digest of exactly this change.').optional(),
        summary: prose('What changes.', 4096).optional(),
        environments: list('Where the change is breaking.', choice('An environment.', environments), {
          maxItems: 3,
        }).optional(),
        breaks: list(
          'What of it breaks, each different one once: on a cluster it may break nothing else.',
          object('One way to break.', {
            environment: choice('Where.', environments),
            digest: digest('The digest of all that breaks.'),
          }),
          { maxItems: 64 },
        ).optional(),
      }),
      { maxItems: 50 },
    ).optional(),
    health: operatorHealth.optional(),
    namespace: shortName(
      'Where the Operator said that it is installed: there somebody may have installed it by hand.',
    ).optional(),
    createdAt: instant('When it was decided.'),
  }).optional(),
  approvals: list(
    'The Approvals that it waits for or has.',
    object('One Approval.', {
      name: objectName('Its name.'),
      type: choice('What it is for.', ['ProductionDeployment', 'VersionUpgrade', 'BreakingCRDChange']),
      outcome: choice('What it came to.', ['Pending', 'Approved', 'Rejected']),
    }),
    { maxItems: 16 },
  ).optional(),
  stage: integer('The stage that is under way, counted from 1.', { minimum: 0, maximum: 1000 }).optional(),
  stageStartedAt: instant('When it was begun.').optional(),
  stageDeployedAt: instant('When the last of its clusters was deployed.').optional(),
  stageFinishedAt: instant('When the stage before was done.').optional(),
  startedAt: instant('When the rollout left Planning.').optional(),
  finishedAt: instant('When it came to its end.').optional(),
  progressedAt: instant('When anything last went forward.').optional(),
  heldSince: instant(
    'Since when it is held, because it is paused or somebody has to say so. It takes no place of others meanwhile, and needs one to go on.',
  ).optional(),
  rollback: object('Why and how far it is rolled back.', {
    reason: choice('What set it off.', [
      'Unhealthy',
      'DeployFailed',
      'ProgressDeadline',
      'Requested',
      'RevalidationFailed',
      'Deleted',
    ]),
    message: prose('In a sentence.', 2048).optional(),
    startedAt: instant('When it was begun.'),
    finishedAt: instant('When it was done.').optional(),
  }).optional(),
  counts: object('How many clusters there are, and how many are where.', {
    total: integer('All.', { minimum: 0, maximum: 1000 }),
    healthy: integer('Done.', { minimum: 0, maximum: 1000 }),
    failed: integer('Failed.', { minimum: 0, maximum: 1000 }),
    skipped: integer('Left out.', { minimum: 0, maximum: 1000 }),
    rolledBack: integer('Taken back.', { minimum: 0, maximum: 1000 }),
  }).optional(),
  // Not by key: for each field of each cluster Kubernetes would keep who has written it, which is as much again.
  clusters: list('Every cluster of the rollout.', clusterStatus, { maxItems: 1000 }).optional(),
  traceparent: text('The trace that everything of it belongs to.', { maxLength: 128 }).optional(),
  history: list(
    'What happened, the newest last. The oldest are dropped.',
    object('One thing that happened.', {
      at: instant('When.'),
      what: text('In one CamelCase word.', { maxLength: 64 }),
      cluster: text('On which cluster.', { maxLength: 253 }).optional(),
      message: prose('In a sentence.', 1024).optional(),
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
    'An OperatorDeployment rolls one version of an Operator out over clusters, stage by stage, watches whether it is well there, and takes it back where it is not.',
  spec,
  status,
  statusBefore: { observedGeneration: -1, phase: 'Planning' },
  maxNameLength: 63,
  columns: [
    { name: 'Operator', type: 'string', jsonPath: '.spec.operator', description: 'What is rolled out.' },
    { name: 'Version', type: 'string', jsonPath: '.spec.version', description: 'Which version.' },
    { name: 'Strategy', type: 'string', jsonPath: '.spec.strategy', description: 'How.' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'How far it is.' },
    { name: 'Stage', type: 'integer', jsonPath: '.status.stage', description: 'The stage that is under way.' },
    { name: 'Healthy', type: 'integer', jsonPath: '.status.counts.healthy', description: 'Clusters that are done.' },
    { name: 'Clusters', type: 'integer', jsonPath: '.status.counts.total', description: 'Clusters in all.' },
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
