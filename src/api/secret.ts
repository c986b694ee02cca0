/**
 * The Secret kind: sensitive configuration that a broker generates or fetches. The object never contains the values.
 */
import { deployableColumns, deployableSpec, deployableStatusFields, objectName, unobserved } from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { choice, integer, listByKey, object, text } from './schema/index.ts';

const key = object('An entry of the Kubernetes Secret.', {
  name: text('Key of the value in the Kubernetes Secret.', {
    minLength: 1,
    maxLength: 253,
    pattern: '^[-._a-zA-Z0-9]+$',
  }),
  generate: object('Generates a random value.', {
    length: integer('Number of characters. Defaults to 32.', { minimum: 8, maximum: 1024 }).optional(),
    alphabet: choice('Alphabet of the generated value. Defaults to `alphanumeric`.', [
      'alphanumeric',
      'hex',
      'base64',
      'printable',
    ]).optional(),
  }).optional(),
  remoteRef: object('Fetches the value from the secret store of the deployment target.', {
    path: text('Path in the secret store.', { minLength: 1, maxLength: 1024 }),
    property: text('Property within the path, if the store keeps several values under one path.', {
      maxLength: 253,
    }).optional(),
    version: text('Version of the value. Defaults to the newest.', { maxLength: 128 }).optional(),
  }).optional(),
}).rules({
  rule: 'has(self.generate) != has(self.remoteRef)',
  message: 'exactly one of generate and remoteRef must be set: a value is either generated or fetched',
});

const spec = deployableSpec(
  'Desired state of the secret. The broker generates or fetches the values; they are never written here.',
  {
    secretName: objectName(
      'Kubernetes Secret to write, in the namespace of this object. Defaults to the name of this object.',
    ).optional(),
    type: text('Type of the Kubernetes Secret, for example `kubernetes.io/tls`.', {
      minLength: 1,
      maxLength: 253,
    }).default('Opaque'),
    keys: listByKey('Entries of the Kubernetes Secret.', ['name'], key, { maxItems: 64 }).optional(),
    rotationDays: integer(
      'Number of days after which the values are generated or fetched again. If omitted, they are rotated only on request.',
      {
        minimum: 1,
        maximum: 3650,
      },
    ).optional(),
  },
);

const status = object('Observed state of the secret.', deployableStatusFields);

export const secret = defineKind({
  kind: 'Secret',
  plural: 'secrets',
  singular: 'secret',
  shortName: 'ksecret',
  scope: 'Namespaced',
  deployable: true,
  description:
    'A Secret of the platform declares which sensitive configuration is needed and where it comes from. A broker generates or fetches the values and writes them to a Kubernetes Secret; this object never contains them.',
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
