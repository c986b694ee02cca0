import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { compilePolicy, decide, policySet } from '../engine/index.ts';
import { readPolicy } from '../load/index.ts';
import type { Json } from '../request.ts';
import { emptyWorld } from '../world.ts';
import { convertPolicies } from './convert.ts';

const convert = (text: string) => convertPolicies([parse(text) as Json], { to: 'policy', now: 0 });

function denied(objects: readonly Json[], object: Json, more: object = {}): boolean {
  const policies = objects.flatMap((each) => {
    const { model } = readPolicy(each);
    return model === undefined ? [] : (compilePolicy(model).policy ?? []);
  });
  expect(policies.length).toBe(objects.length);
  const [group = '', version = ''] = String(object.apiVersion).includes('/')
    ? String(object.apiVersion).split('/')
    : ['', String(object.apiVersion)];
  const { name, namespace } = object.metadata as { name: string; namespace: string };
  const kind = { group, version, kind: String(object.kind) };
  const userInfo = { username: 'ada', groups: ['devs'] };
  const request = { uid: 'u', kind, operation: 'CREATE' as const, name, namespace, object, userInfo, ...more };
  return !decide(policySet({ policies }), request, emptyWorld(0)).allowed;
}

const pod = (image: string, metadata: object = {}): Json => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'team', ...metadata },
  spec: { containers: [{ name: 'a', image }] },
});
const deployment = (image: string): Json => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', namespace: 'team' },
  spec: { template: { spec: pod(image).spec } },
});

const VALIDATING = `
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: images, annotations: {policies.kyverno.io/description: why}}
spec:
  validationActions: [Deny]
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  variables: [{name: images, expression: "object.spec.containers.map(c, c.image)"}]
  validations: [{expression: "variables.images.all(i, i.startsWith('ours/'))", message: theirs}]
`;

describe('ValidatingPolicy', () => {
  it('becomes a policy that also covers workload controllers, as in Kyverno', () => {
    const { objects, notes } = convert(VALIDATING);
    expect(notes).toEqual([]);
    expect(objects).toMatchObject([{ metadata: { name: 'images' }, spec: { description: 'why' } }]);
    expect(denied(objects, pod('x'))).toBe(true);
    expect(denied(objects, pod('ours/x'))).toBe(false);
    expect(denied(objects, deployment('x'))).toBe(true);
  });

  it('covers the workload controllers that autogen lists', () => {
    const { objects } = convert(`${VALIDATING}  autogen: {podControllers: {controllers: []}}\n`);
    expect(denied(objects, deployment('x'))).toBe(false);
    const some = convert(`${VALIDATING}  autogen: {podControllers: {controllers: [deployments]}}\n`);
    expect(denied(some.objects, deployment('x'))).toBe(true);
  });

  it('notes fields that Kubernetes does not have', () => {
    const { notes } = convert(`${VALIDATING}  evaluation: {background: {enabled: false}}\n`);
    expect(notes).toMatchObject([{ severity: 'warning', path: 'spec.evaluation' }]);
  });

  it("is refused where it calls Kyverno's own functions", () => {
    const { objects, notes } = convert(
      VALIDATING.replace(
        "variables.images.all(i, i.startsWith('ours/'))",
        "resource.Get('v1', 'pods', 'a', 'b') != null",
      ),
    );
    expect(objects).toEqual([]);
    expect(notes[0]).toMatchObject({ severity: 'error', source: 'ValidatingPolicy/images' });
  });

  it('applies to its own namespace if it is namespaced', () => {
    const { objects } = convert(
      VALIDATING.replace('kind: ValidatingPolicy', 'kind: NamespacedValidatingPolicy').replace(
        'name: images,',
        'name: images, namespace: team,',
      ),
    );
    expect(denied(objects, pod('x'))).toBe(true);
    expect(denied(objects, pod('x', { namespace: 'other' }))).toBe(false);
  });

  it('converts MutatingPolicy', () => {
    const { objects, notes } = convert(`
apiVersion: policies.kyverno.io/v1beta1
kind: MutatingPolicy
metadata: {name: labels}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"a": "b"}}}'}
`);
    expect(notes).toEqual([]);
    expect(objects).toMatchObject([{ spec: { mutations: [{ patchType: 'ApplyConfiguration' }] } }]);
  });
});

const CLUSTER = `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: hosts}
spec:
  validationFailureAction: Enforce
  rules:
  - name: no-host
    match:
      any:
      - resources: {kinds: [Pod], names: ["p*"], namespaces: [team]}
      - resources: {kinds: [apps/v1/Deployment], selector: {matchLabels: {strict: "yes"}}}
    exclude:
      any:
      - subjects: [{kind: User, name: root}]
    celPreconditions: [{name: c, expression: "object.metadata.name != 'pass'"}]
    validate:
      message: from elsewhere
      cel:
        expressions:
        - expression: "object.kind != 'Pod' || object.spec.containers.all(c, c.image.startsWith('ours/'))"
`;

