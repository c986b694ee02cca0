/** Database: a managed database, whichever cloud it runs in. */
import {
  connectionSecret,
  deployableColumns,
  deployableSpec,
  deployableStatusFields,
  size,
  unobserved,
} from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { boolean, choice, immutable, integer, object, text } from './schema/index.ts';

const spec = deployableSpec('The database to have.', {
  engine: choice('The engine. It never changes.', ['postgresql', 'mysql', 'mariadb', 'sqlserver', 'mongodb']).default(
    'postgresql',
  ),
  version: text(
    'The version of the engine, for example `"16"`. Left out, the broker takes its newest. The major version never goes down.',
    {
      maxLength: 32,
      pattern: '^[0-9]{1,9}(\\.[0-9]{1,9}){0,3}$',
    },
  )
    .rules({
      rule: "int(self.split('.')[0]) >= int(oldSelf.split('.')[0])",
      message:
        'the major version of a database cannot go down: restore a backup into a new Database of the older version',
    })
    .optional(),
  size: size(
    'How big it is: a class of the platform (`small`, `medium`, `large`, `xlarge`) or an exact amount of storage such as `100Gi`. Left out, the broker takes its smallest.',
  ).optional(),
  // Nothing in backup has a default: whether there are backups is for the user to say and for a policy to demand.
  backup: object('Whether and how backups are made.', {
    enabled: boolean('Whether backups are made.').optional(),
    schedule: text('When, as a cron expression in UTC, for example `0 3 * * *`.', {
      minLength: 1,
      maxLength: 128,
      pattern: '^(@(hourly|daily|weekly|monthly)|[^ ]+( +[^ ]+){4})$',
    }).optional(),
    retentionDays: integer('For how many days a backup is kept.', { minimum: 1, maximum: 3650 }).optional(),
  }).optional(),
  connectionSecret: connectionSecret.optional(),
}).rules(immutable('engine', 'spec.engine is fixed at creation: create another Database and migrate the data'), {
  // Without it a version could be taken away and a lower one given later.
  rule: '!has(oldSelf.version) || has(self.version)',
  message: 'a version that was given cannot be taken away: keep it, or give a later one',
  fieldPath: '.version',
  reason: 'FieldValueForbidden',
});

const status = object('What the platform and the broker have made of it.', deployableStatusFields);

export const database = defineKind({
  kind: 'Database',
  plural: 'databases',
  singular: 'database',
  shortName: 'kdb',
  scope: 'Namespaced',
  deployable: true,
  description:
    'A Database is a managed database instance with backups and a connection secret, whichever cloud it runs in.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 63,
  columns: [
    { name: 'Engine', type: 'string', jsonPath: '.spec.engine', description: 'The engine.' },
    {
      name: 'Version',
      type: 'string',
      jsonPath: '.spec.version',
      description: 'The version of the engine.',
      priority: 1,
    },
    {
      name: 'Backup',
      type: 'boolean',
      jsonPath: '.spec.backup.enabled',
      description: 'Whether backups are made.',
      priority: 1,
    },
    ...deployableColumns,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: Database
metadata:
  name: users
  namespace: team-backend
  labels:
    database.platform.company.com/type: postgresql
    database.platform.company.com/environment: production
spec:
  owner:
    kind: Application
    name: user-service
    namespace: team-backend
  targetRef: {name: azure-westus2-prod}
  engine: postgresql
  version: "16"
  size: medium
  backup:
    enabled: true
    schedule: 0 3 * * *
    retentionDays: 30
  connectionSecret:
    name: users-db
`,
});

export type Database = ObjectOf<typeof database>;
