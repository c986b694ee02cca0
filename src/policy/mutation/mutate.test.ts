import { describe, expect, it } from 'vitest';
import { type CompiledPolicy, compileException, compilePolicy, policySet } from '../engine/index.ts';
import { readException, readPolicy } from '../load/index.ts';
import { readNative } from '../native/index.ts';
import type { AdmissionRequest, Json } from '../request.ts';
import { emptyWorld, type ObjectQuery, type World } from '../world.ts';
import { jsonPatchBetween } from './difference.ts';
import { applyJsonPatch } from './json-patch.ts';
import { mutate } from './mutate.ts';

const pod: Json = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'team', labels: { app: 'web' } },
  spec: { containers: [{ name: 'web', image: 'x' }] },
};
const request = (object: Json = pod, more: Partial<AdmissionRequest> = {}): AdmissionRequest => ({
  uid: 'u',
  kind: { group: '', version: 'v1', kind: 'Pod' },
  resource: { group: '', version: 'v1', resource: 'pods' },
  name: 'web',
  namespace: 'team',
  operation: 'CREATE',
  object,
  ...more,
});
const apply = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } });
const patch = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } });

function policy(name: string, mutations: readonly object[], spec: object = {}): CompiledPolicy {
  const { model, issues } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name },
    spec: { selector: { resourceTypes: ['core/v1/Pod'] }, mutations, ...spec },
  });
  if (model === undefined) throw new Error(JSON.stringify(issues));
  const made = compilePolicy(model);
  if (made.policy === undefined) throw new Error(JSON.stringify(made.issues));
  return made.policy;
}
const world = (find: (query: ObjectQuery) => readonly Json[] | undefined = () => undefined): World => ({
  ...emptyWorld(0),
  find,
});
const run = (policies: readonly CompiledPolicy[], asked = request(), known = world()) =>
  mutate(policySet({ policies }), asked, known);

const LABEL = 'Object{metadata: Object.metadata{labels: {"team": "a"}}}';

describe('sensitive values', () => {
  const secret: Json = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { password: 'hunter2' } };
  const asked = request(secret, {
    kind: { group: '', version: 'v1', kind: 'Secret' },
    resource: { group: '', version: 'v1', resource: 'secrets' },
  });
  const selector = { resourceTypes: ['core/v1/Secret'] };
  it.each<{ reason: string; mutation: object; spec?: object }>([
    {
      reason: 'in a patch that does not fit',
      mutation: patch("[JSONPatch{op: 'add', path: '/x/y/' + object.data.password, value: '1'}]"),
    },
    { reason: 'in what is no patch', mutation: patch('[object.data.password]') },
    { reason: 'in what is no configuration', mutation: apply('object.data.password') },
    {
      reason: 'in a condition',
      mutation: apply(LABEL),
      spec: { matchConditions: [{ name: 'c', expression: 'object.data.password' }] },
    },
  ])('$reason', ({ mutation, spec = {} }) => {
    const { results } = run([policy('p', [mutation], { selector, ...spec })], asked);
    expect(results).toHaveLength(1);
    expect(results[0]).toMatchObject({ result: 'error', denies: true });
    expect(JSON.stringify(results)).not.toContain('hunter2');
  });
});

