/** The Broker kind: a stateless worker that provisions resources in one cloud or cluster, and how to reach it. */
import { ageColumn, phaseColumn, prose, readyColumn, reasonColumn, statusFields } from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { boolean, choice, instant, integer, list, object, set, text } from './schema/index.ts';

const url = (description: string) => text(description, { maxLength: 2048, pattern: '^https?://\\S+$' });
const topicName = (description: string) =>
  text(description, { minLength: 1, maxLength: 249, pattern: '^[a-zA-Z0-9._-]+$' });

const publicKeys = (description: string) =>
  list(description, text('A public key in PEM form, or a JSON Web Key.', { minLength: 1, maxLength: 8192 }), {
    maxItems: 16,
  });

const authorities = (description: string) =>
  text(description, { maxLength: 131_072, pattern: '^[A-Za-z0-9+/]+={0,2}$' });

const capability = text('A kind, for example `Topic`, or a kind with an engine, for example `Database/postgresql`.', {
  maxLength: 64,
  pattern: '^(Database|Service|Cache|Topic|Secret)(/[a-z0-9][-a-z0-9.]*)?$',
});

const kafka = object('Kafka settings of the broker.', {
  bootstrapServers: set(
    'Kafka bootstrap servers. Defaults to those in the configuration of the platform.',
    text('A server as `host:port`.', { maxLength: 259, pattern: '^[^\\s:/]+:[0-9]{1,5}$' }),
    { maxItems: 16 },
  ).optional(),
  requestTopic: topicName('Topic from which the broker consumes deployment requests.').default('deployment-requests'),
  statusTopic: topicName('Topic to which the broker publishes status reports.').default('deployment-status'),
});

const identity = object('Identity of the broker: the claims of its tokens and the keys that sign them.', {
  subject: text('Subject (`sub`) of the tokens. Defaults to the name of this object.', {
    minLength: 1,
    maxLength: 256,
  }).optional(),
  issuer: text('Issuer (`iss`) of the tokens.', { minLength: 1, maxLength: 2048 }).optional(),
  scopes: set(
    'Scopes that the tokens may use.',
    text('A scope, for example `status:write`.', { minLength: 1, maxLength: 128 }),
    {
      maxItems: 32,
    },
  ).optional(),
  jwksUri: url('URL of the JSON Web Key Set with the public keys of the broker.').optional(),
  publicKeys: publicKeys('Public keys of the broker, if they are not fetched from `jwksUri`.').optional(),
  keySource: choice(
    'Where the public keys and the CA certificates of the broker are. `Spec`: in this spec, or fetched from the addresses in it. `Status`: the broker runs in this cluster and publishes them in the status of this object, with a ServiceAccount that may write nothing else of it.',
    ['Spec', 'Status'],
  ).optional(),
}).rules({
  rule: "!has(self.keySource) || self.keySource != 'Status' || (!has(self.publicKeys) && !has(self.jwksUri))",
  message: 'with keySource Status, the broker publishes its keys itself: remove publicKeys and jwksUri',
  fieldPath: '.keySource',
});

const heartbeat = object('Heartbeat settings of the broker.', {
  intervalSeconds: integer('Maximum time between two heartbeats, in seconds.', { minimum: 1, maximum: 3600 }).default(
    30,
  ),
  timeoutSeconds: integer('Time without a heartbeat after which the broker is considered unavailable, in seconds.', {
    minimum: 2,
    maximum: 86_400,
  }).default(90),
}).rules({
  rule: 'self.timeoutSeconds > self.intervalSeconds',
  message: 'timeoutSeconds must be greater than intervalSeconds, otherwise a healthy broker is considered unavailable',
  fieldPath: '.timeoutSeconds',
});

const spec = object('How to reach the broker and what it can provision.', {
  description: prose('Human-readable description of the broker.').optional(),
  channel: choice(
    'Channel over which the broker receives work. With `Both`, Kafka is preferred and HTTP is the fallback.',
    ['Kafka', 'HTTP', 'Both'],
  ),
  endpoint: url('URL of the HTTP endpoint of the broker.').optional(),
  caBundle: authorities(
    'CA certificates that the HTTP endpoint is verified with: PEM, base64-encoded. Defaults to the system certificates.',
  ).optional(),
  kafka: kafka.default({}),
  capabilities: set('Kinds that the broker can provision.', capability, { maxItems: 64 }).optional(),
  identity: identity.optional(),
  heartbeat: heartbeat.default({ intervalSeconds: 30, timeoutSeconds: 90 }),
  rateLimit: object(
    'Rate limit for the status reports of the broker. Reports that exceed it are rejected and can be retried later.',
    {
      requestsPerSecond: integer('Average number of reports per second.', { minimum: 1, maximum: 100_000 }),
      burst: integer('Maximum burst of reports.', { minimum: 1, maximum: 1_000_000 }).optional(),
    },
  ).optional(),
  paused: boolean('Stops sending new work to the broker. Work that it already has continues.').optional(),
}).rules({
  rule: "self.channel == 'Kafka' || has(self.endpoint)",
  message: 'spec.endpoint is required for the channels HTTP and Both',
  fieldPath: '.endpoint',
  reason: 'FieldValueRequired',
});

const status = object('What the platform knows about the broker.', {
  ...statusFields,
  version: text('The version that the broker reports.', { maxLength: 128 }).optional(),
  capabilities: set('What the broker itself says that it can bring about.', capability, { maxItems: 64 }).optional(),
  lastHeartbeatTime: instant('When it was last heard of.').optional(),
  channel: choice('The channel in use now.', ['Kafka', 'HTTP']).optional(),
  identity: object('What the broker has published, if `spec.identity.keySource` is `Status`.', {
    publicKeys: publicKeys('Public keys of the broker.'),
    caBundle: authorities('CA certificates that the HTTP endpoint is verified with: PEM, base64-encoded.'),
    generation: integer('Increases with every change of the CA certificates.', {
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
    }),
  }).optional(),
  targets: integer('How many DeploymentTargets it serves.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
});

export const broker = defineKind({
  kind: 'Broker',
  plural: 'brokers',
  singular: 'broker',
  shortName: 'kbroker',
  scope: 'Cluster',
  deployable: false,
  description:
    'A Broker is a stateless worker that deploys resources on one provider. It is reached through Kafka, over HTTP, or both, and reports back.',
  spec,
  status,
  maxNameLength: 253,
  columns: [
    {
      name: 'Channel',
      type: 'string',
      jsonPath: '.spec.channel',
      description: 'Channel over which the broker receives work.',
    },
    {
      name: 'Endpoint',
      type: 'string',
      jsonPath: '.spec.endpoint',
      description: 'URL of the HTTP endpoint of the broker.',
      priority: 1,
    },
    phaseColumn,
    readyColumn,
    {
      name: 'Heartbeat',
      type: 'date',
      jsonPath: '.status.lastHeartbeatTime',
      description: 'Time since the last heartbeat.',
    },
    ageColumn,
    reasonColumn,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: Broker
metadata:
  name: azure-westus2
spec:
  channel: Both
  endpoint: https://broker.westus2.company.com
  capabilities: [Database/postgresql, Cache/redis, Service, Secret]
  identity:
    issuer: https://broker.westus2.company.com
    jwksUri: https://broker.westus2.company.com/.well-known/jwks.json
    scopes: ["status:write"]
  heartbeat:
    intervalSeconds: 15
    timeoutSeconds: 60
`,
});

export type Broker = ObjectOf<typeof broker>;
