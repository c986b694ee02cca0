/** PolicyException: who may do otherwise than a Policy says, why, and until when. */
import {
  ageColumn,
  anyMatch,
  dateOrInstant,
  matchConditions,
  objectName,
  phaseColumn,
  prose,
  readyColumn,
  reasonColumn,
  statusFields,
  unobserved,
} from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { boolean, list, listByKey, object, text } from './schema/index.ts';

const spec = object('What is exempt from what.', {
  policies: listByKey(
    'The policies that need not be followed.',
    ['name'],
    object('One policy.', {
      name: objectName('The name of the Policy.'),
      rules: list(
        'The rules of it. Left out, all of them.',
        text('The name of a rule.', { minLength: 1, maxLength: 253 }),
        {
          minItems: 1,
          maxItems: 128,
        },
      ).optional(),
    }),
    { minItems: 1, maxItems: 32 },
  ),
  selector: anyMatch('What is exempt.').optional(),
  matchConditions: matchConditions.optional(),
  reason: prose('Why.', 4096),
  requester: text('Who asked for it.', { minLength: 1, maxLength: 256 }),
  expiresAt: dateOrInstant('Until when, for example `2026-01-31`. Left out, until it is deleted.').optional(),
}).rules({
  rule: 'has(self.selector) || has(self.matchConditions)',
  message: 'say what is exempt with spec.selector or spec.matchConditions; an empty selector exempts everything',
  reason: 'FieldValueRequired',
  fieldPath: '.selector',
});

const status = object('What the platform has made of it.', {
  ...statusFields,
  expired: boolean('Whether its time is over.').optional(),
});

export const policyException = defineKind({
  kind: 'PolicyException',
  plural: 'policyexceptions',
  singular: 'policyexception',
  shortName: 'kpolex',
  scope: 'Namespaced',
  deployable: false,
  description:
    'A PolicyException exempts objects from rules of policies, for a reason, at the request of someone, and for a time. It is honoured only in the namespaces that the platform is configured with.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 253,
  columns: [
    {
      name: 'Policies',
      type: 'string',
      jsonPath: '.spec.policies[*].name',
      description: 'The policies that need not be followed.',
    },
    { name: 'Requester', type: 'string', jsonPath: '.spec.requester', description: 'Who asked for it.' },
    { name: 'Expires', type: 'string', jsonPath: '.spec.expiresAt', description: 'Until when.' },
    phaseColumn,
    readyColumn,
    ageColumn,
    reasonColumn,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: PolicyException
metadata:
  name: legacy-reports
  namespace: policy-exceptions
spec:
  policies:
  - name: require-backup
    rules: [require-backup]
  selector:
    resourceTypes: [Database]
    namespaces: [team-reporting]
    names: ["legacy-*"]
  reason: Rebuilt from the warehouse every night until the migration is done.
  requester: ada@company.com
  expiresAt: "2027-01-31"
`,
});

export type PolicyException = ObjectOf<typeof policyException>;
