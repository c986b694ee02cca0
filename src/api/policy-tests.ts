/** The part of a Policy with which it proves itself: requests, and what is to become of them. */
import { shortName } from './common/index.ts';
import { anyObject, boolean, choice, list, listByKey, map, object, text } from './schema/index.ts';

const name = (description: string) => text(description, { minLength: 1, maxLength: 512 });

const request = object('What is special about the request.', {
  operation: choice('The operation. Left out, it is CREATE, or UPDATE where there is an `oldObject`.', [
    'CREATE',
    'UPDATE',
    'DELETE',
    'CONNECT',
  ]).optional(),
  subresource: text('The subresource, for example `status`.', { maxLength: 63 }).optional(),
  dryRun: boolean('Whether it is a trial.').optional(),
  options: anyObject('The options of the operation.').optional(),
});

const user = object('Who asks.', {
  username: name('The name of the user.').optional(),
  uid: name('The uid of the user.').optional(),
  groups: list('The groups of the user.', name('A group.'), { maxItems: 64 }).optional(),
  extra: map('What else is known of the user.', list('The values.', name('A value.'), { maxItems: 32 }), {
    maxProperties: 32,
  }).optional(),
});

const namespace = object('The namespace of the object.', {
  name: shortName('The name. Left out, it is that of the object.').optional(),
  labels: map('The labels.', text('The value of the label.', { maxLength: 63 }), { maxProperties: 64 }).optional(),
  annotations: map('The annotations.', text('The value of the annotation.', { maxLength: 4096 }), {
    maxProperties: 64,
  }).optional(),
});

const part = (description: string) => text(description, { maxLength: 253 }).optional();

const authorizer = list(
  'What `authorizer` answers: the first of these that is for a question. A question that none is for is answered with no. Left out, rules that ask are not judged.',
  object('An answer, and the questions it is for: what is left out may be anything.', {
    verb: part('The verb.'),
    group: part('The group of the resource; empty for the core group.'),
    resource: part('The plural of the resource.'),
    subresource: part('The subresource.'),
    namespace: part('The namespace.'),
    name: part('The name of the object.'),
    path: text('A path that is no resource, for example `/healthz`.', { maxLength: 1024 }).optional(),
    serviceAccount: object('Whom `authorizer.serviceAccount` asks about. Left out, it is about the user who asks.', {
      namespace: shortName('The namespace of the service account.'),
      name: text('The name of the service account.', { minLength: 1, maxLength: 253 }),
    }).optional(),
    allowed: boolean('Whether it is allowed. Left out, it is, unless there is an error.').optional(),
    reason: text('What `reason()` says.', { maxLength: 1024 }).optional(),
    error: text('Why the question could not be answered.', { maxLength: 1024 }).optional(),
  }),
  { maxItems: 64 },
);

const expectation = object('What is to become of it. What is left out is not compared.', {
  allowed: boolean('Whether it is let in.').optional(),
  message: text('A part of the message of the denial.', { maxLength: 4096 }).optional(),
  warnings: list(
    'Parts of the warnings, in any order, and no others.',
    text('A part of a warning.', { maxLength: 4096 }),
    { maxItems: 64 },
  ).optional(),
  audited: list(
    'Parts of what is only put on record, by rules that do not deny or warn, in any order, and no others.',
    text('A part of a message.', { maxLength: 4096 }),
    { maxItems: 64 },
  ).optional(),
  object: anyObject('What the object looks like after mutation: every field that is given here must be so.').optional(),
});

export const policyTests = listByKey(
  'Tests of the policy by itself. A policy whose tests fail is not let in.',
  ['name'],
  object('One test.', {
    name: text('What is tried.', { minLength: 1, maxLength: 253 }),
    object: anyObject('The object of the request. Left out on DELETE.').optional(),
    oldObject: anyObject('The object as it was before, on UPDATE and DELETE.').optional(),
    request: request.optional(),
    user: user.optional(),
    namespace: namespace.optional(),
    params: list('The objects that stand for `params`.', anyObject('An object.'), { maxItems: 16 }).optional(),
    context: map(
      'The objects that stand for each variable of `context`.',
      list('The objects.', anyObject('An object.'), { maxItems: 64 }),
      {
        maxProperties: 16,
      },
    ).optional(),
    authorizer: authorizer.optional(),
    expect: expectation,
  }),
  { maxItems: 256 },
);
