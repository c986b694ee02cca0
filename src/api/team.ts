/** The Team kind: an identity on the platform and the boundary of what a team owns. */
import {
  ageColumn,
  costTags,
  monthlyCosts,
  phaseColumn,
  prose,
  quantity,
  readyColumn,
  reasonColumn,
  shortName,
  statusFields,
} from './common/index.ts';
import { HOST_PATTERN } from './hosts.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { immutable, integer, map, object, set, text } from './schema/index.ts';

const subject = (description: string) => text(description, { minLength: 1, maxLength: 256 });

const spec = object('Desired state of the team.', {
  namespace: shortName(
    'Namespace of the team. It is created if it does not exist, and is the value of the label `platform.company.com/team` on everything that the team owns. Immutable.',
  ),
  displayName: prose('Display name of the team.', 128).optional(),
  description: prose('Human-readable description of the team.').optional(),
  contact: prose('Contact of the team: an email address, a channel, a pager.', 256).optional(),
  rbac: object('Members of the team. They get the role `team-developer` in its namespace.', {
    members: set('Users, as named by the authentication of the cluster.', subject('A user.'), {
      maxItems: 512,
    }).optional(),
    groups: set(
      'Groups, as named by the authentication of the cluster, for example from SSO or LDAP.',
      subject('A group.'),
      {
        maxItems: 64,
      },
    ).optional(),
  }).optional(),
  quota: map(
    'Resource quota of the namespace, as in a ResourceQuota: `requests.cpu`, `limits.memory`, `count/databases.platform.company.com` …',
    quantity('Limit, for example `"20"` or `64Gi`.'),
    { maxProperties: 64 },
  ).optional(),
  hosts: set(
    'Hosts of the team: names, or `*.` followed by a domain for every name below it. Services of the team can use only these; no two Teams can have the same. Only platform administrators write Teams.',
    text('A host such as `users.company.com` or `*.backend.company.com`.', {
      minLength: 1,
      maxLength: 253,
      pattern: HOST_PATTERN,
    }),
    { maxItems: 64 },
  ).optional(),
  costTags: costTags.optional(),
}).rules(
  immutable('namespace', 'spec.namespace cannot be changed after creation: create another Team for another namespace'),
);

const status = object('Observed state of the team.', {
  ...statusFields,
  namespace: shortName('Namespace that was provisioned.').optional(),
  resources: integer('Number of resources that the team owns, directly or through its Applications.', {
    minimum: 0,
    maximum: 2_147_483_647,
  }).optional(),
  costs: monthlyCosts.optional(),
});

export const team = defineKind({
  kind: 'Team',
  plural: 'teams',
  singular: 'team',
  shortName: 'kteam',
  scope: 'Cluster',
  deployable: false,
  description:
    'A Team is an identity and an ownership boundary. It has a namespace, members with a role in it, a quota and cost-allocation tags.',
  spec,
  status,
  maxNameLength: 63,
  columns: [
    {
      name: 'Namespace',
      type: 'string',
      jsonPath: '.spec.namespace',
      description: 'Namespace of the team.',
    },
    phaseColumn,
    readyColumn,
    ageColumn,
    reasonColumn,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: Team
metadata:
  name: backend-team
spec:
  namespace: team-backend
  displayName: Backend
  contact: backend@company.com
  rbac:
    members: [ada@company.com]
    groups: [engineering-backend]
  quota:
    requests.cpu: "20"
    requests.memory: 64Gi
    count/databases.platform.company.com: "10"
  hosts: [users.company.com, "*.backend.company.com"]
  costTags:
    cost-center: "4711"
`,
});

export type Team = ObjectOf<typeof team>;
