/** Broker: a stateless worker that brings resources about in one cloud or cluster, and how to talk to it. */
import { ageColumn, phaseColumn, prose, readyColumn, reasonColumn, statusFields } from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { boolean, choice, instant, integer, list, object, set, text } from './schema/index.ts';

const url = (description: string) => text(description, { maxLength: 2048, pattern: '^https?://\\S+$' });
const topicName = (description: string) =>
  text(description, { minLength: 1, maxLength: 249, pattern: '^[a-zA-Z0-9._-]+$' });

const capability = text('A kind, for example `Topic`, or a kind with an engine, for example `Database/postgresql`.', {
  maxLength: 64,
  pattern: '^(Database|Service|Cache|Topic|Secret)(/[a-z0-9][-a-z0-9.]*)?$',
});

const kafka = object('How the broker is reached through Kafka.', {
  bootstrapServers: set(
    'The Kafka servers to begin with. Left out, those that the platform is configured with.',
    text('A server as `host:port`.', { maxLength: 259, pattern: '^[^\\s:/]+:[0-9]{1,5}$' }),
    { maxItems: 16 },
  ).optional(),
  requestTopic: topicName('The topic that the broker takes its work from.').default('deployment-requests'),
  statusTopic: topicName('The topic that the broker reports to.').default('deployment-status'),
});

const identity = object(
  'How the platform knows that it is this broker that speaks: the claims of its tokens and the keys that sign them.',
  {
    subject: text('The subject (`sub`) of its tokens. Left out, it is the name of this object.', {
      minLength: 1,
      maxLength: 256,
    }).optional(),
    issuer: text('The issuer (`iss`) of its tokens.', { minLength: 1, maxLength: 2048 }).optional(),
    scopes: set(
      'What its tokens may be used for.',
      text('A scope, for example `status:write`.', { minLength: 1, maxLength: 128 }),
      {
        maxItems: 32,
      },
    ).optional(),
    jwksUri: url('Where its public keys are fetched from.').optional(),
    publicKeys: list(
      'Its public keys, where they are not fetched.',
      text('A public key in PEM form, or a JSON Web Key.', { minLength: 1, maxLength: 8192 }),
      { maxItems: 16 },
    ).optional(),
  },
);

const heartbeat = object('How the broker shows that it is alive.', {
  intervalSeconds: integer('It reports at least this often.', { minimum: 1, maximum: 3600 }).default(30),
  timeoutSeconds: integer('Without a report for this long it counts as gone.', { minimum: 2, maximum: 86_400 }).default(
    90,
  ),
}).rules({
  rule: 'self.timeoutSeconds > self.intervalSeconds',
  message: 'timeoutSeconds must be more than intervalSeconds, or a broker that is well would count as gone',
  fieldPath: '.timeoutSeconds',
});

const spec = object('How to talk to the broker and what it can do.', {
  description: prose('What the broker is.').optional(),
  channel: choice('How work reaches it. With `Both`, Kafka comes first and HTTP is the fallback.', [
    'Kafka',
    'HTTP',
    'Both',
  ]),
  endpoint: url('Where it is reached over HTTP.').optional(),
  caBundle: text(
    'The certificates, in PEM form and base64, that its HTTP endpoint is trusted by. Left out, those of the system.',
    {
      maxLength: 131_072,
      pattern: '^[A-Za-z0-9+/]+={0,2}$',
    },
  ).optional(),
  kafka: kafka.default({}),
  capabilities: set('What it can bring about.', capability, { maxItems: 64 }).optional(),
  identity: identity.optional(),
  heartbeat: heartbeat.default({ intervalSeconds: 30, timeoutSeconds: 90 }),
  rateLimit: object('How often it may report. More is refused until later.', {
    requestsPerSecond: integer('Reports a second, on average.', { minimum: 1, maximum: 100_000 }),
    burst: integer('Reports at once.', { minimum: 1, maximum: 1_000_000 }).optional(),
  }).optional(),
  paused: boolean('Hand it no new work. What it already has goes on.').optional(),
}).rules({
  rule: "self.channel == 'Kafka' || has(self.endpoint)",
  message: 'a broker with the channel HTTP or Both needs spec.endpoint, its address',
  fieldPath: '.endpoint',
  reason: 'FieldValueRequired',
});

const status = object('What the platform knows about the broker.', {
  ...statusFields,
  version: text('The version that the broker reports.', { maxLength: 128 }).optional(),
  capabilities: set('What the broker itself says that it can bring about.', capability, { maxItems: 64 }).optional(),
  lastHeartbeatTime: instant('When it was last heard of.').optional(),
  channel: choice('The channel in use now.', ['Kafka', 'HTTP']).optional(),
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
    { name: 'Channel', type: 'string', jsonPath: '.spec.channel', description: 'How work reaches it.' },
    {
      name: 'Endpoint',
      type: 'string',
      jsonPath: '.spec.endpoint',
      description: 'Where it is reached over HTTP.',
      priority: 1,
    },
    phaseColumn,
    readyColumn,
    {
      name: 'Heartbeat',
      type: 'date',
      jsonPath: '.status.lastHeartbeatTime',
      description: 'How long ago it was last heard of.',
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
