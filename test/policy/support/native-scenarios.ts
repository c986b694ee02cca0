/**
 * Native policies and requests that they match. The expected results are not listed here: the API server returns them,
 * and the engine must return the same.
 */

export type Json = Readonly<Record<string, unknown>>;

export interface Row {
  readonly reason: string;
  readonly operation?: 'CREATE' | 'UPDATE' | 'DELETE';
  /** The object that is sent, for CREATE and UPDATE. */
  readonly object?: Json;
  /** The stored object, for UPDATE and DELETE. */
  readonly old?: Json;
  readonly subresource?: string;
  /** Whether our denial message differs, because the API server mentions its own informers and configuration. */
  readonly ownWords?: boolean;
}

export interface Scenario {
  readonly name: string;
  /** The labels of the namespace of all requests in the scenario. */
  readonly labels?: Readonly<Record<string, string>>;
  /** The params objects in that namespace. */
  readonly params?: readonly Json[];
  readonly policies: readonly NativePolicy[];
  readonly rows: readonly Row[];
}

export interface NativePolicy {
  readonly kind: 'Validating' | 'Mutating';
  readonly name: string;
  readonly spec: Json;
  /** The bindings; their names are that of the policy with -0, -1. */
  readonly bindings: readonly Json[];
}

const ALL = { apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE', 'DELETE'], resources: ['*'] };
const rule = (fields: object): Json => ({ ...ALL, ...fields });
const configMap = (name: string, data: object = {}, metadata: object = {}): Json => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});
const deployment = (name: string, fields: object = {}, container: object = {}): Json => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, labels: { app: name } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'main', image: 'registry.example.com/app:1', ...container }] },
    },
    ...fields,
  },
});
const pod = (name: string, spec: object = {}, metadata: object = {}): Json => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: { containers: [{ name: 'main', image: 'registry.example.com/app:1' }], ...spec },
});
const thing = (name: string, spec: object): Json => ({
  apiVersion: 'native.test.kidp.dev/v1',
  kind: 'Thing',
  metadata: { name },
  spec,
});

const validating = (
  name: string,
  validations: readonly object[],
  spec: object = {},
  ...bindings: readonly Json[]
): NativePolicy => ({
  kind: 'Validating',
  name,
  spec: { matchConstraints: { resourceRules: [ALL] }, validations, ...spec },
  bindings: bindings.length === 0 ? [{ validationActions: ['Deny'] }] : bindings,
});
const mutating = (
  name: string,
  mutations: readonly object[],
  spec: object = {},
  ...bindings: readonly Json[]
): NativePolicy => ({
  kind: 'Mutating',
  name,
  spec: {
    matchConstraints: { resourceRules: [rule({ operations: ['CREATE', 'UPDATE'] })] },
    reinvocationPolicy: 'Never',
    mutations,
    ...spec,
  },
  bindings: bindings.length === 0 ? [{}] : bindings,
});
const NEVER = [{ expression: 'false', message: 'never' }];
const apply = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } });
const patch = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } });

