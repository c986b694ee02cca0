/** Team: who people are on the platform, and the boundary of what they own. */
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
import { defineKind, type ObjectOf } from './kind.ts';
import { immutable, integer, map, object, set, text } from './schema/index.ts';

const subject = (description: string) => text(description, { minLength: 1, maxLength: 256 });

const spec = object('What the team is.', {
  namespace: shortName(
    'The namespace of the team. It is created if it is not there, and is the value of the label `platform.company.com/team` on everything that the team owns. It never changes.',
  ),
  displayName: prose('The name of the team for people.', 128).optional(),
  description: prose('What the team does.').optional(),
  contact: prose('How to reach the team: an e-mail address, a channel, a pager.', 256).optional(),
  rbac: object('Who belongs to the team. They get the role `team-developer` in its namespace.', {
    members: set('Users by the name that the cluster knows them under.', subject('A user.'), {
      maxItems: 512,
    }).optional(),
    groups: set('Groups by the name that the cluster knows them under, as from SSO or LDAP.', subject('A group.'), {
      maxItems: 64,
    }).optional(),
  }).optional(),
  quota: map(
    'What the namespace may use at most, as in a ResourceQuota: `requests.cpu`, `limits.memory`, `count/databases.platform.company.com` …',
    quantity('The upper limit, for example `"20"` or `64Gi`.'),
    { maxProperties: 64 },
  ).optional(),
  costTags: costTags.optional(),
}).rules(immutable('namespace', 'spec.namespace is fixed at creation: create another Team for another namespace'));

const status = object('What the platform has made of it.', {
  ...statusFields,
  namespace: shortName('The namespace that was set up.').optional(),
  resources: integer('How many resources the team owns, directly or through its applications.', {
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
    'A Team is an identity and an ownership boundary: it has a namespace, people with a role in it, a quota and tags for cost allocation.',
  spec,
  status,
  maxNameLength: 63,
  columns: [
    {
      name: 'Namespace',
      type: 'string',
      jsonPath: '.spec.namespace',
      description: 'The namespace of the team.',
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
  costTags:
    cost-center: "4711"
`,
});

export type Team = ObjectOf<typeof team>;
