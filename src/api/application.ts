/** Application: the unit that a team deploys. It contains services and lives in environments. */
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

const spec = ownedSpec('What the application is.', {
  description: prose('What the application does.').optional(),
  repository: text('Where its source is.', {
    maxLength: 2048,
    pattern: '^((https?|ssh|git)://|[^@\\s]+@[^:\\s]+:)\\S+$',
  }).optional(),
  environments: listByKey(
    'The environments that the application lives in, in the order in which a release passes through them.',
    ['name'],
    object('One environment.', {
      name: shortName('The name of the environment, for example `staging` or `production`.'),
      targetRef: targetRef.optional(),
      description: prose('What the environment is for.').optional(),
    }),
    { maxItems: 32 },
  ).optional(),
});

const status = object('What the platform has made of it.', {
  ...ownedStatusFields,
  services: object('The Services that the application owns.', {
    total: count('How many there are.'),
    ready: count('How many of them are ready.'),
  }).optional(),
  environments: listByKey(
    'How the application fares in each environment.',
    ['name'],
    object('One environment.', {
      name: shortName('The name of the environment.'),
      phase: choice('The worst phase of what is deployed there.', [
        'pending',
        'deploying',
        'ready',
        'failed',
        'unknown',
      ]),
      total: count('How many resources of the application are deployed there.').optional(),
      ready: count('How many of them are ready.').optional(),
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
    'An Application is a unit of deployment: it belongs to a Team, contains Services and what they need, and lives in environments.',
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
      description: 'How many services it contains.',
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
