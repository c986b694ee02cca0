/** The PolicyException kind: exempts objects from policies, with a reason, a requester and an expiry. */
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

const spec = object('The exemption.', {
  policies: listByKey(
    'Policies that the exception applies to.',
    ['name'],
    object('A policy.', {
      name: objectName('Name of the Policy.'),
      rules: list(
        'Rules of the policy that the exception applies to. Defaults to all rules.',
        text('Name of a rule.', { minLength: 1, maxLength: 253 }),
        {
          minItems: 1,
          maxItems: 128,
        },
      ).optional(),
    }),
    { minItems: 1, maxItems: 32 },
  ),
  selector: anyMatch('Selects the exempt requests.').optional(),
  matchConditions: matchConditions.optional(),
  reason: prose('Reason for the exception.', 4096),
  requester: text('Person or team that requested the exception.', { minLength: 1, maxLength: 256 }),
  expiresAt: dateOrInstant(
    'Expiry, for example `2026-01-31`. If omitted, the exception applies until it is deleted.',
  ).optional(),
}).rules({
  rule: 'has(self.selector) || has(self.matchConditions)',
  message: 'spec.selector or spec.matchConditions must be set; an empty selector exempts everything',
  reason: 'FieldValueRequired',
  fieldPath: '.selector',
});

const status = object('Observed state of the exception.', {
  ...statusFields,
  expired: boolean('Whether the exception has expired.').optional(),
});

export const policyException = defineKind({
  kind: 'PolicyException',
  plural: 'policyexceptions',
  singular: 'policyexception',
  shortName: 'kpolex',
  scope: 'Namespaced',
  deployable: false,
  description:
    'A PolicyException exempts requests from rules of policies, with a reason, a requester and an optional expiry. It takes effect only in the namespaces that the platform is configured with.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 253,
  columns: [
    {
      name: 'Policies',
      type: 'string',
      jsonPath: '.spec.policies[*].name',
      description: 'Policies that the exception applies to.',
    },
    {
      name: 'Requester',
      type: 'string',
      jsonPath: '.spec.requester',
      description: 'Person or team that requested the exception.',
    },
    { name: 'Expires', type: 'string', jsonPath: '.spec.expiresAt', description: 'Expiry of the exception.' },
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