describe('a caller that must see nothing but its own request', () => {
  const copy = (value: string) => patch(`[JSONPatch{op: 'add', path: '/metadata/labels/copied', value: ${value}}]`);
  const known: World = {
    ...world(() => [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: 'hidden' } }]),
    namespace: () => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team', labels: { a: 'hidden' } } }),
    authorize: () => ({ allowed: true }),
  };
  const mutated = (policies: readonly CompiledPolicy[], requestOnly: boolean) =>
    mutate(policySet({ policies }), request(), known, { requestOnly });
  const params = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', namespace: 'team' };
  const read = 'namespaceObject.metadata.labels.a';

  it.each<{ reason: string; mutation: object; spec?: object }>([
    { reason: 'params', mutation: copy('params.data.a'), spec: { params } },
    {
      reason: 'context',
      mutation: copy('one.data.a'),
      spec: { context: [{ name: 'one', apiVersion: 'v1', kind: 'ConfigMap', resourceName: 'c' }] },
    },
    { reason: 'the namespace', mutation: copy(read) },
    {
      reason: 'the namespace through a variable',
      mutation: copy('variables.a'),
      spec: { variables: [{ name: 'a', expression: read }] },
    },
    {
      reason: 'the namespace in a match condition',
      mutation: apply(LABEL),
      spec: { matchConditions: [{ name: 'm', expression: `${read} == 'hidden'` }] },
    },
    {
      reason: 'what a user may do',
      mutation: copy("string(authorizer.group('').resource('secrets').check('get').allowed())"),
    },
  ])('gets no patch from $reason', ({ mutation, spec }) => {
    const policies = [policy('p', [mutation], spec)];
    expect(mutated(policies, false).changed).toBe(true);
    const { changed, object, results } = mutated(policies, true);
    expect({ changed, object }).toEqual({ changed: false, object: pod });
    expect(results).toMatchObject([{ result: 'error', denies: true }]);
    expect(JSON.stringify(results)).not.toContain('hidden');
  });

  it('gets a patch from its own request', () => {
    const own = copy('request.userInfo.?username.orValue("x") + object.metadata.name');
    expect(mutated([policy('p', [own])], true).changed).toBe(true);
  });
});

