/**
 * The Application kind: a unit of deployment that a team owns. It contains services and is deployed to environments.
 */
import {
  ageColumn,
  ownedSpec,
  ownedStatusFields,
  ownerColumn,
  phaseColumn,
  prose,
  readyColumn,
  reasonColumn,
  shortName,
  targetRef,
} from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { choice, integer, listByKey, object, text } from './schema/index.ts';

const count = (description: string) => integer(description, { minimum: 0, maximum: 2_147_483_647 });

const spec = ownedSpec('Desired state of the application.', {
  description: prose('Human-readable summary of what the application does.').optional(),
  repository: text('URL of the source repository.', {
    maxLength: 2048,
    pattern: '^((https?|ssh|git)://|[^@\\s]+@[^:\\s]+:)\\S+$',
  }).optional(),
  environments: listByKey(
    'Environments that the application is deployed to, in the order in which a release is promoted through them.',
    ['name'],
    object('An environment of the application.', {
      name: shortName('Name of the environment, for example `staging` or `production`.'),
      targetRef: targetRef.optional(),
      description: prose('Human-readable purpose of the environment.').optional(),
    }),
    { maxItems: 32 },
  ).optional(),
});

const status = object('Observed state of the application.', {
  ...ownedStatusFields,
  services: object('Number of Services that the application owns.', {
    total: count('Total number of Services.'),
    ready: count('Number of Services that are ready.'),
  }).optional(),
  environments: listByKey(
    'Health of the application in each environment.',
    ['name'],
    object('An environment of the application.', {
      name: shortName('Name of the environment.'),
      phase: choice('Worst phase among the resources deployed to the environment.', [
        'pending',
        'deploying',
        'ready',
        'failed',
        'unknown',
      ]),
      total: count('Number of resources of the application that are deployed to the environment.').optional(),
      ready: count('Number of those resources that are ready.').optional(),
    }),
    { maxItems: 32 },
  ).optional(),
});

export const application = defineKind({
  kind: 'Application',
  plural: 'applications',
  singular: 'application',
  shortName: 'kapp',
  scope: 'Namespaced',
  deployable: false,
  description:
    'An Application is a unit of deployment. It belongs to a Team, contains Services and the resources they depend on, and is deployed to environments.',
  spec,
  status,
  maxNameLength: 63,
  columns: [
    phaseColumn,
    readyColumn,
    ownerColumn,
    {
      name: 'Services',
      type: 'integer',
      jsonPath: '.status.services.total',
      description: 'Number of Services that the application owns.',
    },
    ageColumn,
    reasonColumn,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: Application
metadata:
  name: user-service
  namespace: team-backend
spec:
  owner:
    kind: Team
    name: backend-team
  description: Accounts and sign-in
  repository: https://git.company.com/backend/user-service
  environments:
  - name: staging
    targetRef: {name: aws-east1-staging}
  - name: production
    targetRef: {name: azure-westus2-prod}
  dependencies:
    databaseSelector:
      matchLabels:
        database.platform.company.com/type: postgresql
`,
});

export type Application = ObjectOf<typeof application>;
