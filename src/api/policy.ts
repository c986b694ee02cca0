/** Policy: rules in CEL about any resource of the cluster. */
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

const selector = object('What the policy is about. Where several fields are given, all must hold.', {
  resourceTypes,
  ...matchFields,
  operations: operations.default(['CREATE', 'UPDATE']),
  includeSystemNamespaces: boolean(
    'Also hold in `kube-system` and in the namespace of the platform itself. Without it those two are exempt, so that a policy cannot lock the cluster.',
  ).optional(),
});

const rule = object('One rule.', {
  name: text('The name of the rule.', { minLength: 1, maxLength: 253 }),
  expression: expression(
    'A CEL expression that is true where all is well. `object`, `oldObject`, `request`, `params`, `namespaceObject`, `variables` and `authorizer` are as in the policies of Kubernetes; `spec`, `metadata`, `status`, `apiVersion` and `kind` are short for those of the object.',
  ),
  message: prose('What to tell the user where it is false: what is wrong and what to do.', 4096).optional(),
  messageExpression: expression(
    'A CEL expression that gives the message. Where it fails, `message` is used.',
  ).optional(),
  fieldPath: fieldPath('The field that is wrong, for example `spec.backup.enabled`.').optional(),
  reason: choice('The reason in the answer of the API server.', [
    'Unauthorized',
    'Forbidden',
    'Invalid',
    'RequestEntityTooLarge',
  ]).optional(),
  severity: choice('How bad it is, for reports. Left out, `medium`.', [
    'info',
    'low',
    'medium',
    'high',
    'critical',
  ]).optional(),
  category: text('What it is about, for reports, for example `Reliability`.', { maxLength: 128 }).optional(),
  enforcement: choice(
    'What happens where it is false: `Deny` refuses the request, `Warn` lets it pass with a warning, `Audit` only reports it. Left out, `Deny`.',
    ['Deny', 'Warn', 'Audit'],
  ).optional(),
  enforceAfter: dateOrInstant('Until this date the rule only audits, for example `2026-01-31`.').optional(),
  ratchet: boolean('Let an object that was wrong before be changed as long as it gets no worse.').optional(),
  exceptions: choice('Whether a PolicyException may exempt from this rule. Left out, `Allowed`.', [
    'Allowed',
    'Never',
  ]).optional(),
  auditAnnotations: listByKey(
    'Annotations for the audit log.',
    ['key'],
    object('One annotation.', {
      key: text('The key of the annotation, below the name of the policy.', { minLength: 1, maxLength: 63 }),
      valueExpression: expression('A CEL expression that gives its value, or null for none.'),
    }),
    { maxItems: 20 },
  ).optional(),
});

const mutation = object('One mutation.', {
  name: text('The name of the mutation.', { minLength: 1, maxLength: 253 }).optional(),
  patchType: choice('How the change is written.', ['ApplyConfiguration', 'JSONPatch']),
  applyConfiguration: object('The change as a partial object, merged as by server-side apply.', {
    expression: expression('A CEL expression that gives the partial object: `Object{spec: …}`.'),
  }).optional(),
  jsonPatch: object('The change as a JSON patch.', {
    expression: expression('A CEL expression that gives a list of `JSONPatch{op: …, path: …, value: …}`.'),
  }).optional(),
}).rules({
  rule: "self.patchType == 'ApplyConfiguration' ? has(self.applyConfiguration) && !has(self.jsonPatch) : has(self.jsonPatch) && !has(self.applyConfiguration)",
  message:
    'give applyConfiguration with the patchType ApplyConfiguration and jsonPatch with JSONPatch, and not the other',
});

const apiVersion = text('Its API version, for example `v1` or `apps/v1`.', { minLength: 1, maxLength: 317 });
const kindName = text('Its kind.', { minLength: 1, maxLength: 63, pattern: '^[A-Z][A-Za-z0-9]*$' });

const params = object('Objects that the rules read as `params`. The rules are asked once for each.', {
  apiVersion,
  kind: kindName,
  name: objectName('The name of the one object. Give it or `selector`.').optional(),
  namespace: shortName('Its namespace. Left out, it is that of the object that is judged.').optional(),
  selector: labelSelector('The labels of the objects. Give it or `name`.').optional(),
  parameterNotFoundAction: choice(
    'What happens where there is none: `Allow` skips the policy, `Deny` counts as failure.',
    ['Allow', 'Deny'],
  ).default('Deny'),
}).rules({
  rule: 'has(self.name) != has(self.selector)',
  message: 'give exactly one of name and selector',
});

const context = listByKey(
  'Other objects of the cluster that expressions read by name. They are declared so that the platform may watch them.',
  ['name'],
  object('One variable with objects.', {
    name: identifier('The variable.'),
    apiVersion,
    kind: kindName,
    resourceName: objectName(
      'The name of the one object: the variable is that object, or null. Left out, the variable is a list.',
    ).optional(),
    namespace: shortName('Only this namespace.').optional(),
    selector: labelSelector('Only objects with these labels.').optional(),
  }),
  { maxItems: 16 },
);

