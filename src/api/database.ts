/** The Database kind: a managed database on any provider. */
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

const spec = deployableSpec('Desired state of the database.', {
  engine: choice('Engine of the database. Immutable.', [
    'postgresql',
    'mysql',
    'mariadb',
    'sqlserver',
    'mongodb',
  ]).default('postgresql'),
  version: text(
    'Version of the engine, for example `"16"`. Defaults to the newest version that the broker offers. The major version cannot be decreased.',
    {
      maxLength: 32,
      pattern: '^[0-9]{1,9}(\\.[0-9]{1,9}){0,3}$',
    },
  )
    .rules({
      rule: "int(self.split('.')[0]) >= int(oldSelf.split('.')[0])",
      message: 'the major version cannot be decreased: restore a backup into a new Database of the older version',
    })
    .optional(),
  size: size(
    'Size: a platform size class (`small`, `medium`, `large`, `xlarge`) or an amount of storage such as `100Gi`. Defaults to the smallest size that the broker offers.',
  ).optional(),
  // The backup fields have no defaults: the user decides about backups, and a policy can require them.
  backup: object('Backup settings.', {
    enabled: boolean('Whether backups are enabled.').optional(),
    schedule: text('Schedule as a cron expression in UTC, for example `0 3 * * *`.', {
      minLength: 1,
      maxLength: 128,
      pattern: '^(@(hourly|daily|weekly|monthly)|[^ ]+( +[^ ]+){4})$',
    }).optional(),
    retentionDays: integer('Number of days that a backup is kept.', { minimum: 1, maximum: 3650 }).optional(),
  }).optional(),
  connectionSecret: connectionSecret.optional(),
}).rules(
  immutable('engine', 'spec.engine cannot be changed after creation: create another Database and migrate the data'),
  {
    // Without this rule a version could be removed and a lower one set later.
    rule: '!has(oldSelf.version) || has(self.version)',
    message: 'spec.version cannot be removed once it is set: keep it, or set a later version',
    fieldPath: '.version',
    reason: 'FieldValueForbidden',
  },
);

const status = object('Observed state of the database.', deployableStatusFields);

export const database = defineKind({
  kind: 'Database',
  plural: 'databases',
  singular: 'database',
  shortName: 'kdb',
  scope: 'Namespaced',
  deployable: true,
  description: 'A Database is a managed database instance with backups and a connection secret, on any provider.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 63,
  columns: [
    { name: 'Engine', type: 'string', jsonPath: '.spec.engine', description: 'Engine of the database.' },
    {
      name: 'Version',
      type: 'string',
      jsonPath: '.spec.version',
      description: 'Version of the engine.',
      priority: 1,
    },
    {
      name: 'Backup',
      type: 'boolean',
      jsonPath: '.spec.backup.enabled',
      description: 'Whether backups are enabled.',
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
