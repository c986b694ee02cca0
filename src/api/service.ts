/** Service: one microservice, run as containers. */
import {
  deployableColumns,
  deployableSpec,
  deployableStatusFields,
  objectName,
  quantity,
  shortName,
  unobserved,
} from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { boolean, choice, integer, integerOrText, list, listByKey, map, object, set, text } from './schema/index.ts';

const argument = text('One word of it.', { maxLength: 4096 });
const port = (description: string) => integer(description, { minimum: 1, maximum: 65_535 });
const replicas = (description: string) => integer(description, { minimum: 0, maximum: 1000 });
const amounts = (description: string) =>
  map(description, quantity('The amount, for example `500m` or `1Gi`.'), { maxProperties: 16 });

const protocolOf = (variable: string) => `(has(${variable}.protocol) ? ${variable}.protocol : 'TCP')`;

const keyOf = (what: string) =>
  object(`A key of a ${what} in the namespace of this object.`, {
    name: objectName(`The name of the ${what}.`),
    key: text('The key in it.', { minLength: 1, maxLength: 253, pattern: '^[-._a-zA-Z0-9]+$' }),
    optional: boolean('Whether the service may start without it.').optional(),
  });

const environmentVariable = object('One environment variable.', {
  name: text('The name of the variable.', { minLength: 1, maxLength: 253, pattern: '^[-._a-zA-Z][-._a-zA-Z0-9]*$' }),
  value: text('Its value.', { maxLength: 32_768 }).optional(),
  valueFrom: object('Where its value is taken from.', {
    secretKeyRef: keyOf('Kubernetes Secret').optional(),
    configMapKeyRef: keyOf('ConfigMap').optional(),
  })
    .rules({
      rule: 'has(self.secretKeyRef) != has(self.configMapKeyRef)',
      message: 'give exactly one of secretKeyRef and configMapKeyRef',
    })
    .optional(),
}).rules({
  rule: '!(has(self.value) && has(self.valueFrom))',
  message: 'give value or valueFrom, not both',
  fieldPath: '.valueFrom',
});

const autoscaling = object(
  'How the number of copies follows the load. While it is enabled, `replicas` is only the start.',
  {
    enabled: boolean('Whether it is done. Turn it off here without losing the settings.').default(true),
    minReplicas: replicas('The fewest copies.').default(1),
    maxReplicas: integer('The most copies.', { minimum: 1, maximum: 1000 }),
    targetCPUUtilizationPercentage: integer('The share of the requested CPU to aim at, on average.', {
      minimum: 1,
      maximum: 100,
    }).optional(),
  },
).rules({
  rule: 'self.minReplicas <= self.maxReplicas',
  message: 'minReplicas cannot be more than maxReplicas: raise maxReplicas or lower minReplicas',
  fieldPath: '.minReplicas',
});

