/** The Topic kind: a Kafka topic or a queue. */
import {
  connectionSecret,
  deployableColumns,
  deployableSpec,
  deployableStatusFields,
  unobserved,
} from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { choice, immutable, integer, integerOrText, map, object, text } from './schema/index.ts';

const spec = deployableSpec('Desired state of the topic or queue.', {
  type: choice(
    '`topic`: every consumer group receives every message. `queue`: each message is processed once. Immutable.',
    ['topic', 'queue'],
  ).default('topic'),
  topicName: text('Name on the message broker, if it differs from the name of this object. Immutable.', {
    minLength: 1,
    maxLength: 249,
    pattern: '^[a-zA-Z0-9._-]+$',
  }).optional(),
  partitions: integer(
    'Number of partitions, which limits how many consumers can share the work. It can only be increased.',
    {
      minimum: 1,
      maximum: 10_000,
    },
  )
    .default(1)
    .rules({
      rule: 'self >= oldSelf',
      message: 'the number of partitions can only be increased: create another Topic to have fewer',
    }),
  replication: integer('Replication factor. Defaults to the default of the message broker.', {
    minimum: 1,
    maximum: 15,
  }).optional(),
  config: map(
    'Settings of the topic as named by the message broker, for example `retention.ms: 604800000`.',
    integerOrText('Value of the setting.', { maxLength: 1024 }),
    { maxProperties: 64 },
  ).optional(),
  queue: object('Settings of a queue.', {
    visibilityTimeoutSeconds: integer('Time that a delivered message stays invisible to other consumers, in seconds.', {
      minimum: 0,
      maximum: 43_200,
    }).optional(),
    maxDeliveries: integer('Number of deliveries after which a message is moved to the dead-letter queue.', {
      minimum: 1,
      maximum: 1000,
    }).optional(),
    retentionSeconds: integer('Time that an unconsumed message is kept, in seconds.', {
      minimum: 60,
      maximum: 31_536_000,
    }).optional(),
  }).optional(),
  connectionSecret: connectionSecret.optional(),
}).rules(
  immutable('type', 'spec.type cannot be changed after creation: create another Topic'),
  immutable('topicName', 'spec.topicName cannot be changed after creation: create another Topic'),
  {
    rule: "!has(self.queue) || self.type == 'queue'",
    message: 'spec.queue requires spec.type queue: set spec.type to queue, or omit spec.queue',
    fieldPath: '.queue',
  },
);

const status = object('Observed state of the topic.', deployableStatusFields);

export const topic = defineKind({
  kind: 'Topic',
  plural: 'topics',
  singular: 'topic',
  shortName: 'ktopic',
  scope: 'Namespaced',
  deployable: true,
  description: 'A Topic is a Kafka topic with its partitions, replication and settings, or a queue.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 63,
  columns: [
    {
      name: 'Type',
      type: 'string',
      jsonPath: '.spec.type',
      description: 'Whether it is a topic or a queue.',
      priority: 1,
    },
    { name: 'Partitions', type: 'integer', jsonPath: '.spec.partitions', description: 'Number of partitions.' },
    ...deployableColumns,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: Topic
metadata:
  name: user-events
  namespace: team-backend
spec:
  owner:
    kind: Application
    name: user-service
    namespace: team-backend
  targetRef: {name: azure-westus2-prod}
  partitions: 12
  replication: 3
  config:
    retention.ms: 604800000
    cleanup.policy: delete
`,
});

export type Topic = ObjectOf<typeof topic>;
