/** The DeploymentTarget kind: a destination for deployments and the broker that serves it. */
import {
  ageColumn,
  objectName,
  phaseColumn,
  prose,
  readyColumn,
  reasonColumn,
  shortName,
  statusFields,
} from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { immutable, integer, map, object, text } from './schema/index.ts';

const spec = object('Desired state of the target.', {
  description: prose('Human-readable purpose of the target.').optional(),
  provider: shortName('Infrastructure provider, for example `azure`, `aws`, `gcp` or `onprem`. Immutable.'),
  region: text('Region as named by the provider, for example `westus2`. Immutable.', {
    minLength: 1,
    maxLength: 63,
    pattern: '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$',
  }).optional(),
  environment: shortName('Environment of the target, for example `staging` or `production`.').optional(),
  brokerRef: object('Broker that serves the target. Until it exists, deployments to the target stay pending.', {
    name: objectName('Name of the Broker.'),
  }).optional(),
  parameters: map(
    'Parameters of the target for the broker, for example a subscription or a cluster. Never credentials.',
    text('Value of the parameter.', { maxLength: 2048 }),
    { maxProperties: 64 },
  ).optional(),
}).rules(
  immutable(
    'provider',
    'spec.provider cannot be changed after creation, because resources are deployed there: create another DeploymentTarget',
  ),
  immutable(
    'region',
    'spec.region cannot be changed after creation, because resources are deployed there: create another DeploymentTarget',
  ),
);

const status = object('Observed state of the target.', {
  ...statusFields,
  resources: integer('Number of resources deployed to the target.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
});

export const deploymentTarget = defineKind({
  kind: 'DeploymentTarget',
  plural: 'deploymenttargets',
  singular: 'deploymenttarget',
  shortName: 'ktarget',
  scope: 'Cluster',
  deployable: false,
  description: 'A DeploymentTarget is a logical destination: one provider, region and environment. A Broker serves it.',
  spec,
  status,
  maxNameLength: 253,
  columns: [
    {
      name: 'Provider',
      type: 'string',
      jsonPath: '.spec.provider',
      description: 'Infrastructure provider, for example `azure`, `aws`, `gcp` or `onprem`. Immutable.',
    },
    { name: 'Region', type: 'string', jsonPath: '.spec.region', description: 'Where it is.' },
    { name: 'Environment', type: 'string', jsonPath: '.spec.environment', description: 'What it is used for.' },
    { name: 'Broker', type: 'string', jsonPath: '.spec.brokerRef.name', description: 'The broker that serves it.' },
    phaseColumn,
    readyColumn,
    ageColumn,
    reasonColumn,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: DeploymentTarget
metadata:
  name: azure-westus2-prod
spec:
  provider: azure
  region: westus2
  environment: production
  brokerRef: {name: azure-westus2}
`,
});

export type DeploymentTarget = ObjectOf<typeof deploymentTarget>;
