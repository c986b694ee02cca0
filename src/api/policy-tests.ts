/** The tests embedded in a Policy: requests and their expected results. */
import { shortName } from './common/index.ts';
import { anyObject, boolean, choice, list, listByKey, map, object, text } from './schema/index.ts';

const name = (description: string) => text(description, { minLength: 1, maxLength: 512 });

const request = object('Attributes of the request.', {
  operation: choice('Operation of the request. Defaults to UPDATE if `oldObject` is set, else to CREATE.', [
    'CREATE',
    'UPDATE',
    'DELETE',
    'CONNECT',
  ]).optional(),
  subresource: text('Subresource, for example `status`.', { maxLength: 63 }).optional(),
  dryRun: boolean('Whether the request is a dry run.').optional(),
  options: anyObject('Options of the operation.').optional(),
});

const user = object('Requesting user.', {
  username: name('Name of the user.').optional(),
  uid: name('UID of the user.').optional(),
  groups: list('Groups of the user.', name('A group.'), { maxItems: 64 }).optional(),
  extra: map('Extra attributes of the user.', list('Values of the attribute.', name('A value.'), { maxItems: 32 }), {
    maxProperties: 32,
  }).optional(),
});

const namespace = object('Namespace of the object.', {
  name: shortName('Name of the namespace. Defaults to the namespace of the object.').optional(),
  labels: map('Labels of the namespace.', text('Value of the label.', { maxLength: 63 }), {
    maxProperties: 64,
  }).optional(),
  annotations: map('Annotations of the namespace.', text('Value of the annotation.', { maxLength: 4096 }), {
    maxProperties: 64,
  }).optional(),
});

const part = (description: string) => text(description, { maxLength: 253 }).optional();

const authorizer = list(
  'Results of `authorizer` checks: the first matching entry applies, and a check without a matching entry is not allowed. If omitted, rules that use `authorizer` are skipped.',
  object('A result and the checks that it applies to. Omitted fields match any value.', {
    verb: part('Verb.'),
    group: part('API group of the resource; empty for the core group.'),
    resource: part('Plural name of the resource.'),
    subresource: part('Subresource.'),
    namespace: part('Namespace.'),
    name: part('Name of the object.'),
    path: text('Non-resource path, for example `/healthz`.', { maxLength: 1024 }).optional(),
    serviceAccount: object(
      'Service account of `authorizer.serviceAccount`. If omitted, the entry applies to the requesting user.',
      {
        namespace: shortName('Namespace of the service account.'),
        name: text('Name of the service account.', { minLength: 1, maxLength: 253 }),
      },
    ).optional(),
    allowed: boolean('Whether the check is allowed. Defaults to true, unless `error` is set.').optional(),
    reason: text('Return value of `reason()`.', { maxLength: 1024 }).optional(),
    error: text('Error of the check.', { maxLength: 1024 }).optional(),
  }),
  { maxItems: 64 },
);

const expectation = object('Expected result. Omitted fields are not compared.', {
  allowed: boolean('Whether the request is allowed.').optional(),
  message: text('Substring of the denial message.', { maxLength: 4096 }).optional(),
  warnings: list(
    'Substrings of the expected warnings, in any order. Other warnings fail the test.',
    text('Substring of a warning.', { maxLength: 4096 }),
    { maxItems: 64 },
  ).optional(),
  audited: list(
    'Substrings of the expected audit messages of rules that neither deny nor warn, in any order. Other messages fail the test.',
    text('Substring of a message.', { maxLength: 4096 }),
    { maxItems: 64 },
  ).optional(),
  object: anyObject('Expected object after mutation. Every field given here must have the given value.').optional(),
});

export const policyTests = listByKey(
  'Tests of the policy. A Policy whose tests fail is denied.',
  ['name'],
  object('A test.', {
    name: text('Name of the test.', { minLength: 1, maxLength: 253 }),
    object: anyObject('Object of the request. Omitted on DELETE.').optional(),
    oldObject: anyObject('Existing object, on UPDATE and DELETE.').optional(),
    request: request.optional(),
    user: user.optional(),
    namespace: namespace.optional(),
    params: list('Objects provided as `params`.', anyObject('An object.'), { maxItems: 16 }).optional(),
    context: map(
      'Objects provided for each variable of `context`.',
      list('Objects of the variable.', anyObject('An object.'), { maxItems: 64 }),
      {
        maxProperties: 16,
      },
    ).optional(),
    authorizer: authorizer.optional(),
    expect: expectation,
  }),
  { maxItems: 256 },
);
