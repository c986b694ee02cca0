/** Which requests something is about: shared by the selector and the exclusions of a Policy and by PolicyException. */
import { choice, list, listByKey, object, set, text } from '../schema/index.ts';
import { expression } from './patterns.ts';
import { labelSelector, matchExpressions, matchLabels } from './references.ts';

const glob = (description: string, maxLength = 253) => text(description, { minLength: 1, maxLength });

/** A bare Kind, or group/version/Kind[/subresource] with `*` for any and `core` for the core group. */
const RESOURCE_TYPE =
  '^(\\*|[A-Z][A-Za-z0-9]*|[a-z0-9*][-a-z0-9.*]*/(\\*|v[a-z0-9*]+)/(\\*|[A-Z][A-Za-z0-9]*)(/(\\*|[a-z][a-z0-9/]*))?)$';

export const resourceType = (description: string) =>
  text(description, { minLength: 1, maxLength: 384, pattern: RESOURCE_TYPE });

export const resourceTypes = list(
  'The types of resources. A bare kind is one of the platform (`Database`); anything else is `group/version/Kind`, with a subresource where one is meant, `core` for the core group and `*` for any: `apps/v1/Deployment`, `core/v1/Pod/exec`, `*/*/*`.',
  resourceType('A type of resource.'),
  { minItems: 1, maxItems: 64 },
);

export const operations = set('The operations.', choice('An operation.', ['CREATE', 'UPDATE', 'DELETE', 'CONNECT']), {
  minItems: 1,
  maxItems: 4,
});

/** All that narrows down a match besides the types of resources. All that are given must hold. */
export const matchFields = {
  matchLabels: matchLabels.optional(),
  matchExpressions: matchExpressions.optional(),
  namespaces: list('The namespaces, with `*` and `?` as wildcards.', glob('A namespace.'), {
    maxItems: 128,
  }).optional(),
  namespaceSelector: labelSelector(
    'The labels of the namespace. What has no namespace is selected by them, and never exempted.',
  ).optional(),
  names: list('The names of objects, with `*` and `?` as wildcards.', glob('A name.'), { maxItems: 128 }).optional(),
  users: list('The users who ask, with `*` and `?` as wildcards.', glob('A user.', 512), { maxItems: 128 }).optional(),
  groups: list('The groups of who asks, any of them, with `*` and `?` as wildcards.', glob('A group.', 512), {
    maxItems: 128,
  }).optional(),
  serviceAccounts: list(
    'The service accounts that ask, as `namespace/name`, with `*` and `?` as wildcards.',
    glob('A service account.', 512),
    {
      maxItems: 128,
    },
  ).optional(),
};

export const matchConditions = listByKey(
  'Expressions that must all be true, for what fields cannot say. They are asked before any rule.',
  ['name'],
  object('One condition.', {
    name: text('The name of the condition.', { minLength: 1, maxLength: 253 }),
    expression: expression('A CEL expression that is true where this applies.'),
  }),
  { maxItems: 64 },
);

/** A match in which no field is demanded, not even the types of resources. */
export function anyMatch(description: string) {
  return object(`${description} Where several fields are given, all must hold.`, {
    resourceTypes: resourceTypes.optional(),
    operations: operations.optional(),
    ...matchFields,
  });
}