const loadBalancer = object('How the service is reached from outside of its cluster.', {
  enabled: boolean('Whether it is. Turn it off here without losing the settings.').default(true),
  // No default: who can reach a service is for the user to say and for a policy to restrict.
  scope: choice('From where: `internal` is the company network, `external` the internet.', [
    'internal',
    'external',
  ]).optional(),
  host: text('The host name to answer to, for example `users.company.com`.', {
    maxLength: 253,
    pattern: '^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
  }).optional(),
  path: text('The path to answer to, with all below it.', { maxLength: 1024, pattern: '^/\\S*$' }).default('/'),
  port: integerOrText('The port of the service to send requests to, by number or name. Left out, the first.', {
    maxLength: 63,
  }).optional(),
  tls: object('Encryption of the connection from outside.', {
    secretName: objectName('The Kubernetes Secret with certificate and key.').optional(),
  }).optional(),
  sourceRanges: set(
    'The networks that may connect, in CIDR form. Left out, all that `scope` lets in.',
    text('A network such as `10.0.0.0/8`.', { maxLength: 43, pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$' }),
    { maxItems: 64 },
  ).optional(),
});

const spec = deployableSpec('The service to run.', {
  image: text(
    'The container image. It may be filled in after creation, by the pipeline that builds it; until then nothing is deployed.',
    { minLength: 1, maxLength: 1024, pattern: '^\\S+$' },
  ).optional(),
  command: list('What to run in place of the entrypoint of the image.', argument, { maxItems: 64 }).optional(),
  args: list('What to hand to it.', argument, { maxItems: 256 }).optional(),
  replicas: replicas('How many copies run.').default(1),
  ports: list(
    'The ports that the service listens on.',
    object('One port.', {
      name: shortName('The name of the port.').optional(),
      port: port('The port that others connect to.'),
      targetPort: port('The port that the container listens on. Left out, it is the same.').optional(),
      protocol: choice('The protocol. Left out, `TCP`.', ['TCP', 'UDP', 'SCTP']).optional(),
    }),
    { maxItems: 32 },
  )
    .rules({
      rule: `self.all(p, self.exists_one(q, q.port == p.port && ${protocolOf('q')} == ${protocolOf('p')}))`,
      message: 'each port may be listed once for a protocol',
      reason: 'FieldValueDuplicate',
    })
    .optional(),
  env: listByKey('Environment variables.', ['name'], environmentVariable, { maxItems: 256 }).optional(),
  resources: object('What one copy needs of CPU and memory.', {
    requests: amounts('What is set aside for it.').optional(),
    limits: amounts('What it may use at most.').optional(),
  }).optional(),
  healthCheck: object('How to find out whether a copy can take requests.', {
    path: text('Answers with a status below 400 when it can.', { maxLength: 1024, pattern: '^/\\S*$' }).default('/'),
    port: integerOrText('The port to ask, by number or name. Left out, the first.', { maxLength: 63 }).optional(),
  }).optional(),
  autoscaling: autoscaling.optional(),
  loadBalancer: loadBalancer.optional(),
});

const status = object('What the platform and the broker have made of it.', {
  ...deployableStatusFields,
  replicas: integer('How many copies there are.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  readyReplicas: integer('How many of them can take requests.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  selector: text('The label selector of the copies, as text, for autoscalers.', { maxLength: 1024 }).optional(),
  url: text('Where the service is reached from outside.', { maxLength: 2048 }).optional(),
});

export const service = defineKind({
  kind: 'Service',
  plural: 'services',
  singular: 'service',
  shortName: 'kservice',
  scope: 'Namespaced',
  deployable: true,
  description:
    'A Service of the platform is one microservice: containers that run an image, with ports, scaling and a load balancer. It is not the Service of the Kubernetes core API.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 63,
  columns: [
    { name: 'Image', type: 'string', jsonPath: '.spec.image', description: 'The container image.', priority: 1 },
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas', description: 'How many copies run.' },
    ...deployableColumns,
  ],
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
  example: `
apiVersion: platform.company.com/v1
kind: Service
metadata:
  name: user-api
  namespace: team-backend
spec:
  owner:
    kind: Application
    name: user-service
    namespace: team-backend
  targetRef: {name: azure-westus2-prod}
  image: registry.company.com/backend/user-api:1.4.2
  replicas: 3
  ports:
  - name: http
    port: 80
    targetPort: 8080
  env:
  - name: LOG_LEVEL
    value: info
  - name: COOKIE_SECRET
    valueFrom:
      secretKeyRef: {name: payment-gateway, key: cookie-secret}
  resources:
    requests: {cpu: 250m, memory: 256Mi}
    limits: {memory: 512Mi}
  autoscaling:
    minReplicas: 3
    maxReplicas: 10
    targetCPUUtilizationPercentage: 70
  loadBalancer:
    scope: internal
    host: users.company.com
    port: http
  dependencies:
    databaseSelector:
      matchLabels:
        database.platform.company.com/type: postgresql
`,
});

export type Service = ObjectOf<typeof service>;