describe('ClusterPolicy with validate.cel', () => {
  it('becomes a Policy, with an expression for matches that have no field', () => {
    const { objects, notes } = convert(CLUSTER);
    expect(notes).toEqual([]);
    expect(denied(objects, pod('x'))).toBe(true);
    expect(denied(objects, pod('ours/x'))).toBe(false);
    expect(denied(objects, pod('x', { name: 'q' }))).toBe(false);
    expect(denied(objects, pod('x', { name: 'pass' }))).toBe(false);
    expect(denied(objects, pod('x', { namespace: 'other' }))).toBe(false);
    expect(denied(objects, pod('x'), { userInfo: { username: 'root' } })).toBe(false);
  });

  const rule = (fields: string, spec = ''): string => `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: hosts}
spec:
  ${spec}
  rules:
  - name: Never Ever
    ${fields}
    validate: {failureAction: Enforce, cel: {expressions: [{expression: "false", message: never}]}}
`;

  it.each([
    { fields: 'match: {any: [{resources: {kinds: [v1/Pod]}}]}', hit: pod('x'), reason: 'a kind with its version' },
    { fields: 'match: {any: [{resources: {kinds: ["*/Pod"]}}]}', hit: pod('x'), reason: 'a kind of any version' },
    { fields: 'match: {any: [{resources: {kinds: [Deployment]}}]}', hit: deployment('x'), reason: 'a kind of a group' },
    { fields: 'match: {all: [{resources: {kinds: [Pod]}}, {resources: {names: [p]}}]}', hit: pod('x'), reason: 'all' },
    { fields: 'match: {resources: {kinds: [Pod], namespaces: [team]}}', hit: pod('x'), reason: 'neither any nor all' },
    {
      fields:
        'match: {any: [{resources: {kinds: [Pod], operations: [CREATE]}, subjects: [{kind: Group, name: devs}]}]}',
      hit: pod('x'),
      reason: 'who asks',
    },
    {
      fields: 'match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {a: b}}}}]}',
      hit: pod('x', { labels: { a: 'b' } }),
      miss: pod('x'),
      reason: 'labels',
    },
    {
      fields:
        'match: {any: [{resources: {kinds: [Pod]}, subjects: [{kind: ServiceAccount, namespace: flux, name: apply}]}]}',
      miss: pod('x'),
      reason: 'a service account that does not ask',
    },
  ])('matches $reason', ({ fields, hit, miss }) => {
    const { objects, notes } = convert(rule(fields));
    expect(notes.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(objects).toMatchObject([{ metadata: { name: 'hosts' } }]);
    if (hit !== undefined) expect(denied(objects, hit)).toBe(true);
    if (miss !== undefined) expect(denied(objects, miss)).toBe(false);
  });

  it.each([
    { fields: 'match: {any: [{resources: {names: [p]}}]}', path: 'spec.rules[0].match', reason: 'no kinds' },
    {
      fields: 'match: {any: [{resources: {kinds: [Pod], annotations: {a: b}}}]}',
      path: 'spec.rules[0].match',
      reason: 'annotations',
    },
    {
      fields: 'preconditions: {}\n    match: {any: [{resources: {kinds: [Pod]}}]}',
      path: 'spec.rules[0].preconditions',
      reason: 'preconditions that are not CEL',
    },
  ])('notes that there is no equivalent for $reason', ({ fields, path }) => {
    expect(convert(rule(fields)).notes).toMatchObject([{ severity: 'warning', path }]);
  });

  it('carries over params, variables and annotations, and creates one Policy per rule', () => {
    const { objects, notes } = convert(`
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: two}
spec:
  failurePolicy: Ignore
  rules:
  - name: first
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate:
      cel:
        paramKind: {apiVersion: v1, kind: ConfigMap}
        paramRef: {name: limits, parameterNotFoundAction: Deny}
        variables: [{name: n, expression: "size(object.data)"}]
        auditAnnotations: [{key: k, valueExpression: "'v'"}]
        expressions:
        - {expression: "variables.n < 3", messageExpression: "'at most 3'"}
        - {expression: "variables.n > 0", message: none}
  - name: second
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate: {cel: {expressions: [{expression: "true"}]}}
`);
    expect(notes).toEqual([]);
    expect(objects).toMatchObject([
      {
        metadata: { name: 'two-first' },
        spec: {
          failurePolicy: 'Ignore',
          params: { apiVersion: 'v1', kind: 'ConfigMap', name: 'limits', parameterNotFoundAction: 'Deny' },
          variables: [{ name: 'n' }],
          rules: [
            { name: 'first-1', enforcement: 'Audit', auditAnnotations: [{ key: 'k', valueExpression: "'v'" }] },
            { name: 'first-2', message: 'none' },
          ],
        },
      },
      { metadata: { name: 'two-second' }, spec: { selector: { resourceTypes: ['core/*/Secret'] } } },
    ]);
  });

  it.each([
    { rule: 'validate: {pattern: {spec: {}}}', what: 'validate.pattern' },
    { rule: 'mutate: {patchStrategicMerge: {}}', what: 'mutate' },
    { rule: 'verifyImages: []', what: 'verifyImages' },
  ])('refuses a rule written as $what, by name', ({ rule, what }) => {
    const { objects, notes } = convert(`
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: old}
spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, ${rule}}]}
`);
    expect(objects).toEqual([]);
    expect(notes).toMatchObject([{ severity: 'error', source: 'ClusterPolicy/old', path: 'spec.rules[0]' }]);
    expect(notes[0]?.message).toContain(what);
  });

  it.each([
    ['policies.kyverno.io/v1', 'ImageValidatingPolicy'],
    ['policies.kyverno.io/v1', 'GeneratingPolicy'],
    ['kyverno.io/v2', 'CleanupPolicy'],
  ])('refuses %s %s', (apiVersion, kind) => {
    const { objects, notes } = convertPolicies([{ apiVersion, kind, metadata: { name: 'x' } }], {
      to: 'policy',
      now: 0,
    });
    expect(objects).toEqual([]);
    expect(notes).toMatchObject([{ severity: 'error', source: `${kind}/x` }]);
  });
});
