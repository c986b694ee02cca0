/** Topic: a Kafka topic, or a queue. */
import {
  connectionSecret,
  deployableColumns,
  deployableSpec,
  deployableStatusFields,
  unobserved,
} from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { choice, immutable, integer, integerOrText, map, object, text } from './schema/index.ts';

const spec = deployableSpec('The topic or queue to have.', {
  type: choice(
    '`topic`: every group of consumers gets every message. `queue`: each message is worked on once. It never changes.',
    ['topic', 'queue'],
  ).default('topic'),
  topicName: text('Its name on the message broker, where it differs from the name of this object. It never changes.', {
    minLength: 1,
    maxLength: 249,
    pattern: '^[a-zA-Z0-9._-]+$',
  }).optional(),
  partitions: integer('How many partitions it has: how many consumers can share the work. It only grows.', {
    minimum: 1,
    maximum: 10_000,
  })
    .default(1)
    .rules({
      rule: 'self >= oldSelf',
      message: 'the number of partitions can only grow: create another Topic to have fewer',
    }),
  replication: integer(
    'On how many brokers each message is kept. Left out, the message broker takes its own default.',
    {
      minimum: 1,
      maximum: 15,
    },
  ).optional(),
  config: map(
    'Settings of the topic by the names that the message broker knows, for example `retention.ms: 604800000`.',
    integerOrText('The value.', { maxLength: 1024 }),
    { maxProperties: 64 },
  ).optional(),
  queue: object('How a queue hands out messages.', {
    visibilityTimeoutSeconds: integer('For how long a message that was handed out is kept from others.', {
      minimum: 0,
      maximum: 43_200,
    }).optional(),
    maxDeliveries: integer('How often a message is tried before it is put aside.', {
      minimum: 1,
      maximum: 1000,
    }).optional(),
    retentionSeconds: integer('For how long a message that nobody takes is kept.', {
      minimum: 60,
      maximum: 31_536_000,
    }).optional(),
  }).optional(),
  connectionSecret: connectionSecret.optional(),
}).rules(
  immutable('type', 'spec.type is fixed at creation: create another Topic'),
  immutable('topicName', 'spec.topicName is fixed at creation: create another Topic'),
  {
    rule: "!has(self.queue) || self.type == 'queue'",
    message: 'spec.queue is for queues: set spec.type to queue, or leave spec.queue out',
    fieldPath: '.queue',
  },
);

const status = object('What the platform and the broker have made of it.', deployableStatusFields);

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
    { name: 'Type', type: 'string', jsonPath: '.spec.type', description: 'Topic or queue.', priority: 1 },
    { name: 'Partitions', type: 'integer', jsonPath: '.spec.partitions', description: 'How many partitions it has.' },
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