describe('mutate', () => {
  it('merges a configuration, and returns the smallest patch', () => {
    const { object, changed, policies, results } = run([policy('label', [apply(LABEL)])]);
    expect({ changed, policies, results }).toEqual({ changed: true, policies: ['label'], results: [] });
    expect(jsonPatchBetween(pod, object)).toEqual([{ op: 'add', path: '/metadata/labels/team', value: 'a' }]);
    expect(applyJsonPatch(pod, jsonPatchBetween(pod, object))).toEqual({ document: object });
  });

  it('is idempotent', () => {
    const policies = [
      policy('label', [apply(LABEL)]),
      policy('env', [
        apply(
          'Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, env: [Object.spec.containers.env{name: "A", value: "1"}]})}}',
        ),
      ]),
    ];
    const first = run(policies);
    const again = run(policies, request(first.object));
    expect(again.changed).toBe(false);
    expect(again.object).toBe(first.object);
    expect(again.policies).toEqual([]);
  });

  it('applies mutations in order of name, each on the result of the previous one', () => {
    const { object } = run([
      policy('b', [apply('Object{metadata: Object.metadata{labels: {"b": object.metadata.labels.a2}}}')]),
      policy('a', [
        apply('Object{metadata: Object.metadata{labels: {"a1": "x"}}}'),
        patch('[JSONPatch{op: "copy", from: "/metadata/labels/a1", path: "/metadata/labels/a2"}]'),
      ]),
    ]);
    expect((object.metadata as Json).labels).toEqual({ app: 'web', a1: 'x', a2: 'x', b: 'x' });
  });

  it('does not change the object if a test operation fails', () => {
    const expression =
      '[JSONPatch{op: "add", path: "/metadata/labels/x", value: "1"}, JSONPatch{op: "test", path: "/spec/replicas", value: 1}]';
    expect(run([policy('p', [patch(expression)])])).toMatchObject({ changed: false, results: [] });
  });

  it.each([
    { mutation: apply('Object{spec: Object.spec{tolerations: []}}'), message: /atomic/, reason: 'an atomic list' },
    { mutation: apply('Object{spec: Object.metadata{}}'), message: /type mismatch/, reason: 'a wrong name' },
    { mutation: apply('object.spec.nothing'), message: /no such key/, reason: 'an error' },
    { mutation: apply('dyn("x")'), message: /must be an Object/, reason: 'no object' },
    { mutation: patch('[JSONPatch{op: "remove", path: "/x"}]'), message: /nonexistent key/, reason: 'no such field' },
    { mutation: patch('dyn([1])'), message: /list of JSONPatch/, reason: 'no patch' },
    {
      mutation: patch('[JSONPatch{op: "add", path: "/x", value: duration("1s")}]'),
      message: /string\(/,
      reason: 'no JSON',
    },
    {
      mutation: patch('[JSONPatch{op: "replace", path: "", value: [1]}]'),
      message: /not an object/,
      reason: 'a list is left',
    },
  ])('goes by the failurePolicy: $reason', ({ mutation, message }) => {
    const mutations = [mutation, apply(LABEL)];
    const fails = run([policy('p', mutations)]);
    expect(fails.results).toMatchObject([{ policy: 'p', rule: 'mutations[0]', result: 'error', denies: true }]);
    expect(fails.results[0]?.message).toMatch(message);
    const ignores = run([policy('p', mutations, { failurePolicy: 'Ignore' })]);
    expect(ignores.results).toMatchObject([{ result: 'error', denies: false }]);
    // What comes after goes on, as in Kubernetes.
    expect(ignores.changed).toBe(true);
  });

  it('evaluates match conditions on the mutated object', () => {
    const matchConditions = [{ name: 'c', expression: '!has(object.metadata.labels.team)' }];
    const other = apply('Object{metadata: Object.metadata{labels: {"late": "x"}}}');
    const { object } = run([policy('a', [apply(LABEL)]), policy('b', [other], { matchConditions })]);
    expect((object.metadata as Json).labels).toEqual({ app: 'web', team: 'a' });
  });

  it('runs once for each params object', () => {
    const params = { apiVersion: 'v1', kind: 'ConfigMap', selector: { matchLabels: { a: 'b' } } };
    const maps = ['x', 'y'].map((name) => ({ metadata: { name } }));
    const one = policy('p', [apply('Object{metadata: Object.metadata{labels: {params.metadata.name: "1"}}}')], {
      params,
    });
    const { object } = run(
      [one],
      request(),
      world(() => maps),
    );
    expect((object.metadata as Json).labels).toEqual({ app: 'web', x: '1', y: '1' });
    expect(
      run(
        [one],
        request(),
        world(() => []),
      ).results,
    ).toMatchObject([{ result: 'error', denies: true }]);
  });

  it.each([
    { more: { operation: 'DELETE', oldObject: pod } as const, reason: 'what is deleted' },
    { more: { namespace: 'kube-system' }, reason: 'what policies leave alone' },
  ])('does nothing to $reason', ({ more }) => {
    const { object: _, ...without } = request();
    const asked = 'operation' in more ? { ...without, ...more } : request(pod, more);
    expect(run([policy('label', [apply(LABEL)])], asked).changed).toBe(false);
  });

  it('skips mutations that need a request', () => {
    const mutation = apply('Object{metadata: Object.metadata{labels: {"by": request.userInfo.username}}}');
    expect(run([policy('p', [mutation])], request(pod, { unknown: ['userInfo'] })).results).toMatchObject([
      { result: 'skip', denies: false, skipped: expect.stringContaining('needs a request') },
    ]);
  });

  it('skips exempt objects', () => {
    const { exception: model } = readException({
      apiVersion: 'platform.company.com/v1',
      kind: 'PolicyException',
      metadata: { name: 'e', namespace: 'policy-exceptions' },
      spec: { policies: [{ name: 'label' }], selector: { names: ['web'] }, reason: 'r', requester: 'q' },
    });
    const { exception } = model === undefined ? {} : compileException(model);
    if (exception === undefined) throw new Error('the exception does not compile');
    const set = policySet({ policies: [policy('label', [apply(LABEL)])], exceptions: [exception] });
    expect(mutate(set, request(), world())).toMatchObject({
      changed: false,
      results: [{ result: 'skip', exception: 'policy-exceptions/e' }],
    });
  });

  it('does not mutate templates of workload controllers, because their Pods are mutated on creation', () => {
    const deployment: Json = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'team' },
      spec: { template: { spec: { containers: [] } } },
    };
    const kind = { group: 'apps', version: 'v1', kind: 'Deployment' };
    const resource = { group: 'apps', version: 'v1', resource: 'deployments' };
    expect(run([policy('label', [apply(LABEL)])], request(deployment, { kind, resource })).changed).toBe(false);
  });

  it('separates policies by reinvocationPolicy', () => {
    const once = policy('once', [apply('Object{metadata: Object.metadata{labels: {"once": "x"}}}')]);
    const again = policy('again', [apply('Object{metadata: Object.metadata{labels: {"again": "x"}}}')], {
      reinvocationPolicy: 'IfNeeded',
    });
    const set = policySet({ policies: [once, again] });
    expect(mutate(set, request(), world(), { reinvocation: 'Never' }).policies).toEqual(['once']);
    expect(mutate(set, request(), world(), { reinvocation: 'IfNeeded' }).policies).toEqual(['again']);
    expect(mutate(set, request(), world()).policies).toEqual(['again', 'once']);
  });

  it('merges custom resources by their CRD', () => {
    const list = { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' };
    const definition: Json = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'things.example.com' },
      spec: {
        group: 'example.com',
        names: { kind: 'Thing', plural: 'things' },
        versions: [
          {
            name: 'v1',
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { spec: { type: 'object', properties: { tags: list } } },
              },
            },
          },
        ],
      },
    };
    const thing: Json = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 't' }, spec: { tags: ['a'] } };
    const asked = request(thing, {
      kind: { group: 'example.com', version: 'v1', kind: 'Thing' },
      resource: { group: 'example.com', version: 'v1', resource: 'things' },
    });
    const one = policy('p', [apply('Object{spec: Object.spec{tags: ["b"]}}')], {
      selector: { resourceTypes: ['example.com/v1/Thing'] },
    });
    const known = world(({ kind }) => (kind === 'CustomResourceDefinition' ? [definition] : undefined));
    expect(run([one], asked, known).object.spec).toEqual({ tags: ['a', 'b'] });
    const schemas = {
      ...world(),
      schema: () => ({ type: 'object', properties: { spec: { type: 'object', properties: { tags: list } } } }),
    };
    expect(run([one], asked, schemas).object.spec).toEqual({ tags: ['a', 'b'] });
    expect(run([one], asked).object.spec).toEqual({ tags: ['b'] });
  });

  it('merges kinds of the platform by their own schema', () => {
    const database: Json = {
      apiVersion: 'platform.company.com/v1',
      kind: 'Database',
      metadata: { name: 'd', namespace: 'team' },
      spec: { backup: { enabled: false } },
    };
    const asked = request(database, {
      kind: { group: 'platform.company.com', version: 'v1', kind: 'Database' },
      resource: { group: 'platform.company.com', version: 'v1', resource: 'databases' },
    });
    const on = (expression: string) => policy('p', [apply(expression)], { selector: { resourceTypes: ['Database'] } });
    const enabled = 'Object{spec: Object.spec{backup: Object.spec.backup{enabled: true}}}';
    expect(run([on(enabled)], asked).object.spec).toEqual({ backup: { enabled: true } });
    expect(run([on('Object{spec: Object.spec{nonsense: 1}}')], asked).results).toMatchObject([
      { result: 'error', message: expect.stringContaining('.spec.nonsense') },
    ]);
  });

  it('treats an unsynced cache as a failure, and missing request information as a skip', () => {
    const params = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x' };
    const one = policy('p', [apply(LABEL)], { params });
    expect(run([one]).results).toMatchObject([{ result: 'error', denies: true }]);
    expect(run([one], request(pod, { unknown: ['userInfo'] })).results).toMatchObject([{ result: 'skip' }]);
  });

  it('stops at the deadline', () => {
    const set = policySet({ policies: [policy('p', [apply(LABEL)])] });
    expect(mutate(set, request(), world(), { deadline: Date.now() - 1 })).toMatchObject({
      changed: false,
      results: [{ result: 'error', denies: true }],
    });
  });

  it('runs MutatingAdmissionPolicies', () => {
    const apiVersion = 'admissionregistration.k8s.io/v1';
    const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }];
    const { models } = readNative([
      {
        apiVersion,
        kind: 'MutatingAdmissionPolicy',
        metadata: { name: 'm' },
        spec: { matchConstraints: { resourceRules }, mutations: [apply(LABEL)] },
      },
      { apiVersion, kind: 'MutatingAdmissionPolicyBinding', metadata: { name: 'b' }, spec: { policyName: 'm' } },
    ]);
    const policies = models.flatMap((model) => compilePolicy(model).policy ?? []);
    expect(run(policies)).toMatchObject({ changed: true, policies: ['m'] });
    expect(run(policies, request(pod, { operation: 'UPDATE', oldObject: pod })).changed).toBe(false);
  });
});
