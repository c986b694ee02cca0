/** The JSON Schema of every event: what is published in manifests/events, and what every event is checked by. */
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
  /** Of the file in manifests/events. */
  readonly file: string;
  readonly schema: JsonSchema;
}

const url = (description: string): JsonSchema => text(description, { maxLength: 2048, pattern: '^https?://[^\\s]+$' });

const brokerName = objectName('The name of the Broker object.');

const request = object(
  'Something to be done by a broker.',
  {
    action: choice('`Deploy` it, `Delete` it, or say (again) how it fares: `Query` changes nothing.', [
      'Deploy',
      'Delete',
      'Query',
    ]),
    deploymentId,
    broker: objectName('The Broker that is meant. Others leave the message alone.'),
    formerBrokers: {
      description:
        'Brokers that this one has taken it over from, the last at the end. What they made is to be gone on with, and removed, by this one; if it cannot see what that is, it must report `failed`.',
      type: 'array',
      maxItems: 32,
      items: brokerName,
    },
    resource: resourceWithGeneration,
    labels: map('The labels of the object.', 63, 4096),
    team: namespaceName('The namespace of the team that owns it.'),
    target: object(
      'Where it goes.',
      {
        name: objectName('The name of the DeploymentTarget.'),
        provider: nonEmpty('Whose infrastructure it is.', 63),
        region: nonEmpty('Where it is, as the provider calls it.', 63),
        environment: nonEmpty('What it is used for.', 63),
        parameters: map('What the broker needs to know about the target. Never credentials.', 2048, 64),
      },
      ['region', 'environment', 'parameters'],
    ),
    spec: { description: 'The spec of the object, with defaults. Only with `Deploy`.', type: 'object' },
    bindings: {
      description: 'What it uses.',
      type: 'array',
      maxItems: 256,
      items: object(
        'One resource in use and how it is reached: by reference, or encrypted to the key of the broker.',
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
    costTags: map('To be put on everything that is made.', 256, 256),
    replyTo: object(
      'Where reports go.',
      {
        statusTopic: text('The Kafka topic.', { minLength: 1, maxLength: 249, pattern: '^[a-zA-Z0-9._-]+$' }),
        statusUrl: url('`POST` events here.'),
        encryptionKey: {
          description: 'A public JSON Web Key (`use: enc`) that credentials are encrypted to.',
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
    'How a deployment fares.',
    {
      broker: brokerName,
      deploymentId,
      resource,
      sequence: integer('Rises with each report of one deployment: an older one changes nothing.'),
      phase: choice(
        '`accepted` (will be done), `deploying`, `ready`, `failed` (with an error), `drifted` (it was ready and is no longer what was asked for), `deleted`, or `absent` (nothing is known of it).',
        ['accepted', 'deploying', 'ready', 'failed', 'drifted', 'deleted', 'absent'],
      ),
      message: text('For people.', { maxLength: 32_768 }),
      error: object('Why it failed.', {
        class: choice(
          '`transient`: may heal when tried again. `permanent`: only another spec will do. `quota`: somebody has to make room.',
          ['transient', 'permanent', 'quota'],
        ),
        code: nonEmpty('For programs.', 128),
        message: text('For people, with what to do next.', { maxLength: 32_768 }),
      }),
      outputs: map('Addresses and the like; never credentials.', 2048, 64),
      replicas: integer('Of a Service: how many copies there are.', 2_147_483_647),
      readyReplicas: integer('Of a Service: how many of them are ready.', 2_147_483_647),
      selector: text('Of a Service: the label selector of its copies.', { maxLength: 1024 }),
      url: text('Of a Service: where it is reached from outside.', { maxLength: 2048 }),
      credentials: {
        description: 'Encrypted to `replyTo.encryptionKey`, or as a Secret of the management cluster.',
        oneOf: [object('Encrypted.', { revision, jwe }), object('By reference.', { revision, secretRef })],
      },
    },
    ['message', 'error', 'outputs', 'replicas', 'readyReplicas', 'selector', 'url', 'credentials'],
  ),
  if: { properties: { phase: { const: 'failed' } }, required: ['phase'] },
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema.
  then: { required: ['error'] },
};

const heartbeat = object('A broker is alive.', {
  broker: brokerName,
  version: nonEmpty('The version of the broker.', 128),
  capabilities: {
    description: 'What it can bring about.',
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
  'What an object has cost at this broker this month so far. A later report of the broker replaces an earlier one.',
  {
    broker: brokerName,
    resource,
    month: text('The month, for example `2026-01`.', { maxLength: 7, pattern: '^[0-9]{4}-(0[1-9]|1[0-2])$' }),
    currency: text('As in ISO 4217, for example `EUR`.', { maxLength: 3, pattern: '^[A-Z]{3}$' }),
    amount: text('Month to date, a decimal number as text.', { maxLength: 32, pattern: '^-?[0-9]+(\\.[0-9]+)?$' }),
    asOf: instant('Up to when it is counted.'),
    final: {
      description:
        'Nothing more comes of this broker: the object is gone, or another broker has it now. Only such a report is taken of a broker that an object was taken over from.',
      type: 'boolean',
    },
  },
  ['final'],
);

const fromPlatform = text('Who says it: the platform.', { const: '/kidp' });
const fromBroker = text('Who says it: `/brokers/` and the name of the Broker.', {
  maxLength: 262,
  pattern: '^/brokers/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
});

/** By kind, each in a file of its own. The version in the name of a file is that of the type. */
export const eventDefinitions: Readonly<Record<EventKind, EventDefinition>> = {
  request: define('deployment-requested.v1.json', REQUEST_TYPE, fromPlatform, request),
  status: define('deployment-status.v1.json', STATUS_TYPE, fromBroker, status),
  heartbeat: define('broker-heartbeat.v1.json', HEARTBEAT_TYPE, fromBroker, heartbeat),
  usage: define('usage-reported.v1.json', USAGE_TYPE, fromBroker, usage),
};

export const eventKinds = Object.keys(eventDefinitions) as readonly EventKind[];

/** A CloudEvent 1.0 in JSON, structured mode. Extension attributes of others are allowed, as CloudEvents names them. */
function define(file: string, type: string, source: JsonSchema, data: JsonSchema): EventDefinition {
  const envelope = object(
    String(data.description),
    {
      specversion: text('The version of CloudEvents.', { const: '1.0' }),
      id: nonEmpty('Unique with `source`: what was seen before has no effect.', 256),
      source,
      type: text('What kind of event it is, with its version.', { const: type }),
      subject: nonEmpty(
        'What it is about: `databases/team-backend/users`; of a heartbeat the name of the broker.',
        512,
      ),
      time: instant('When it was said.'),
      datacontenttype: text('The data is JSON.', { const: 'application/json' }),
      dataschema: nonEmpty('Where the schema is.', 2048),
      traceparent: text('W3C trace context.', {
        maxLength: 320,
        pattern: '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}',
      }),
      tracestate: text('W3C trace context, of the tools that trace.', { maxLength: 512 }),
      correlationid: nonEmpty('The same on everything that follows from one dispatch.', 128),
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
