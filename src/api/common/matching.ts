/** The fields that match requests, shared by the selector and the exclusions of a Policy and by PolicyException. */
import { choice, list, listByKey, object, set, text } from '../schema/index.ts';
import { expression } from './patterns.ts';
import { labelSelector, matchExpressions, matchLabels } from './references.ts';

const glob = (description: string, maxLength = 253) => text(description, { minLength: 1, maxLength });

/** A bare Kind, or group/version/Kind[/subresource] with `*` as a wildcard and `core` for the core group. */
const RESOURCE_TYPE =
  '^(\\*|[A-Z][A-Za-z0-9]*|[a-z0-9*][-a-z0-9.*]*/(\\*|v[a-z0-9*]+)/(\\*|[A-Z][A-Za-z0-9]*)(/(\\*|[a-z][a-z0-9/]*))?)$';

export const resourceType = (description: string) =>
  text(description, { minLength: 1, maxLength: 384, pattern: RESOURCE_TYPE });

export const resourceTypes = list(
  'Resource types to match. A bare kind is a kind of the platform (`Database`). Any other type is written as `group/version/Kind`, followed by a subresource if needed, with `core` for the core group and `*` as a wildcard: `apps/v1/Deployment`, `core/v1/Pod/exec`, `*/*/*`.',
  resourceType('A resource type.'),
  { minItems: 1, maxItems: 64 },
);

export const operations = set(
  'Operations to match.',
  choice('An operation.', ['CREATE', 'UPDATE', 'DELETE', 'CONNECT']),
  {
    minItems: 1,
    maxItems: 4,
  },
);

/** The fields that narrow a match besides the resource types. All given fields must match. */
export const matchFields = {
  matchLabels: matchLabels.optional(),
  matchExpressions: matchExpressions.optional(),
  namespaces: list('Namespaces to match. `*` and `?` are wildcards.', glob('A namespace.'), {
    maxItems: 128,
  }).optional(),
  namespaceSelector: labelSelector(
    'Label selector for the namespace of the object. In a selector, cluster-scoped objects match; in an exemption, they do not.',
  ).optional(),
  names: list('Object names to match. `*` and `?` are wildcards.', glob('A name.'), { maxItems: 128 }).optional(),
  users: list('Requesting users to match. `*` and `?` are wildcards.', glob('A user.', 512), {
    maxItems: 128,
  }).optional(),
  groups: list(
    'Groups of the requesting user to match; one match is enough. `*` and `?` are wildcards.',
    glob('A group.', 512),
    {
      maxItems: 128,
    },
  ).optional(),
  serviceAccounts: list(
    'Requesting service accounts to match, as `namespace/name`. `*` and `?` are wildcards.',
    glob('A service account.', 512),
    {
      maxItems: 128,
    },
  ).optional(),
};

export const matchConditions = listByKey(
  'CEL expressions that must all be true for a match. They are evaluated before any rule.',
  ['name'],
  object('A match condition.', {
    name: text('Name of the condition.', { minLength: 1, maxLength: 253 }),
    expression: expression('CEL expression that is true if the request matches.'),
  }),
  { maxItems: 64 },
);

/** `anyMatch` builds a match in which every field is optional, including the resource types. */
export function anyMatch(description: string) {
  return object(`${description} All given fields must match.`, {
    resourceTypes: resourceTypes.optional(),
    operations: operations.optional(),
    ...matchFields,
  });
}
