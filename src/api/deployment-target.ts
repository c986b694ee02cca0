/** DeploymentTarget: a place where resources are deployed, and the broker that serves it. */
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

const spec = object('What the target is.', {
  description: prose('What the target is for.').optional(),
  provider: shortName('Whose infrastructure it is, for example `azure`, `aws`, `gcp` or `onprem`. It never changes.'),
  region: text('Where it is, as the provider calls it, for example `westus2`. It never changes.', {
    minLength: 1,
    maxLength: 63,
    pattern: '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$',
  }).optional(),
  environment: shortName('What it is used for, for example `staging` or `production`.').optional(),
  brokerRef: object('The Broker that serves the target. Until there is one, what is aimed at the target waits.', {
    name: objectName('The name of the Broker.'),
  }).optional(),
  parameters: map(
    'What the broker needs to know about the target, for example a subscription or a cluster. Never credentials.',
    text('The value.', { maxLength: 2048 }),
    { maxProperties: 64 },
  ).optional(),
}).rules(
  immutable(
    'provider',
    'spec.provider is fixed at creation, because resources are deployed there: create another DeploymentTarget',
  ),
  immutable(
    'region',
    'spec.region is fixed at creation, because resources are deployed there: create another DeploymentTarget',
  ),
);

const status = object('What the platform knows about the target.', {
  ...statusFields,
  resources: integer('How many resources are deployed there.', { minimum: 0, maximum: 2_147_483_647 }).optional(),
});

export const deploymentTarget = defineKind({
  kind: 'DeploymentTarget',
  plural: 'deploymenttargets',
  singular: 'deploymenttarget',
  shortName: 'ktarget',
  scope: 'Cluster',
  deployable: false,
  description:
    'A DeploymentTarget is a logical destination of one provider, region and environment. A Broker serves it.',
  spec,
  status,
  maxNameLength: 253,
  columns: [
    { name: 'Provider', type: 'string', jsonPath: '.spec.provider', description: 'Whose infrastructure it is.' },
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