const podControllers = object(
  'How a rule that is written for Pods also holds for what creates them. Left out, it holds for the six kinds of Kubernetes.',
  {
    kinds: set(
      'The kinds of Kubernetes that it holds for. An empty list means none.',
      choice('A kind.', ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job', 'CronJob']),
      { maxItems: 6 },
    ).default(['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job', 'CronJob']),
    additional: list(
      'Other kinds that create Pods.',
      object('One kind.', {
        resourceType: resourceType('The type of resource, for example `argoproj.io/v1alpha1/Rollout`.'),
        path: fieldPath('Where the Pod template is in it, for example `spec.template`.'),
      }),
      { maxItems: 32 },
    ).optional(),
  },
);

const spec = object('What the policy says.', {
  description: prose('What the policy is for.', 4096).optional(),
  selector,
  exclude: anyMatch('What is left out although it is selected.').optional(),
  matchConditions: matchConditions.optional(),
  params: params.optional(),
  context: context.optional(),
  variables: list(
    'Expressions that rules and later variables read as `variables.name`. Each is evaluated at most once, when it is first read.',
    object('One variable.', {
      name: identifier('The name of the variable.'),
      expression: expression('A CEL expression that gives its value.'),
    }),
    { maxItems: 64 },
  ).optional(),
  podControllers: podControllers.optional(),
  failurePolicy: choice('What happens where an expression fails: `Fail` counts as a violation, `Ignore` as none.', [
    'Fail',
    'Ignore',
  ]).default('Fail'),
  rules: listByKey('What must hold.', ['name'], rule, { minItems: 1, maxItems: 128 }).optional(),
  mutations: list('What is changed before it is judged, in this order.', mutation, {
    minItems: 1,
    maxItems: 64,
  }).optional(),
  reinvocationPolicy: choice(
    'Whether mutations are asked again after another webhook has changed the object. Left out, they are not.',
    ['Never', 'IfNeeded'],
  ).optional(),
  sensitivePaths: set(
    'Fields whose values are never shown in messages, for example `spec.token`.',
    fieldPath('A field.'),
    { maxItems: 64 },
  ).optional(),
  tests: policyTests.optional(),
}).rules({
  rule: 'has(self.rules) || has(self.mutations)',
  message: 'give at least one rule or mutation',
  reason: 'FieldValueRequired',
  fieldPath: '.rules',
});

const status = object('What the platform has made of the policy.', {
  ...statusFields,
  revision: text('The revision that the webhook judges by.', { maxLength: 128 }).optional(),
  matchedKinds: set(
    'The types of resources that it matches now.',
    text('A type as `group/version/Kind`.', { maxLength: 384 }),
    {
      maxItems: 1024,
    },
  ).optional(),
  typeChecking: list(
    'Where an expression does not fit the schema of what it matches.',
    object('One mismatch.', {
      fieldRef: fieldPath('Which expression, for example `spec.rules[0].expression`.'),
      resourceType: text('The type of resource that it does not fit.', { maxLength: 384 }).optional(),
      severity: choice('Whether it fits nothing that is matched, or only not all.', ['error', 'warning']),
      line: count('The line within the expression, from 1.').optional(),
      column: count('The column within the line, from 1.').optional(),
      message: prose('What does not fit, with the nearest field.', 4096),
    }),
    { maxItems: 64 },
  ).optional(),
  violations: count('How many existing objects violate it.').optional(),
  scannedObjects: count('How many existing objects were judged.').optional(),
  lastScanTime: instant('When existing objects were last judged.').optional(),
  cost: count('The estimated cost of one judgement, in the units of Kubernetes.').optional(),
  p99Microseconds: count('The 99th percentile of how long one judgement took.').optional(),
  tests: object('How its own tests went.', {
    passed: count('How many passed.'),
    failed: count('How many failed.'),
  }).optional(),
  replicas: map('The revision that each replica of the webhook judges by.', text('The revision.', { maxLength: 128 }), {
    maxProperties: 64,
  }).optional(),
});

export const policy = defineKind({
  kind: 'Policy',
  plural: 'policies',
  singular: 'policy',
  shortName: 'kpolicy',
  scope: 'Cluster',
  deployable: false,
  description:
    'A Policy states in CEL what must hold for resources of the cluster, what is changed in them, and how to tell that the policy itself is right.',
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
      description: 'The types of resources that it is about.',
    },
    {
      name: 'Violations',
      type: 'integer',
      jsonPath: '.status.violations',
      description: 'How many existing objects violate it.',
    },
    {
      name: 'Tests',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="TestsPassed")].status',
      description: 'Whether its own tests pass.',
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
    message: Set spec.backup.enabled to true, production data must be restorable.
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
