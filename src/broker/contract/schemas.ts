/** The JSON Schema of every event: published in manifests/events, and used to validate every event. */
import { HEARTBEAT_TYPE, REQUEST_TYPE, STATUS_TYPE, USAGE_TYPE } from '../messages.ts';
import {
  choice,
  deployableKinds,
  deploymentId,
  instant,
  integer,
  type JsonSchema,
  jwe,
  map,
  namespaceName,
  nonEmpty,
  object,
  objectName,
  resource,
  resourceWithGeneration,
  secretRef,
  text,
} from './schema-parts.ts';

export type EventKind = 'request' | 'status' | 'heartbeat' | 'usage';

interface EventDefinition {
  readonly type: string;
  /** The name of the file in manifests/events. */
  readonly file: string;
  readonly schema: JsonSchema;
}

const url = (description: string): JsonSchema => text(description, { maxLength: 2048, pattern: '^https?://[^\\s]+$' });

const brokerName = objectName('The name of the Broker object.');

const request = object(
  'A request to a broker.',
  {
    action: choice('`Deploy` or `Delete` the object, or `Query` its current state, which changes nothing.', [
      'Deploy',
      'Delete',
      'Query',
    ]),
    deploymentId,
    broker: objectName('The addressed Broker. Other brokers ignore the message.'),
    formerBrokers: {
      description:
        'Former brokers of the object, the most recent last. Everything that they created now belongs to the addressed broker, which updates and removes it. A broker that cannot see what they created must report `failed`.',
      type: 'array',
      maxItems: 32,
      items: brokerName,
    },
    resource: resourceWithGeneration,
    labels: map('The labels of the object.', 63, 4096),
    team: namespaceName('The namespace of the team that owns it.'),
    target: object(
      'The target of the deployment.',
      {
        name: objectName('The name of the DeploymentTarget.'),
        provider: nonEmpty('The infrastructure provider.', 63),
        region: nonEmpty('The region, named as the provider names it.', 63),
        environment: nonEmpty('The environment, for example `production`.', 63),
        parameters: map('Parameters of the target for the broker. Never credentials.', 2048, 64),
      },
      ['region', 'environment', 'parameters'],
    ),
    spec: { description: 'The spec of the object, with defaults. Only with `Deploy`.', type: 'object' },
    bindings: {
      description: 'The resources that the object uses.',
      type: 'array',
      maxItems: 256,
      items: object(
        'A bound resource and its connection: by reference, or encrypted to the key of the broker.',
        {
          kind: choice('The kind of the resource.', deployableKinds),
          namespace: namespaceName('Its namespace.'),
          name: objectName('Its name.'),
          secret: object('A Kubernetes Secret of the management cluster.', {
            namespace: namespaceName('Its namespace.'),
            name: objectName('Its name.'),
            revision: nonEmpty('Changes whenever the credentials do.', 128),
          }),
          credentials: jwe,
        },
        ['secret', 'credentials'],
      ),
    },
    costTags: map('Cost tags to attach to everything that is created.', 256, 256),
    replyTo: object(
      'Where to send reports.',
      {
        statusTopic: text('The Kafka topic.', { minLength: 1, maxLength: 249, pattern: '^[a-zA-Z0-9._-]+$' }),
        statusUrl: url('The URL to `POST` events to.'),
        encryptionKey: {
          description: 'The public JSON Web Key (`use: enc`) to encrypt credentials to.',
          type: 'object',
          required: ['kty'],
          properties: { kty: nonEmpty('The type of the key.', 16) },
          maxProperties: 32,
        },
      },
      ['statusTopic', 'statusUrl', 'encryptionKey'],
    ),
  },
  ['formerBrokers', 'labels', 'team', 'spec', 'bindings', 'costTags'],
);

const revision = nonEmpty('Changes whenever the credentials do.', 128);

