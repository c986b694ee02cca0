/** Secret: sensitive configuration that a broker makes or fetches. The values themselves are never in this object. */
import { deployableColumns, deployableSpec, deployableStatusFields, objectName, unobserved } from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { choice, integer, listByKey, object, text } from './schema/index.ts';

const key = object('One entry.', {
  name: text('The key under which the value stands in the Kubernetes Secret.', {
    minLength: 1,
    maxLength: 253,
    pattern: '^[-._a-zA-Z0-9]+$',
  }),
  generate: object('Make the value up at random.', {
    length: integer('How many characters it has. Left out, 32.', { minimum: 8, maximum: 1024 }).optional(),
    alphabet: choice('What it is made of. Left out, `alphanumeric`.', [
      'alphanumeric',
      'hex',
      'base64',
      'printable',
    ]).optional(),
  }).optional(),
  remoteRef: object('Fetch the value from the secret store of the deployment target.', {
    path: text('Where it is in the store.', { minLength: 1, maxLength: 1024 }),
    property: text('Which part of it, where the store keeps several under one path.', { maxLength: 253 }).optional(),
    version: text('Which version of it. Left out, the newest.', { maxLength: 128 }).optional(),
  }).optional(),
}).rules({
  rule: 'has(self.generate) != has(self.remoteRef)',
  message: 'give exactly one of generate and remoteRef: a value is either made up or fetched',
});

const spec = deployableSpec(
  'The sensitive configuration to have. Values are made up or fetched by the broker, never written here.',
  {
    secretName: objectName(
      'The Kubernetes Secret to write, in the namespace of this object. Left out, it has the name of this object.',
    ).optional(),
    type: text('The type of the Kubernetes Secret, for example `kubernetes.io/tls`.', {
      minLength: 1,
      maxLength: 253,
    }).default('Opaque'),
    keys: listByKey('The entries of the Kubernetes Secret.', ['name'], key, { maxItems: 64 }).optional(),
    rotationDays: integer(
      'Make or fetch the values anew after this many days. Left out, they stay until someone asks.',
      {
        minimum: 1,
        maximum: 3650,
      },
    ).optional(),
  },
);

const status = object('What the platform and the broker have made of it.', deployableStatusFields);

export const secret = defineKind({
  kind: 'Secret',
  plural: 'secrets',
  singular: 'secret',
  shortName: 'ksecret',
  scope: 'Namespaced',
  deployable: true,
  description:
    'A Secret of the platform says which sensitive configuration is needed and where it comes from. A broker makes or fetches the values and writes them into a Kubernetes Secret; they are never in this object.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 63,
  columns: [...deployableColumns],
  example: `
apiVersion: platform.company.com/v1
kind: Secret
metadata:
  name: payment-gateway
  namespace: team-backend
spec:
  owner:
    kind: Application
    name: user-service
    namespace: team-backend
  targetRef: {name: azure-westus2-prod}
  keys:
  - name: api-key
    remoteRef: {path: payments/gateway, property: api-key}
  - name: cookie-secret
    generate: {length: 64}
  rotationDays: 90
`,
});

export type Secret = ObjectOf<typeof secret>;
