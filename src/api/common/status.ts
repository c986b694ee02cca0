/** What every kind reports about itself. */
import { boolean, choice, instant, integer, list, listByKey, map, object, text } from '../schema/index.ts';
import { objectName, prose, shortName } from './patterns.ts';
import { recordedOwner } from './references.ts';

const generation = (description: string) => integer(description, { minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/**
 * Only type and status are demanded: a broker may report a condition without a reason, and what is reported must never be
 * lost over a missing word. What is missing is filled in, so that whoever reads a condition finds it whole.
 */
const conditions = listByKey(
  'The latest observations, one of each type. `Ready` sums them up.',
  ['type'],
  object('One observation.', {
    type: text('What was observed, for example `Ready`, `Admitted`, `Deployed` or `StatusReported`.', {
      minLength: 1,
      maxLength: 316,
      pattern: '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$',
    }),
    status: choice('Whether it holds.', ['True', 'False', 'Unknown']),
    reason: text('Why, in one CamelCase word for programs, for example `ResourceReady`.', {
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    }).default('Unspecified'),
    message: text('Why, in a sentence for people, with what to do next.', { maxLength: 32768 }).default(''),
    lastTransitionTime: instant('When `status` last changed. The beginning of 1970 stands for: nobody said.').default(
      '1970-01-01T00:00:00Z',
    ),
    observedGeneration: generation('The generation of the object that was observed.').optional(),
  }),
  { maxItems: 32 },
);

/** The fields that no kind goes without. */
export const statusFields = {
  phase: choice(
    'Where it is in its life: `pending` (not begun), `deploying` (handed to a broker), `ready`, `failed` (will not heal without a change) or `unknown` (no answer in time).',
    ['pending', 'deploying', 'ready', 'failed', 'unknown'],
  ).optional(),
  conditions: conditions.optional(),
  observedGeneration: integer('The generation of the spec that this status speaks of; -1 before anybody has looked.', {
    minimum: -1,
    maximum: Number.MAX_SAFE_INTEGER,
  }).optional(),
};

/**
 * The status of what nobody has looked at yet, for kinds that have a reconciler: who waits for an object (Flux with `wait: true`,
 * `kubectl wait`) takes one without a status for one that is done.
 */
export const unobserved = { observedGeneration: -1 };

const bindings = listByKey(
  'What the dependency selectors found and what is in use now.',
  ['kind', 'namespace', 'name'],
  object('One resource in use.', {
    kind: choice('The kind of the resource.', ['Database', 'Cache', 'Topic', 'Service', 'Secret']),
    namespace: shortName('The namespace of the resource.'),
    name: objectName('The name of the resource.'),
    connectionSecret: objectName(
      'The Kubernetes Secret, in the namespace of the user, that holds the connection.',
    ).optional(),
    revision: text('Changes whenever the credentials do.', { maxLength: 128 }).optional(),
  }),
  { maxItems: 256 },
);

const amount = (description: string) => text(description, { maxLength: 32, pattern: '^-?[0-9]+(\\.[0-9]+)?$' });

const monthlyCost = {
  month: text('The month, for example `2026-01`.', { maxLength: 7, pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' }),
  currency: text('The currency as in ISO 4217, for example `EUR`.', { maxLength: 3, pattern: '^[A-Z]{3}$' }),
  amount: amount('The amount as a decimal number, kept as text so that nothing is lost to rounding.'),
  asOf: instant('Up to when it was counted. An earlier report changes nothing.').optional(),
};

export const monthlyCosts = listByKey(
  'What it has cost, month by month, as brokers reported it. The oldest months are dropped.',
  ['month', 'currency'],
  object('The cost of one month in one currency.', monthlyCost),
  { maxItems: 48 },
);

/** Of what brokers bring about, and may take over from each other. */
const reportedCosts = listByKey(
  'What it has cost, month by month, as brokers reported it. The oldest months are dropped.',
  ['month', 'currency'],
  object('The cost of one month in one currency.', {
    ...monthlyCost,
    reports: listByKey(
      'What each Broker that had it has reported for the month: `amount` is the sum.',
      ['broker'],
      object('What one Broker has reported.', {
        broker: objectName('The name of the Broker.'),
        amount: amount('The amount as a decimal number.'),
        asOf: instant('Up to when it was counted. An earlier report of this Broker changes nothing.').optional(),
      }),
      { maxItems: 64 },
    ).optional(),
  }),
  { maxItems: 48 },
);

/** For kinds that have an owner and may have dependencies. */
export const ownedStatusFields = {
  ...statusFields,
  owner: recordedOwner.optional(),
  bindings: bindings.optional(),
  costs: monthlyCosts.optional(),
};

const outbox = listByKey(
  'Messages to the broker that are decided but not yet acknowledged. Each is written together with the state that it announces, and sent until it is acknowledged.',
  ['id'],
  object('One message.', {
    id: text('The identity of the message: sending it twice has one effect.', { minLength: 1, maxLength: 128 }),
    action: choice('What the broker is asked to do.', ['Deploy', 'Delete', 'Query']),
    deploymentId: text('The deployment that the message is about.', { maxLength: 128 }),
    createdAt: instant('When it was decided.'),
    attempts: integer('How often it was sent.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
    lastAttemptAt: instant('When it was last sent.').optional(),
    nextAttemptAt: instant('When it is sent again.').optional(),
    channel: choice('How it was last sent.', ['Kafka', 'HTTP']).optional(),
    error: prose('What went wrong the last time.').optional(),
  }),
  { maxItems: 16 },
);

const lastReport = object('The newest report of the broker. An older one changes nothing.', {
  broker: objectName('The Broker that reported.'),
  deploymentId: text('The deployment that it reported on.', { maxLength: 128 }),
  sequence: integer('The number of the report within its deployment.', {
    minimum: 0,
    maximum: Number.MAX_SAFE_INTEGER,
  }).optional(),
  time: instant('When the broker made the report.'),
  phase: choice('What it said.', [
    'accepted',
    'deploying',
    'ready',
    'failed',
    'drifted',
    'deleted',
    'absent',
  ]).optional(),
  message: prose('What it said, for people.').optional(),
  error: object('What went wrong, where it failed.', {
    class: choice(
      '`transient`: tried again by itself. `permanent`: only another spec will do. `quota`: somebody has to make room.',
      ['transient', 'permanent', 'quota'],
    ),
    code: text('What went wrong, in the words of the broker for programs.', { maxLength: 256 }),
    message: prose('What went wrong, for people.').optional(),
  }).optional(),
});

const awaiting = object('An answer of the broker that is waited for.', {
  since: instant('When the work was handed over, or when the broker was last heard of or asked.'),
  queries: integer('How often the broker was asked how it fares.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  overdue: boolean('Whether it did not come in time.').optional(),
});

/** For kinds that a broker brings about. */
export const deployableStatusFields = {
  ...ownedStatusFields,
  costs: reportedCosts.optional(),
  deploymentId: text('The deployment in force: uid, generation and attempt, joined by `/`.', {
    maxLength: 128,
  }).optional(),
  attempt: integer(
    'How often this generation was deployed: it rises on drift repair, on a changed binding and on a deliberate retry.',
    {
      minimum: 0,
      maximum: 2_147_483_647,
    },
  ).optional(),
  requested: choice('What the deployment in force asks of the broker.', ['Deploy', 'Delete']).optional(),
  dispatchedGeneration: generation('The generation that was last handed to the broker.').optional(),
  deployedGeneration: generation('The generation that was last reported ready.').optional(),
  dispatchedBindings: text('Stands for the bindings that were handed over: another one makes a new deployment.', {
    maxLength: 64,
  }).optional(),
  retried: text('The value of the annotation `platform.company.com/retry` that was last followed.', {
    maxLength: 256,
  }).optional(),
  failures: integer('How often in a row it failed or drifted.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  nextAttemptAt: instant('When it is deployed again by itself.').optional(),
  awaiting: awaiting.optional(),
  targetRef: object('The DeploymentTarget and Broker that it was handed to.', {
    name: objectName('The name of the DeploymentTarget.'),
    broker: objectName('The name of the Broker.').optional(),
    formerBrokers: list(
      'Brokers that it was taken over from, the last at the end: what they have made is for the Broker of now to keep and to remove.',
      objectName('The name of a Broker.'),
      { maxItems: 32 },
    ).optional(),
  }).optional(),
  connectionSecret: object('The Kubernetes Secret that holds address and credentials.', {
    name: objectName('The name of the Kubernetes Secret, in the namespace of this object.'),
    revision: text('Changes whenever the credentials do.', { maxLength: 128 }).optional(),
  }).optional(),
  outputs: map(
    'What the broker says about the thing that it made, for example its address. Never credentials.',
    text('The value.', { maxLength: 2048 }),
    { maxProperties: 64 },
  ).optional(),
  lastReport: lastReport.optional(),
  outbox: outbox.optional(),
};