const status: JsonSchema = {
  ...object(
    'The state of a deployment.',
    {
      broker: brokerName,
      deploymentId,
      resource,
      sequence: integer('Increases with each report of a deployment: an older report changes nothing.'),
      phase: choice(
        '`accepted` (will be carried out), `deploying`, `ready`, `failed` (with an error), `drifted` (was ready and no longer matches the request), `deleted`, or `absent` (the broker does not know the deployment).',
        ['accepted', 'deploying', 'ready', 'failed', 'drifted', 'deleted', 'absent'],
      ),
      message: text('A message for people.', { maxLength: 32_768 }),
      error: object('Why the deployment failed.', {
        class: choice(
          '`transient`: a retry may succeed. `permanent`: only another spec can succeed. `quota`: a quota must be raised or usage reduced.',
          ['transient', 'permanent', 'quota'],
        ),
        code: nonEmpty('A stable code for programs.', 128),
        message: text('What failed and what to do next, for people.', { maxLength: 32_768 }),
      }),
      outputs: map('Addresses and similar facts; never credentials.', 2048, 64),
      replicas: integer('The number of replicas of a Service.', 2_147_483_647),
      readyReplicas: integer('The number of ready replicas of a Service.', 2_147_483_647),
      selector: text('The label selector of the Pods of a Service.', { maxLength: 1024 }),
      url: text('The external URL of a Service.', { maxLength: 2048 }),
      credentials: {
        description:
          'Credentials, encrypted to `replyTo.encryptionKey` or as a reference to a Secret of the management cluster.',
        oneOf: [
          object('Encrypted credentials.', { revision, jwe }),
          object('Credentials by reference.', { revision, secretRef }),
        ],
      },
    },
    ['message', 'error', 'outputs', 'replicas', 'readyReplicas', 'selector', 'url', 'credentials'],
  ),
  if: { properties: { phase: { const: 'failed' } }, required: ['phase'] },
  // biome-ignore lint/suspicious/noThenProperty: `then` is a keyword of JSON Schema.
  then: { required: ['error'] },
};

const heartbeat = object('A sign of life of a broker.', {
  broker: brokerName,
  version: nonEmpty('The version of the broker.', 128),
  capabilities: {
    description: 'The kinds that the broker supports.',
    type: 'array',
    maxItems: 64,
    uniqueItems: true,
    items: text('A kind, or a kind with an engine, for example `Database/postgresql`.', {
      maxLength: 64,
      pattern: '^(Database|Service|Cache|Topic|Secret)(/[a-z0-9][-a-z0-9.]*)?$',
    }),
  },
});

const usage = object(
  'The cost of an object at this broker, month to date. A later report of the broker replaces an earlier one.',
  {
    broker: brokerName,
    resource,
    month: text('The month, for example `2026-01`.', { maxLength: 7, pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' }),
    currency: text('The currency as in ISO 4217, for example `EUR`.', { maxLength: 3, pattern: '^[A-Z]{3}$' }),
    amount: text('The amount of the month to date, as a decimal number in a string.', {
      maxLength: 32,
      pattern: '^-?[0-9]+(\\.[0-9]+)?$',
    }),
    asOf: instant('The time up to which the amount is counted.'),
    final: {
      description:
        'The last report of this broker: the object is deleted, or another broker has taken it over. A former broker of an object may send only such a report.',
      type: 'boolean',
    },
  },
  ['final'],
);

const fromPlatform = text('The sender: the platform.', { const: '/kidp' });
const fromBroker = text('The sender: `/brokers/` and the name of the Broker.', {
  maxLength: 262,
  pattern: '^/brokers/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
});

/**
 * The event definitions by kind, each published in a file of its own. The version in the file name is that of the type.
 */
export const eventDefinitions: Readonly<Record<EventKind, EventDefinition>> = {
  request: define('deployment-requested.v1.json', REQUEST_TYPE, fromPlatform, request),
  status: define('deployment-status.v1.json', STATUS_TYPE, fromBroker, status),
  heartbeat: define('broker-heartbeat.v1.json', HEARTBEAT_TYPE, fromBroker, heartbeat),
  usage: define('usage-reported.v1.json', USAGE_TYPE, fromBroker, usage),
};

export const eventKinds = Object.keys(eventDefinitions) as readonly EventKind[];

/**
 * Defines a CloudEvent 1.0 in JSON, structured mode. Extension attributes are allowed, named as CloudEvents requires.
 */
function define(file: string, type: string, source: JsonSchema, data: JsonSchema): EventDefinition {
  const envelope = object(
    String(data.description),
    {
      specversion: text('The version of CloudEvents.', { const: '1.0' }),
      id: nonEmpty('Unique together with `source`: a repeated event has no effect.', 256),
      source,
      type: text('The event type, with its version.', { const: type }),
      subject: nonEmpty(
        'The object of the event, for example `databases/team-backend/users`; for a heartbeat, the name of the broker.',
        512,
      ),
      time: instant('The time of the event.'),
      datacontenttype: text('The media type of the data.', { const: 'application/json' }),
      dataschema: nonEmpty('The URI of the schema of the data.', 2048),
      traceparent: text('W3C trace context.', {
        maxLength: 320,
        pattern: '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}',
      }),
      tracestate: text('W3C trace context, vendor-specific part.', { maxLength: 512 }),
      correlationid: nonEmpty('The same value on all messages that follow from one dispatch.', 128),
      data,
    },
    ['dataschema', 'traceparent', 'tracestate', 'correlationid'],
  );
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: `https://platform.company.com/events/${file}`,
    title: type,
    ...envelope,
    maxProperties: 32,
    propertyNames: { type: 'string', pattern: '^[a-z0-9]{1,20}$' },
  };
  return { type, file, schema };
}
