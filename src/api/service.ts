/** The Service kind: one microservice that runs as containers. */
import {
  deployableColumns,
  deployableSpec,
  deployableStatusFields,
  objectName,
  quantity,
  shortName,
  unobserved,
} from './common/index.ts';
import { HOST_PATTERN } from './hosts.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { boolean, choice, integer, integerOrText, list, listByKey, map, object, set, text } from './schema/index.ts';

const argument = text('An argument.', { maxLength: 4096 });
const port = (description: string) => integer(description, { minimum: 1, maximum: 65_535 });
const replicas = (description: string) => integer(description, { minimum: 0, maximum: 1000 });
const amounts = (description: string) =>
  map(description, quantity('Quantity, for example `500m` or `1Gi`.'), { maxProperties: 16 });

const protocolOf = (variable: string) => `(has(${variable}.protocol) ? ${variable}.protocol : 'TCP')`;

const keyOf = (what: string, rule = '') =>
  object(`Key of a ${what} in the namespace of this object.${rule}`, {
    name: objectName(`Name of the ${what}.`),
    key: text('Key to read.', { minLength: 1, maxLength: 253, pattern: '^[-._a-zA-Z0-9]+$' }),
    optional: boolean('Whether the service can start without the key.').optional(),
  });

const environmentVariable = object('An environment variable.', {
  name: text('Name of the variable.', { minLength: 1, maxLength: 253, pattern: '^[-._a-zA-Z][-._a-zA-Z0-9]*$' }),
  value: text('Value of the variable.', { maxLength: 32_768 }).optional(),
  valueFrom: object('Source of the value.', {
    secretKeyRef: keyOf(
      'Kubernetes Secret',
      ' The Secret must be bound to this object through `spec.dependencies`, or marked as usable by it.',
    ).optional(),
    configMapKeyRef: keyOf('ConfigMap').optional(),
  })
    .rules({
      rule: 'has(self.secretKeyRef) != has(self.configMapKeyRef)',
      message: 'exactly one of secretKeyRef and configMapKeyRef must be set',
    })
    .optional(),
}).rules({
  rule: '!(has(self.value) && has(self.valueFrom))',
  message: 'value and valueFrom are mutually exclusive',
  fieldPath: '.valueFrom',
});

const autoscaling = object(
  'Autoscaling settings. While autoscaling is enabled, `replicas` is only the initial number.',
  {
    enabled: boolean(
      'Whether autoscaling is enabled. Set it to false to disable autoscaling and keep the settings.',
    ).default(true),
    minReplicas: replicas('Minimum number of replicas.').default(1),
    maxReplicas: integer('Maximum number of replicas.', { minimum: 1, maximum: 1000 }),
    targetCPUUtilizationPercentage: integer('Target average CPU utilization, as a percentage of the requested CPU.', {
      minimum: 1,
      maximum: 100,
    }).optional(),
  },
).rules({
  rule: 'self.minReplicas <= self.maxReplicas',
  message: 'minReplicas must not be greater than maxReplicas: raise maxReplicas or lower minReplicas',
  fieldPath: '.minReplicas',
});

const loadBalancer = object('Load balancer: access from outside of the cluster.', {
  enabled: boolean(
    'Whether the load balancer is enabled. Set it to false to disable it and keep the settings.',
  ).default(true),
  // There is no default: the user decides who can reach the service, and a policy can restrict it.
  scope: choice(
    'Reachability: `internal` is the company network, `external` the internet. Without it, the service must not be reachable from the internet.',
    ['internal', 'external'],
  ).optional(),
  host: text('Host name, for example `users.company.com`. It must belong to the team: see `spec.hosts` of the Team.', {
    maxLength: 253,
    pattern: HOST_PATTERN,
  }).optional(),
  path: text('Path prefix.', { maxLength: 1024, pattern: '^/\\S*$' }).default('/'),
  port: integerOrText(
    'Port of the service that receives the requests, by number or name. Defaults to the first port.',
    {
      maxLength: 63,
    },
  ).optional(),
  tls: object('TLS settings.', {
    secretName: objectName(
      'Kubernetes Secret with the certificate and the key. It must be marked as usable by this object.',
    ).optional(),
  }).optional(),
  sourceRanges: set(
    'Source networks that can connect, in CIDR notation. Defaults to all networks that `scope` admits.',
    text('A network such as `10.0.0.0/8`.', { maxLength: 43, pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$' }),
    { maxItems: 64 },
  ).optional(),
});

const spec = deployableSpec('Desired state of the service.', {
  image: text(
    'Container image. The pipeline that builds the image can set it after creation; until then nothing is deployed.',
    { minLength: 1, maxLength: 1024, pattern: '^\\S+$' },
  ).optional(),
  command: list('Command that overrides the entrypoint of the image.', argument, { maxItems: 64 }).optional(),
  args: list('Arguments of the command.', argument, { maxItems: 256 }).optional(),
  replicas: replicas('Desired number of replicas.').default(1),
  ports: list(
    'Ports of the service.',
    object('A port.', {
      name: shortName('Name of the port.').optional(),
      port: port('Port that clients connect to.'),
      targetPort: port('Port of the container. Defaults to `port`.').optional(),
      protocol: choice('Protocol. Defaults to `TCP`.', ['TCP', 'UDP', 'SCTP']).optional(),
    }),
    { maxItems: 32 },
  )
    .rules({
      rule: `self.all(p, self.exists_one(q, q.port == p.port && ${protocolOf('q')} == ${protocolOf('p')}))`,
      message: 'each combination of port and protocol must be unique',
      reason: 'FieldValueDuplicate',
    })
    .optional(),
  env: listByKey('Environment variables.', ['name'], environmentVariable, { maxItems: 256 }).optional(),
  resources: object('CPU and memory of each replica.', {
    requests: amounts('Requested resources.').optional(),
    limits: amounts('Resource limits.').optional(),
  }).optional(),
  healthCheck: object('Readiness check of a replica.', {
    path: text('Path that returns a status below 400 if the replica is ready.', {
      maxLength: 1024,
      pattern: '^/\\S*$',
    }).default('/'),
    port: integerOrText('Port of the check, by number or name. Defaults to the first port.', {
      maxLength: 63,
    }).optional(),
  }).optional(),
  autoscaling: autoscaling.optional(),
  loadBalancer: loadBalancer.optional(),
});

const status = object('Observed state of the service.', {
  ...deployableStatusFields,
  replicas: integer('Number of replicas.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  readyReplicas: integer('Number of ready replicas.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
  selector: text('Label selector of the replicas in string form, for autoscalers.', { maxLength: 1024 }).optional(),
  url: text('External URL of the service.', { maxLength: 2048 }).optional(),
});

export const service = defineKind({
  kind: 'Service',
  plural: 'services',
  singular: 'service',
  shortName: 'kservice',
  scope: 'Namespaced',
  deployable: true,
  description:
    'A Service of the platform is one microservice: containers of one image, with ports, scaling and a load balancer. It is not the Service of the Kubernetes core API.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 63,
  columns: [
    { name: 'Image', type: 'string', jsonPath: '.spec.image', description: 'Container image.', priority: 1 },
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas', description: 'Desired number of replicas.' },
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
