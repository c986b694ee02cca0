/** The Policy kind: CEL rules and mutations for any resource of the cluster. */
import {
  ageColumn,
  anyMatch,
  dateOrInstant,
  expression,
  identifier,
  labelSelector,
  matchConditions,
  matchFields,
  objectName,
  operations,
  prose,
  readyColumn,
  reasonColumn,
  resourceType,
  resourceTypes,
  shortName,
  statusFields,
  unobserved,
} from './common/index.ts';
import { defineKind, type ObjectOf } from './kind.ts';
import { policyTests } from './policy-tests.ts';
import { boolean, choice, instant, integer, list, listByKey, map, object, set, text } from './schema/index.ts';

const fieldPath = (description: string) => text(description, { minLength: 1, maxLength: 1024 });
const count = (description: string) => integer(description, { minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const selector = object('Selects the requests that the policy applies to. All given fields must match.', {
  resourceTypes,
  ...matchFields,
  operations: operations.default(['CREATE', 'UPDATE']),
  includeSystemNamespaces: boolean(
    'Also applies the policy in `kube-system` and in the namespace of the platform. By default these namespaces are exempt, so that a policy cannot lock the cluster.',
  ).optional(),
});

const rule = object('A rule.', {
  name: text('Name of the rule.', { minLength: 1, maxLength: 253 }),
  expression: expression(
    'CEL expression that is true if the request complies. `object`, `oldObject`, `request`, `params`, `namespaceObject`, `variables` and `authorizer` have the same meaning as in a Kubernetes ValidatingAdmissionPolicy; `spec`, `metadata`, `status`, `apiVersion` and `kind` are shorthands for the fields of the object.',
  ),
  message: prose('Message if the expression is false: what is wrong and how to fix it.', 4096).optional(),
  messageExpression: expression(
    'CEL expression that evaluates to the message. If it fails, `message` is used.',
  ).optional(),
  fieldPath: fieldPath('Path of the violating field, for example `spec.backup.enabled`.').optional(),
  reason: choice('Status reason in the response of the API server.', [
    'Unauthorized',
    'Forbidden',
    'Invalid',
    'RequestEntityTooLarge',
  ]).optional(),
  severity: choice('Severity in reports. Defaults to `medium`.', [
    'info',
    'low',
    'medium',
    'high',
    'critical',
  ]).optional(),
  category: text('Category in reports, for example `Reliability`.', { maxLength: 128 }).optional(),
  enforcement: choice(
    'Action if the expression is false: `Deny` denies the request, `Warn` admits it with a warning, `Audit` only reports it. Defaults to `Deny`.',
    ['Deny', 'Warn', 'Audit'],
  ).optional(),
  enforceAfter: dateOrInstant('Date until which the rule only audits, for example `2026-01-31`.').optional(),
  ratchet: boolean(
    'Admits updates of an object that already violates the rule, as long as the update does not make it worse.',
  ).optional(),
  exceptions: choice('Whether a PolicyException can exempt from this rule. Defaults to `Allowed`.', [
    'Allowed',
    'Never',
  ]).optional(),
  auditAnnotations: listByKey(
    'Audit annotations.',
    ['key'],
    object('An audit annotation.', {
      key: text('Key of the annotation, prefixed with the name of the policy.', { minLength: 1, maxLength: 63 }),
      valueExpression: expression('CEL expression that evaluates to the value, or to null for no annotation.'),
    }),
    { maxItems: 20 },
  ).optional(),
});

const mutation = object('A mutation.', {
  name: text('Name of the mutation.', { minLength: 1, maxLength: 253 }).optional(),
  patchType: choice('Type of the patch.', ['ApplyConfiguration', 'JSONPatch']),
  applyConfiguration: object('Patch as a partial object, merged as by server-side apply.', {
    expression: expression('CEL expression that evaluates to the partial object: `Object{spec: …}`.'),
  }).optional(),
  jsonPatch: object('Patch as a JSON Patch.', {
    expression: expression('CEL expression that evaluates to a list of `JSONPatch{op: …, path: …, value: …}`.'),
  }).optional(),
}).rules({
  rule: "self.patchType == 'ApplyConfiguration' ? has(self.applyConfiguration) && !has(self.jsonPatch) : has(self.jsonPatch) && !has(self.applyConfiguration)",
  message:
    'applyConfiguration must be set with patchType ApplyConfiguration, and jsonPatch with JSONPatch; the other must be omitted',
});

const apiVersion = text('API version, for example `v1` or `apps/v1`.', {
  minLength: 1,
  maxLength: 317,
  pattern: '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[a-z]([-a-z0-9]*[a-z0-9])?$',
});
const kindName = text('Kind.', { minLength: 1, maxLength: 63, pattern: '^[A-Z][A-Za-z0-9]*$' });

const params = object(
  'Parameter objects that the rules read as `params`. The rules are evaluated once for each object.',
  {
    apiVersion,
    kind: kindName,
    name: objectName('Name of the object. Mutually exclusive with `selector`.').optional(),
    namespace: shortName(
      'Namespace of the parameter objects. Defaults to the namespace of the evaluated object.',
    ).optional(),
    selector: labelSelector('Label selector for the objects. Mutually exclusive with `name`.').optional(),
    parameterNotFoundAction: choice(
      'Action if no parameter object exists: `Allow` skips the policy, `Deny` counts as a failure.',
      ['Allow', 'Deny'],
    ).default('Deny'),
  },
).rules({
  rule: 'has(self.name) != has(self.selector)',
  message: 'exactly one of name and selector must be set',
});

const context = listByKey(
  'Other objects of the cluster that expressions read as variables. They are declared here so that the platform can watch them.',
  ['name'],
  object('A context variable.', {
    name: identifier('Name of the variable.'),
    apiVersion,
    kind: kindName,
    resourceName: objectName(
      'Name of a single object: the variable is that object, or null. If omitted, the variable is a list.',
    ).optional(),
    namespace: shortName('Restricts the objects to this namespace.').optional(),
    selector: labelSelector('Restricts the objects to these labels.').optional(),
  }),
  { maxItems: 16 },
);

const podControllers = object(
  'Applies rules for Pods to workload controllers as well. Defaults to the six built-in workload kinds.',
  {
    kinds: set(
      'Built-in workload kinds that the rules apply to. An empty list disables them all.',
      choice('A kind.', ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job', 'CronJob']),
      { maxItems: 6 },
    ).default(['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job', 'CronJob']),
    additional: list(
      'Other workload kinds with a Pod template.',
      object('A workload kind.', {
        resourceType: resourceType('Resource type, for example `argoproj.io/v1alpha1/Rollout`.'),
        path: fieldPath('Path of the Pod template, for example `spec.template`.'),
      }),
      { maxItems: 32 },
    ).optional(),
  },
);

const spec = object('Desired state of the policy.', {
  description: prose('Human-readable purpose of the policy.', 4096).optional(),
  selector,
  exclude: anyMatch('Excludes requests that the selector matches.').optional(),
  matchConditions: matchConditions.optional(),
  params: params.optional(),
  context: context.optional(),
  variables: list(
    'Named expressions that rules and later variables read as `variables.name`. Each is evaluated lazily, at most once.',
    object('A variable.', {
      name: identifier('Name of the variable.'),
      expression: expression('CEL expression that evaluates to the value.'),
    }),
    { maxItems: 64 },
  ).optional(),
  podControllers: podControllers.optional(),
  failurePolicy: choice('Result of an expression that fails: `Fail` counts as a violation, `Ignore` does not.', [
    'Fail',
    'Ignore',
  ]).default('Fail'),
  rules: listByKey('Validation rules.', ['name'], rule, { minItems: 1, maxItems: 128 }).optional(),
  mutations: list('Mutations, applied in this order before validation.', mutation, {
    minItems: 1,
    maxItems: 64,
  }).optional(),
  reinvocationPolicy: choice(
    'Whether the mutations are invoked again after another webhook has changed the object. Defaults to `Never`.',
    ['Never', 'IfNeeded'],
  ).optional(),
  sensitivePaths: set(
    'Fields whose values are redacted in messages, for example `spec.token`.',
    fieldPath('A field.'),
    { maxItems: 64 },
  ).optional(),
  tests: policyTests.optional(),
}).rules({
  rule: 'has(self.rules) || has(self.mutations)',
  message: 'at least one rule or mutation is required',
  reason: 'FieldValueRequired',
  fieldPath: '.rules',
});

const status = object('Observed state of the policy.', {
  ...statusFields,
  revision: text('Revision of the policy that the webhook evaluates.', { maxLength: 128 }).optional(),
  matchedKinds: set(
    'Resource types that the policy currently matches.',
    text('A resource type as `group/version/Kind`.', { maxLength: 384 }),
    {
      maxItems: 1024,
    },
  ).optional(),
  typeChecking: list(
    'Type-checking results: expressions that do not fit the schema of a matched resource.',
    object('A type-checking result.', {
      fieldRef: fieldPath('Path of the expression, for example `spec.rules[0].expression`.'),
      resourceType: text('Resource type whose schema the expression does not fit.', { maxLength: 384 }).optional(),
      severity: choice('`error` if the expression fits no matched type, `warning` if it fits some of them.', [
        'error',
        'warning',
      ]),
      line: count('Line within the expression, counted from 1.').optional(),
      column: count('Column within the line, counted from 1.').optional(),
      message: prose('Description of the mismatch, with the closest field name.', 4096),
    }),
    { maxItems: 64 },
  ).optional(),
  violations: count('Number of existing objects that violate the policy.').optional(),
  scannedObjects: count('Number of existing objects that were evaluated.').optional(),
  lastScanTime: instant('Time of the last evaluation of existing objects.').optional(),
  cost: count('Estimated cost of one evaluation, in CEL cost units of Kubernetes.').optional(),
  p99Microseconds: count('99th percentile of the evaluation time, in microseconds.').optional(),
  tests: object('Results of the tests of the policy.', {
    passed: count('Number of passed tests.'),
    failed: count('Number of failed tests.'),
  }).optional(),
  replicas: map(
    'Revision of the policy that each webhook replica evaluates.',
    text('Revision of the policy.', { maxLength: 128 }),
    {
      maxProperties: 64,
    },
  ).optional(),
});

export const policy = defineKind({
  kind: 'Policy',
  plural: 'policies',
  singular: 'policy',
  shortName: 'kpolicy',
  scope: 'Cluster',
  deployable: false,
  description:
    'A Policy defines, in CEL, rules that resources of the cluster must comply with, mutations of them, and tests of the policy.',
  spec,
  status,
  statusBefore: unobserved,
  maxNameLength: 253,
  columns: [
    readyColumn,
    {
      name: 'Types',
      type: 'string',
      jsonPath: '.spec.selector.resourceTypes',
      description: 'Resource types that the policy selects.',
    },
    {
      name: 'Violations',
      type: 'integer',
      jsonPath: '.status.violations',
      description: 'Number of existing objects that violate the policy.',
    },
    {
      name: 'Tests',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="TestsPassed")].status',
      description: 'Whether the tests of the policy pass.',
      priority: 1,
    },
    ageColumn,
    reasonColumn,
  ],
  example: `
apiVersion: platform.company.com/v1
kind: Policy
metadata:
  name: require-backup
spec:
  description: Production databases have backups.
  selector:
    resourceTypes: [Database]
    matchLabels:
      environment: production
  rules:
  - name: require-backup
    expression: "spec.backup.enabled == true"
    message: "Set it to true: production data must be restorable."
    fieldPath: spec.backup.enabled
  tests:
  - name: without a backup
    object:
      apiVersion: platform.company.com/v1
      kind: Database
      metadata: {name: users, namespace: team-backend, labels: {environment: production}}
      spec: {backup: {enabled: false}}
    expect:
      allowed: false
      message: Set spec.backup.enabled to true
`,
});

export type Policy = ObjectOf<typeof policy>;
