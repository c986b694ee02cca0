/** The status fields that all kinds share. */
import { boolean, choice, instant, integer, list, listByKey, map, object, text } from '../schema/index.ts';
import { objectName, prose, shortName } from './patterns.ts';
import { recordedOwner } from './references.ts';

const generation = (description: string) => integer(description, { minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/**
 * Only type and status are required: a broker may report a condition without a reason, and its report must not be lost
 * because of that. Missing fields have defaults, so that readers always find a complete condition.
 */
const conditions = listByKey(
  'Latest observations, one of each type. `Ready` summarizes them.',
  ['type'],
  object('A condition.', {
    type: text('Type of the condition, for example `Ready`, `Admitted`, `Deployed` or `StatusReported`.', {
      minLength: 1,
      maxLength: 316,
      pattern: '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$',
    }),
    status: choice('Status of the condition.', ['True', 'False', 'Unknown']),
    reason: text('Machine-readable reason in CamelCase, for example `ResourceReady`.', {
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    }).default('Unspecified'),
    message: text('Human-readable explanation, including what to do next.', { maxLength: 32768 }).default(''),
    lastTransitionTime: instant(
      'Time of the last transition of `status`. The beginning of 1970 means that no time was reported.',
    ).default('1970-01-01T00:00:00Z'),
    observedGeneration: generation('Generation of the object that the condition was observed for.').optional(),
  }),
  { maxItems: 32 },
);

/** The status fields of every kind. */
export const statusFields = {
  phase: choice(
    'Lifecycle phase: `pending` (not started), `deploying` (sent to a broker), `ready`, `failed` (requires a change) or `unknown` (no response in time).',
    ['pending', 'deploying', 'ready', 'failed', 'unknown'],
  ).optional(),
  conditions: conditions.optional(),
  observedGeneration: integer('Generation of the spec that this status describes; -1 before the first reconcile.', {
    minimum: -1,
    maximum: Number.MAX_SAFE_INTEGER,
  }).optional(),
};

/**
 * The initial status for kinds that have a reconciler. Without it, clients that wait for an object (Flux with `wait:
 * true`, `kubectl wait`) would take a new object for a ready one.
 */
export const unobserved = { observedGeneration: -1 };

const bindings = listByKey(
  'Resources that the dependency selectors matched and that are in use.',
  ['kind', 'namespace', 'name'],
  object('A resource in use.', {
    kind: choice('Kind of the resource.', ['Database', 'Cache', 'Topic', 'Service', 'Secret']),
    namespace: shortName('Namespace of the resource.'),
    name: objectName('Name of the resource.'),
    connectionSecret: objectName(
      'Kubernetes Secret, in the namespace of the dependent object, that holds the connection.',
    ).optional(),
    revision: text('Revision of the credentials. It changes with every rotation.', { maxLength: 128 }).optional(),
  }),
  { maxItems: 256 },
);

const amount = (description: string) => text(description, { maxLength: 32, pattern: '^-?[0-9]+(\\.[0-9]+)?$' });

const monthlyCost = {
  month: text('Month, for example `2026-01`.', { maxLength: 7, pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' }),
  currency: text('ISO 4217 currency code, for example `EUR`.', { maxLength: 3, pattern: '^[A-Z]{3}$' }),
  amount: amount('Amount as a decimal number. It is a string so that no precision is lost.'),
  asOf: instant('Time up to which the cost was counted. Earlier reports are ignored.').optional(),
};

export const monthlyCosts = listByKey(
  'Monthly costs as reported by brokers. The oldest months are dropped.',
  ['month', 'currency'],
  object('Cost of one month in one currency.', monthlyCost),
  { maxItems: 48 },
);

/** The costs of deployable kinds, whose resources one broker may take over from another. */
const reportedCosts = listByKey(
  'Monthly costs as reported by brokers. The oldest months are dropped.',
  ['month', 'currency'],
  object('Cost of one month in one currency.', {
    ...monthlyCost,
    reports: listByKey(
      'Reports of each Broker that managed the resource during the month. `amount` is their sum.',
      ['broker'],
      object('Report of one Broker.', {
        broker: objectName('Name of the Broker.'),
        amount: amount('Amount as a decimal number.'),
        asOf: instant('Time up to which the cost was counted. Earlier reports of this Broker are ignored.').optional(),
      }),
      { maxItems: 64 },
    ).optional(),
  }),
  { maxItems: 48 },
);

/** The status fields of kinds that have an owner and may have dependencies. */
export const ownedStatusFields = {
  ...statusFields,
  owner: recordedOwner.optional(),
  bindings: bindings.optional(),
  costs: monthlyCosts.optional(),
};

const outbox = listByKey(
  'Outbox: messages to the broker that are not yet acknowledged. Each message is written together with the state that it announces, and sent until it is acknowledged.',
  ['id'],
  object('A message to the broker.', {
    id: text('ID of the message. Sending it twice has a single effect.', { minLength: 1, maxLength: 128 }),
    action: choice('Requested action.', ['Deploy', 'Delete', 'Query']),
    deploymentId: text('Deployment that the message belongs to.', { maxLength: 128 }),
    createdAt: instant('Creation time of the message.'),
    attempts: integer('Number of send attempts.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
    lastAttemptAt: instant('Time of the last send attempt.').optional(),
    nextAttemptAt: instant('Time of the next send attempt.').optional(),
    channel: choice('Channel of the last send attempt.', ['Kafka', 'HTTP']).optional(),
    error: prose('Error of the last send attempt.').optional(),
  }),
  { maxItems: 16 },
);

const lastReport = object('Latest report of the broker. Older reports are ignored.', {
  broker: objectName('Broker that sent the report.'),
  deploymentId: text('Deployment that the report belongs to.', { maxLength: 128 }),
  sequence: integer('Sequence number of the report within its deployment.', {
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
  }).optional(),
  time: instant('Time of the report.'),
  phase: choice('Reported phase.', [
    'accepted',
    'deploying',
    'ready',
    'failed',
    'drifted',
    'deleted',
    'absent',
  ]).optional(),
  message: prose('Human-readable message of the report.').optional(),
  error: object('Error, if the deployment failed.', {
    class: choice(
      'Class of the error. `transient`: retried automatically. `permanent`: requires a change of the spec. `quota`: requires more capacity.',
      ['transient', 'permanent', 'quota'],
    ),
    code: text('Machine-readable error code of the broker.', { maxLength: 256 }),
    message: prose('Human-readable error message.').optional(),
  }).optional(),
});

const awaiting = object('Pending response of the broker.', {
  since: instant('Time at which the work was dispatched, or of the last report or query.'),
  queries: integer('Number of status queries sent to the broker.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  overdue: boolean('Whether the response is overdue.').optional(),
});

/** The status fields of kinds that a broker provisions. */
export const deployableStatusFields = {
  ...ownedStatusFields,
  costs: reportedCosts.optional(),
  deploymentId: text('Current deployment: UID, generation and attempt, joined by `/`.', {
    maxLength: 128,
  }).optional(),
  attempt: integer(
    'Number of deployments of this generation. It increases on drift correction, on a changed binding and on an explicit retry.',
    {
      minimum: 0,
      maximum: 2_147_483_647,
    },
  ).optional(),
  requested: choice('Action that the current deployment requests from the broker.', ['Deploy', 'Delete']).optional(),
  dispatchedGeneration: generation('Generation that was last dispatched to the broker.').optional(),
  deployedGeneration: generation('Generation that was last reported ready.').optional(),
  dispatchedBindings: text('Hash of the dispatched bindings. A change triggers a new deployment.', {
    maxLength: 64,
  }).optional(),
  retried: text('Last processed value of the annotation `platform.company.com/retry`.', {
    maxLength: 256,
  }).optional(),
  failures: integer('Number of consecutive failures or drifts.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  nextAttemptAt: instant('Time of the next automatic deployment attempt.').optional(),
  awaiting: awaiting.optional(),
  targetRef: object('DeploymentTarget and Broker that the deployment was dispatched to.', {
    name: objectName('Name of the DeploymentTarget.'),
    broker: objectName('Name of the Broker.').optional(),
    formerBrokers: list(
      'Brokers that previously managed the resource, the most recent last. The current Broker keeps and removes what they created.',
      objectName('Name of a Broker.'),
      { maxItems: 32 },
    ).optional(),
  }).optional(),
  connectionSecret: object('Kubernetes Secret that holds the address and the credentials.', {
    name: objectName('Name of the Kubernetes Secret, in the namespace of this object.'),
    revision: text('Revision of the credentials. It changes with every rotation.', { maxLength: 128 }).optional(),
  }).optional(),
  outputs: map(
    'Outputs of the broker about the created resource, for example its address. Never credentials.',
    text('Value of the output.', { maxLength: 2048 }),
    { maxProperties: 64 },
  ).optional(),
  lastReport: lastReport.optional(),
  outbox: outbox.optional(),
};