const matching: readonly Scenario[] = [
  {
    name: 'resource rules',
    policies: [
      validating('by-resource', NEVER, {
        matchConstraints: {
          resourceRules: [
            rule({ apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'], operations: ['CREATE'] }),
            rule({ apiGroups: [''], resources: ['configmaps'], resourceNames: ['named', 'named-too'] }),
          ],
          excludeResourceRules: [rule({ apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['spared'] })],
        },
      }),
    ],
    rows: [
      { reason: 'a resource that is named', object: deployment('a') },
      { reason: 'an operation that is not', operation: 'UPDATE', old: deployment('b'), object: deployment('b') },
      { reason: 'a resource that is not', object: pod('c') },
      { reason: 'a name that is named', object: configMap('named') },
      { reason: 'a name that is not', object: configMap('other') },
      { reason: 'another operation of the second rule', operation: 'DELETE', old: configMap('named-too') },
      { reason: 'what is excluded', object: deployment('spared') },
    ],
  },
  {
    name: 'subresources',
    policies: [
      validating('on-scale', NEVER, {
        matchConstraints: { resourceRules: [rule({ apiGroups: ['apps'], resources: ['deployments/scale'] })] },
      }),
      validating('on-any-of-pods', NEVER, {
        matchConstraints: { resourceRules: [rule({ apiGroups: [''], resources: ['pods/*'] })] },
      }),
    ],
    rows: [
      { reason: 'the resource itself is not its subresource', object: deployment('a') },
      {
        reason: 'the subresource that is named',
        operation: 'UPDATE',
        subresource: 'scale',
        old: deployment('b'),
        object: { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'b' }, spec: { replicas: 2 } },
      },
      { reason: 'pods/* is also about pods', object: pod('c') },
      { reason: 'and about their status', operation: 'UPDATE', subresource: 'status', old: pod('d'), object: pod('d') },
      { reason: 'and about nothing else', object: configMap('e') },
    ],
  },
  {
    name: 'everything with its subresources',
    policies: [
      validating('on-all', [{ expression: "request.?subResource.orValue('') != 'status'", message: 'a status' }], {
        matchConstraints: { resourceRules: [rule({ resources: ['*/*'] })] },
      }),
    ],
    rows: [
      { reason: 'a resource', object: configMap('a') },
      { reason: 'a subresource', operation: 'UPDATE', subresource: 'status', old: pod('b'), object: pod('b') },
    ],
  },
  {
    name: 'labels of the object',
    policies: [
      validating('by-label', NEVER, {
        matchConstraints: {
          resourceRules: [ALL],
          objectSelector: { matchExpressions: [{ key: 'tier', operator: 'In', values: ['gold', 'silver'] }] },
        },
      }),
    ],
    rows: [
      { reason: 'a label that is selected', object: configMap('a', {}, { labels: { tier: 'gold' } }) },
      { reason: 'another value', object: configMap('b', {}, { labels: { tier: 'wood' } }) },
      { reason: 'no label', object: configMap('c') },
      {
        reason: 'a label that was there before',
        operation: 'UPDATE',
        old: configMap('d', {}, { labels: { tier: 'gold' } }),
        object: configMap('d'),
      },
      { reason: 'the label of what goes', operation: 'DELETE', old: configMap('e', {}, { labels: { tier: 'gold' } }) },
    ],
  },
  {
    name: 'labels of the namespace, which has them',
    labels: { env: 'prod' },
    policies: [
      validating('by-namespace', NEVER, {
        matchConstraints: {
          resourceRules: [rule({ resources: ['configmaps'] })],
          namespaceSelector: { matchLabels: { env: 'prod' } },
        },
      }),
    ],
    rows: [{ reason: 'selected', object: configMap('a') }],
  },
  {
    name: 'labels of the namespace, which has others',
    labels: { env: 'test' },
    policies: [
      validating('by-other-namespace', NEVER, {
        matchConstraints: {
          resourceRules: [rule({ resources: ['configmaps'] })],
          namespaceSelector: { matchExpressions: [{ key: 'env', operator: 'NotIn', values: ['test', 'prod'] }] },
        },
      }),
    ],
    rows: [{ reason: 'not selected', object: configMap('a') }],
  },
  {
    name: 'the binding narrows the policy',
    policies: [
      validating(
        'narrowed',
        NEVER,
        {},
        {
          validationActions: ['Deny'],
          matchResources: {
            resourceRules: [rule({ apiGroups: [''], resources: ['configmaps'] })],
            objectSelector: { matchLabels: { strict: 'yes' } },
          },
        },
        {
          validationActions: ['Warn'],
          matchResources: { resourceRules: [rule({ apiGroups: [''], resources: ['configmaps'] })] },
        },
      ),
    ],
    rows: [
      { reason: 'both bindings', object: configMap('a', {}, { labels: { strict: 'yes' } }) },
      { reason: 'the wide one', object: configMap('b') },
      { reason: 'none', object: pod('c') },
    ],
  },
  {
    name: 'scope of the resource',
    policies: [
      validating('namespaced', NEVER, {
        matchConstraints: { resourceRules: [rule({ resources: ['configmaps'], scope: 'Namespaced' })] },
      }),
      validating('cluster', NEVER, {
        matchConstraints: { resourceRules: [rule({ resources: ['pods'], scope: 'Cluster' })] },
      }),
    ],
    rows: [
      { reason: 'in a namespace', object: configMap('a') },
      { reason: 'not of the cluster', object: pod('b') },
    ],
  },
  {
    name: 'other versions of the same',
    policies: [
      validating('on-v2', [{ expression: 'object.spec.maxReplicas < 5', message: 'too many' }], {
        matchConstraints: {
          resourceRules: [
            rule({ apiGroups: ['autoscaling'], apiVersions: ['v2'], resources: ['horizontalpodautoscalers'] }),
          ],
        },
      }),
      validating('exactly-v2', NEVER, {
        matchConstraints: {
          matchPolicy: 'Exact',
          resourceRules: [
            rule({ apiGroups: ['autoscaling'], apiVersions: ['v2'], resources: ['horizontalpodautoscalers'] }),
          ],
          objectSelector: { matchLabels: { exact: 'yes' } },
        },
      }),
    ],
    rows: [
      { reason: 'v1 counts as v2', object: autoscaler('v1', 'a', 9) },
      { reason: 'and is judged as that', object: autoscaler('v1', 'b', 3) },
      { reason: 'Exact means v2 alone', object: autoscaler('v1', 'c', 3, { exact: 'yes' }) },
      { reason: 'v2 itself', object: autoscaler('v2', 'd', 3, { exact: 'yes' }) },
    ],
  },
];

function autoscaler(version: string, name: string, maxReplicas: number, labels: object = {}): Json {
  return {
    apiVersion: `autoscaling/${version}`,
    kind: 'HorizontalPodAutoscaler',
    metadata: { name, labels },
    spec: { maxReplicas, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' } },
  };
}

const CONFIG_MAPS = { matchConstraints: { resourceRules: [rule({ apiGroups: [''], resources: ['configmaps'] })] } };

const expressions: readonly Scenario[] = [
  {
    name: 'messages and reasons',
    policies: [
      validating(
        'messages',
        [
          { expression: '!has(object.data.a)', message: '  a is not wanted  ', reason: 'Forbidden' },
          { expression: '!has(object.data.b)' },
          { expression: '!has(object.data.c)', messageExpression: "'c is ' + object.data.c", message: 'not this' },
          { expression: '!has(object.data.d)', messageExpression: "'d is ' + object.data.none", message: 'd it is' },
          { expression: '!has(object.data.e)', messageExpression: "'two\\nlines'", message: 'one line' },
          { expression: '!has(object.data.f)', messageExpression: "'   '", message: 'f' },
          { expression: '!has(object.data.g)', reason: 'RequestEntityTooLarge', message: 'g' },
          { expression: '  !has(object.data.h)  ' },
          { expression: '!has(object.data.i)', messageExpression: "' trimmed '" },
        ],
        CONFIG_MAPS,
      ),
    ],
    rows: [
      { reason: 'a message with a reason', object: configMap('a', { a: '1' }) },
      { reason: 'no message: the expression', object: configMap('b', { b: '1' }) },
      { reason: 'a computed message', object: configMap('c', { c: '1' }) },
      { reason: 'one that fails gives way to the other', object: configMap('d', { d: '1' }) },
      { reason: 'so does one of two lines', object: configMap('e', { e: '1' }) },
      { reason: 'so does an empty one', object: configMap('f', { f: '1' }) },
      { reason: 'another reason', object: configMap('g', { g: '1' }) },
      { reason: 'spaces around an expression', object: configMap('h', { h: '1' }) },
      { reason: 'spaces around a message', object: configMap('i', { i: '1' }) },
      { reason: 'nothing wrong', object: configMap('z', { z: '1' }) },
    ],
  },
  {
    name: 'errors under Fail',
    policies: [
      validating(
        'fails',
        [{ expression: "object.data.mode == 'on' || object.data.number.startsWith('1')", message: 'm' }],
        CONFIG_MAPS,
      ),
    ],
    rows: [
      { reason: 'an error counts as a denial', object: configMap('a', { other: '1' }) },
      { reason: 'one that the other side makes up for does not', object: configMap('b', { mode: 'on' }) },
      { reason: 'a plain no', object: configMap('c', { mode: 'off', number: '2' }) },
    ],
  },
  {
    name: 'errors under Ignore',
    policies: [
      validating('ignores', [{ expression: "object.data.mode == 'on'", message: 'm' }], {
        ...CONFIG_MAPS,
        failurePolicy: 'Ignore',
      }),
    ],
    rows: [
      { reason: 'an error counts for nothing', object: configMap('a') },
      { reason: 'a no still counts', object: configMap('b', { mode: 'off' }) },
    ],
  },
  {
    name: 'match conditions',
    policies: [
      validating('conditional', NEVER, {
        ...CONFIG_MAPS,
        matchConditions: [
          { name: 'wanted', expression: "object.metadata.name.startsWith('x')" },
          { name: 'brittle', expression: "object.data.mode == 'strict'" },
        ],
      }),
    ],
    rows: [
      { reason: 'both hold', object: configMap('xa', { mode: 'strict' }) },
      { reason: 'one does not', object: configMap('xb', { mode: 'lax' }) },
      { reason: 'one fails, which is a failure', object: configMap('xc') },
      { reason: 'one fails and the other is false, which is no match', object: configMap('ya') },
      { reason: 'there is no object on DELETE', operation: 'DELETE', old: configMap('xd', { mode: 'strict' }) },
    ],
  },
  {
    name: 'match conditions under Ignore',
    policies: [
      validating('conditional-ignore', NEVER, {
        ...CONFIG_MAPS,
        failurePolicy: 'Ignore',
        matchConditions: [{ name: 'brittle', expression: "object.data.mode == 'strict'" }],
      }),
    ],
    rows: [
      { reason: 'one that fails is no match', object: configMap('a') },
      { reason: 'one that holds is one', object: configMap('b', { mode: 'strict' }) },
    ],
  },
  {
    name: 'variables',
    policies: [
      validating(
        'with-variables',
        [
          {
            expression: 'variables.images.all(i, i.startsWith(variables.registry))',
            messageExpression: "'images: ' + variables.images.join(', ')",
          },
          { expression: "!has(object.metadata.labels.broken) || variables.broken == 'x'", message: 'broken' },
        ],
        {
          matchConstraints: { resourceRules: [rule({ apiGroups: ['apps'], resources: ['deployments'] })] },
          variables: [
            { name: 'registry', expression: "'registry.example.com/'" },
            { name: 'containers', expression: 'object.spec.template.spec.containers' },
            { name: 'images', expression: 'variables.containers.map(c, c.image)' },
            { name: 'broken', expression: 'object.metadata.labels.missing' },
          ],
        },
      ),
    ],
    rows: [
      { reason: 'compliant, and an unread variable does not fail', object: deployment('a') },
      { reason: 'a variable of a variable', object: deployment('b', {}, { image: 'docker.io/x' }) },
      {
        reason: 'a variable that fails',
        object: { ...deployment('c'), metadata: { name: 'c', labels: { app: 'c', broken: 'yes' } } },
      },
    ],
  },
  {
    name: 'what expressions see of the request and the namespace',
    labels: { team: 'blue' },
    policies: [
      validating(
        'sees',
        [
          { expression: "request.operation != 'UPDATE' || object.data.v != oldObject.data.v", message: 'unchanged' },
          {
            expression: "request.operation != 'DELETE' || object == null && oldObject.data.keep == 'no'",
            message: 'kept',
          },
          { expression: "namespaceObject.metadata.labels.team == 'blue'", message: 'not blue' },
          {
            expression: "request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps'",
            message: 'kind',
          },
          { expression: "request.userInfo.groups.exists(g, g == 'system:masters')", message: 'who' },
          { expression: 'request.dryRun', message: 'for real' },
          { expression: "request.operation == 'CREATE' ? oldObject == null : true", message: 'old' },
        ],
        CONFIG_MAPS,
      ),
    ],
    rows: [
      { reason: 'a new one', object: configMap('a', { v: '1' }) },
      { reason: 'no change', operation: 'UPDATE', old: configMap('b', { v: '1' }), object: configMap('b', { v: '1' }) },
      { reason: 'a change', operation: 'UPDATE', old: configMap('c', { v: '1' }), object: configMap('c', { v: '2' }) },
      { reason: 'must not be deleted', operation: 'DELETE', old: configMap('d', { keep: 'yes' }) },
      { reason: 'may go', operation: 'DELETE', old: configMap('e', { keep: 'no' }) },
    ],
  },
];

const PARAMS = { ...CONFIG_MAPS, paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } };
const asked = { matchConditions: [{ name: 'asked', expression: 'has(object.data.ask)' }] };
const parameters: readonly Scenario[] = [
  {
    name: 'params by name',
    params: [configMap('limits', { max: '3' })],
    policies: [
      validating(
        'by-name',
        [
          {
            expression: 'int(object.data.ask) <= int(params.data.max)',
            messageExpression: "'at most ' + params.data.max",
          },
        ],
        { ...PARAMS, ...asked },
        { validationActions: ['Deny'], paramRef: { name: 'limits', parameterNotFoundAction: 'Deny' } },
      ),
    ],
    rows: [
      { reason: 'within', object: configMap('a', { ask: '2' }) },
      { reason: 'beyond', object: configMap('b', { ask: '4' }) },
    ],
  },
  {
    name: 'params that are not there',
    policies: [
      validating(
        'gone-deny',
        NEVER,
        { ...PARAMS, matchConditions: [{ name: 'deny', expression: 'has(object.data.deny)' }] },
        { validationActions: ['Deny'], paramRef: { name: 'gone', parameterNotFoundAction: 'Deny' } },
      ),
    ],
    rows: [
      { reason: 'Deny', object: configMap('a', { deny: '1' }), ownWords: true },
      { reason: 'Deny comes before the match conditions', object: configMap('b'), ownWords: true },
    ],
  },
  {
    name: 'params that are not there and need not be',
    policies: [
      validating('gone-allow', NEVER, PARAMS, {
        validationActions: ['Deny'],
        paramRef: { name: 'gone', parameterNotFoundAction: 'Allow' },
      }),
      validating(
        'gone-ignore',
        NEVER,
        { ...PARAMS, failurePolicy: 'Ignore' },
        { validationActions: ['Deny'], paramRef: { name: 'gone', parameterNotFoundAction: 'Deny' } },
      ),
    ],
    rows: [{ reason: 'Allow, and Deny under Ignore', object: configMap('a') }],
  },
  {
    name: 'params by selector',
    params: [
      configMap('p-one', { max: '3' }, { labels: { limits: 'yes' } }),
      configMap('p-two', { max: '5' }, { labels: { limits: 'yes' } }),
      configMap('p-other', { max: '0' }),
    ],
    policies: [
      validating(
        'by-selector',
        [
          {
            expression: 'int(object.data.ask) <= int(params.data.max)',
            messageExpression: "'at most ' + params.data.max",
          },
        ],
        { ...PARAMS, ...asked },
        {
          validationActions: ['Warn'],
          paramRef: { selector: { matchLabels: { limits: 'yes' } }, parameterNotFoundAction: 'Deny' },
        },
      ),
    ],
    rows: [
      { reason: 'within all', object: configMap('a', { ask: '2' }) },
      { reason: 'beyond one', object: configMap('b', { ask: '4' }) },
      { reason: 'beyond both', object: configMap('c', { ask: '9' }) },
    ],
  },
  {
    name: 'params that the binding does not name',
    policies: [validating('no-reference', [{ expression: 'params != null', message: 'none' }], PARAMS)],
    rows: [{ reason: 'params is null', object: configMap('a') }],
  },
  {
    name: 'match conditions that read params',
    params: [configMap('switch', { on: 'yes' })],
    policies: [
      validating(
        'switched',
        NEVER,
        { ...PARAMS, matchConditions: [{ name: 'on', expression: "params.data.on == 'yes' && has(object.data.ask)" }] },
        { validationActions: ['Deny'], paramRef: { name: 'switch', parameterNotFoundAction: 'Deny' } },
      ),
    ],
    rows: [
      { reason: 'holds', object: configMap('a', { ask: '1' }) },
      { reason: 'does not', object: configMap('b') },
    ],
  },
];

const actions: readonly Scenario[] = [
  {
    name: 'actions',
    policies: [
      validating(
        'acts',
        [
          { expression: '!has(object.data.a)', message: 'no a' },
          { expression: '!has(object.data.b)', message: 'no b' },
        ],
        CONFIG_MAPS,
        { validationActions: ['Warn', 'Audit'] },
        { validationActions: ['Audit'], matchResources: { objectSelector: { matchLabels: { quiet: 'yes' } } } },
        {
          validationActions: ['Deny', 'Audit'],
          matchResources: { objectSelector: { matchLabels: { strict: 'yes' } } },
        },
      ),
    ],
    rows: [
      { reason: 'warned of and recorded', object: configMap('a', { a: '1' }) },
      { reason: 'two warnings', object: configMap('b', { a: '1', b: '1' }) },
      { reason: 'nothing', object: configMap('c') },
      { reason: 'denied too', object: configMap('d', { b: '1' }, { labels: { strict: 'yes' } }) },
      { reason: 'warned of by one, recorded by two', object: configMap('e', { b: '1' }, { labels: { quiet: 'yes' } }) },
    ],
  },
  {
    name: 'an error that is warned of',
    policies: [
      validating('warns-of-errors', [{ expression: "object.data.x == '1'" }], CONFIG_MAPS, {
        validationActions: ['Warn'],
      }),
    ],
    rows: [{ reason: 'is admitted', object: configMap('a') }],
  },
  {
    name: 'audit annotations',
    policies: [
      {
        kind: 'Validating',
        name: 'annotates',
        spec: {
          ...CONFIG_MAPS,
          validations: [{ expression: '!has(object.data.bad)', message: 'bad' }],
          auditAnnotations: [
            { key: 'data', valueExpression: "'keys: ' + string(size(object.data))" },
            { key: 'maybe', valueExpression: "has(object.data.bad) ? 'bad' : ''" },
            { key: 'none', valueExpression: 'null' },
            { key: 'empty', valueExpression: "'  '" },
          ],
        },
        bindings: [{ validationActions: ['Deny'] }],
      },
    ],
    rows: [
      { reason: 'compliant', object: configMap('a', { x: '1' }) },
      { reason: 'where it is not', object: configMap('b', { bad: '1' }) },
    ],
  },
  {
    name: 'annotations that fail',
    policies: [
      {
        kind: 'Validating',
        name: 'annotates-wrongly',
        spec: { ...CONFIG_MAPS, auditAnnotations: [{ key: 'x', valueExpression: 'string(object.data.none)' }] },
        bindings: [{ validationActions: ['Warn'] }],
      },
    ],
    rows: [{ reason: 'count as denials, whatever the actions are', object: configMap('a') }],
  },
];

const PODS = {
  matchConstraints: { resourceRules: [rule({ apiGroups: [''], resources: ['pods'], operations: ['CREATE'] })] },
};
const mutations: readonly Scenario[] = [
  {
    name: 'configurations',
    policies: [
      mutating(
        'labels',
        [
          apply(
            'Object{metadata: Object.metadata{labels: {"added": "yes"}, annotations: {"note": object.metadata.name}}}',
          ),
        ],
        PODS,
      ),
      mutating(
        'containers',
        [
          apply(`Object{spec: Object.spec{
            initContainers: [Object.spec.initContainers{name: "init", image: "busybox"}],
            containers: object.spec.containers.map(c, Object.spec.containers{
              name: c.name,
              env: [Object.spec.containers.env{name: "ADDED", value: "1"}, Object.spec.containers.env{name: "PRESENT", value: "new"}]
            })
          }}`),
        ],
        PODS,
      ),
    ],
    rows: [
      { reason: 'a plain pod', object: pod('a') },
      {
        reason: 'lists that are maps are merged by key',
        object: pod(
          'b',
          {
            initContainers: [{ name: 'first', image: 'x' }],
            containers: [
              {
                name: 'main',
                image: 'x',
                env: [
                  { name: 'BEFORE', value: '0' },
                  { name: 'PRESENT', value: 'old' },
                ],
              },
              { name: 'second', image: 'y' },
            ],
          },
          { labels: { added: 'no', kept: 'yes' } },
        ),
      },
    ],
  },
  {
    name: 'configurations of volumes, ports and security',
    policies: [
      mutating(
        'more',
        [
          apply(`Object{spec: Object.spec{
          volumes: [Object.spec.volumes{name: "cache", emptyDir: Object.spec.volumes.emptyDir{}}],
          securityContext: Object.spec.securityContext{runAsNonRoot: true},
          containers: [Object.spec.containers{
            name: "main",
            volumeMounts: [Object.spec.containers.volumeMounts{name: "cache", mountPath: "/cache"}],
            ports: [Object.spec.containers.ports{containerPort: 8080, protocol: "TCP", name: "http"}],
            resources: Object.spec.containers.resources{limits: {"memory": "64Mi"}}
          }]
        }}`),
        ],
        PODS,
      ),
    ],
    rows: [
      { reason: 'where there was nothing', object: pod('a') },
      {
        reason: 'where there was something',
        object: pod('b', {
          securityContext: { runAsUser: 1000 },
          volumes: [{ name: 'data', emptyDir: {} }],
          imagePullSecrets: [{ name: 'own' }],
          containers: [
            {
              name: 'main',
              image: 'x',
              ports: [{ containerPort: 8080 }, { containerPort: 8080, protocol: 'UDP' }],
              volumeMounts: [{ name: 'data', mountPath: '/data' }],
              resources: { limits: { cpu: '1' } },
            },
          ],
        }),
      },
    ],
  },
  {
    name: 'a merge that is invalid because its elements are atomic',
    policies: [
      mutating(
        'atomic-elements',
        [apply('Object{spec: Object.spec{imagePullSecrets: [Object.spec.imagePullSecrets{name: "pull"}]}}')],
        PODS,
      ),
    ],
    rows: [{ reason: 'elements that can only be replaced whole', object: pod('a'), ownWords: true }],
  },
  {
    name: 'an invalid merge',
    policies: [
      mutating(
        'atomic',
        [apply('Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: "x", operator: "Exists"}]}}')],
        PODS,
      ),
    ],
    rows: [{ reason: 'an atomic list', object: pod('a'), ownWords: true }],
  },
  {
    name: 'an invalid merge, with Ignore',
    policies: [
      mutating(
        'atomic-ignored',
        [
          apply('Object{spec: Object.spec{nodeSelector: {"a": "b"}}}'),
          apply('Object{metadata: Object.metadata{labels: {"after": "yes"}}}'),
        ],
        { ...PODS, failurePolicy: 'Ignore' },
      ),
    ],
    rows: [{ reason: 'what comes after goes on', object: pod('a') }],
  },
  {
    name: 'no such field',
    policies: [mutating('unknown-field', [apply('Object{spec: Object.spec{nonsense: 1}}')], PODS)],
    rows: [{ reason: 'is an error', object: pod('a'), ownWords: true }],
  },
  {
    name: 'an object under a wrong name',
    policies: [mutating('misnamed', [apply('Object{spec: Object.metadata{}}')], PODS)],
    rows: [{ reason: 'is an error', object: pod('a') }],
  },
  {
    name: 'patches',
    policies: [
      mutating(
        'patches',
        [
          patch(`[
          JSONPatch{op: "test", path: "/spec/containers/0/name", value: "main"},
          JSONPatch{op: "add", path: "/spec/tolerations/-", value: Object.spec.tolerations{key: "added", operator: "Exists"}},
          JSONPatch{op: "replace", path: "/spec/containers/0/image", value: "replaced:1"},
          JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/a.b"), value: "escaped"},
          JSONPatch{op: "copy", from: "/metadata/labels/app", path: "/metadata/labels/copied"},
          JSONPatch{op: "move", from: "/metadata/labels/old", path: "/metadata/labels/moved"},
          JSONPatch{op: "remove", path: "/metadata/labels/gone"}
        ]`),
        ],
        { ...PODS, matchConditions: [{ name: 'patched', expression: 'has(object.metadata.labels)' }] },
      ),
    ],
    rows: [
      {
        reason: 'every operation',
        object: pod(
          'a',
          { tolerations: [{ key: 'own', operator: 'Exists' }] },
          { labels: { app: 'a', old: 'x', gone: 'y' } },
        ),
      },
      {
        reason: 'a test that fails leaves all as it was',
        object: pod(
          'b',
          { containers: [{ name: 'other', image: 'x' }] },
          { labels: { app: 'b', old: 'x', gone: 'y' } },
        ),
      },
      { reason: 'a patch that does not apply', object: pod('c', {}, { labels: { app: 'c' } }), ownWords: true },
      { reason: 'a condition that does not hold', object: pod('d') },
    ],
  },
  {
    name: 'one after the other',
    policies: [
      mutating(
        'chain-a',
        [
          apply('Object{metadata: Object.metadata{labels: {"step": "1"}}}'),
          patch('[JSONPatch{op: "replace", path: "/metadata/labels/step", value: object.metadata.labels.step + "2"}]'),
          apply('Object{metadata: Object.metadata{labels: {"step": object.metadata.labels.step + "3"}}}'),
        ],
        PODS,
      ),
    ],
    rows: [{ reason: 'each sees what those before did', object: pod('a') }],
  },
  {
    name: 'mutated, then judged',
    policies: [
      mutating('defaults', [apply('Object{metadata: Object.metadata{labels: {"owner": "nobody"}}}')], {
        ...PODS,
        matchConditions: [
          { name: 'without', expression: "!has(object.metadata.labels) || !('owner' in object.metadata.labels)" },
        ],
      }),
      validating(
        'wants-owner',
        [
          {
            expression: "object.metadata.labels.owner != 'nobody' || object.metadata.name == 'a'",
            messageExpression: "'owner ' + object.metadata.labels.owner",
          },
        ],
        PODS,
      ),
    ],
    rows: [
      { reason: 'the default is judged', object: pod('b') },
      { reason: 'and admitted', object: pod('a') },
      { reason: 'what was there stays', object: pod('c', {}, { labels: { owner: 'ada' } }) },
    ],
  },
  {
    name: 'mutations with params and variables',
    params: [configMap('defaults', { team: 'green' })],
    policies: [
      mutating(
        'with-params',
        [apply('Object{metadata: Object.metadata{labels: {"team": variables.team}}}')],
        {
          ...PODS,
          paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
          variables: [{ name: 'team', expression: 'params.data.team + "-" + request.operation.lowerAscii()' }],
        },
        { paramRef: { name: 'defaults', parameterNotFoundAction: 'Deny' } },
      ),
    ],
    rows: [{ reason: 'read from another object', object: pod('a') }],
  },
  {
    name: 'custom resources',
    policies: [
      mutating(
        'things',
        [
          apply(
            'Object{spec: Object.spec{tags: ["added", "b"], rules: [Object.spec.rules{port: 80, to: "x"}], free: Object.spec.free{a: 1}}}',
          ),
        ],
        {
          matchConstraints: {
            resourceRules: [
              rule({ apiGroups: ['native.test.kidp.dev'], resources: ['things'], operations: ['CREATE'] }),
            ],
          },
        },
      ),
    ],
    rows: [
      {
        reason: 'a set, a map with a default, and what has no schema',
        object: thing('a', {
          tags: ['a', 'b'],
          rules: [
            { port: 443, protocol: 'TCP' },
            { port: 80, protocol: 'TCP', to: 'y' },
          ],
          free: { b: [1] },
        }),
      },
      { reason: 'where there was nothing', object: thing('b', {}) },
    ],
  },
  {
    name: 'a list of a custom resource that is not marked',
    policies: [
      mutating('things-atomic', [apply('Object{spec: Object.spec{plain: ["x"]}}')], {
        matchConstraints: {
          resourceRules: [rule({ apiGroups: ['native.test.kidp.dev'], resources: ['things'], operations: ['CREATE'] })],
        },
      }),
    ],
    rows: [{ reason: 'cannot be merged', object: thing('a', { plain: ['y'] }), ownWords: true }],
  },
];

export const scenarios: readonly Scenario[] = [...matching, ...expressions, ...parameters, ...actions, ...mutations];
