import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { compilePolicy, decide, policySet } from '../engine/index.ts';
import { readPolicy } from '../load/index.ts';
import type { PolicyModel } from '../model.ts';
import { mutate } from '../mutation/index.ts';
import { readNative } from '../native/index.ts';
import type { AdmissionRequest, Json, Operation } from '../request.ts';
import type { World } from '../world.ts';
import { type ConversionTarget, convertPolicies } from './convert.ts';

const yaml = (text: string): Json => parse(text) as Json;
const convert = (objects: readonly Json[], to: ConversionTarget) => convertPolicies(objects, { to, now: 0 });

const NAMESPACES: readonly Json[] = [
  { metadata: { name: 'team-a', labels: { env: 'prod', 'kubernetes.io/metadata.name': 'team-a' } } },
  { metadata: { name: 'other', labels: { 'kubernetes.io/metadata.name': 'other' } } },
  { metadata: { name: 'kube-system', labels: { 'kubernetes.io/metadata.name': 'kube-system' } } },
];
const world: World = {
  now: 0,
  namespace: (name) => NAMESPACES.find((each) => (each.metadata as Json).name === name),
  find: ({ kind }) => (kind === 'ConfigMap' ? [{ metadata: { name: 'limits' }, data: { max: '3' } }] : undefined),
};

const object = (kind: string, fields: object = {}, metadata: object = {}): Json => ({
  apiVersion: { Deployment: 'apps/v1', Database: 'platform.company.com/v1' }[kind] ?? 'v1',
  kind,
  metadata: { name: 'web', namespace: 'team-a', ...metadata },
  ...fields,
});
const RESOURCES: Readonly<Record<string, readonly [group: string, version: string, resource: string]>> = {
  Pod: ['', 'v1', 'pods'],
  ConfigMap: ['', 'v1', 'configmaps'],
  Event: ['', 'v1', 'events'],
  Deployment: ['apps', 'v1', 'deployments'],
  Database: ['platform.company.com', 'v1', 'databases'],
};

function request(sent: Json, operation: Operation = 'CREATE', username = 'ada'): AdmissionRequest {
  const [group, version, resource] = RESOURCES[String(sent.kind)] ?? ['', 'v1', ''];
  const { name, namespace } = sent.metadata as { name: string; namespace: string };
  return {
    uid: 'u',
    kind: { group, version, kind: String(sent.kind) },
    resource: { group, version, resource },
    name,
    namespace,
    operation,
    userInfo: { username, groups: ['devs'] },
    ...(operation === 'DELETE' ? { oldObject: sent } : { object: sent }),
    ...(operation === 'UPDATE' ? { oldObject: sent } : {}),
  };
}

/** Everything that policies look at, in many combinations. */
const SAMPLES: readonly AdmissionRequest[] = [
  ...[{}, { replicas: 1 }, { replicas: 9 }].map((spec) => request(object('Deployment', { spec }))),
  ...['UPDATE', 'DELETE'].map((operation) =>
    request(object('Deployment', { spec: { replicas: 9 } }), operation as Operation),
  ),
  ...['other', 'kube-system'].map((namespace) =>
    request(object('Deployment', { spec: { replicas: 9 } }, { namespace })),
  ),
  ...['legacy-1', 'api'].map((name) => request(object('Deployment', { spec: { replicas: 9 } }, { name }))),
  ...[{ tier: 'gold' }, { tier: 'wood' }, { skip: 'yes' }].map((labels) =>
    request(object('Deployment', { spec: { replicas: 9 } }, { labels })),
  ),
  ...['system:serviceaccount:flux:apply', 'root'].map((user) =>
    request(object('Deployment', { spec: { replicas: 9 } }), 'CREATE', user),
  ),
  request(object('Pod', { spec: { containers: [{ name: 'a', image: 'docker.io/x' }] } })),
  request(object('Pod', { spec: { containers: [{ name: 'a', image: 'registry.example.com/x' }] } })),
  request(object('ConfigMap', { data: { size: '2' } })),
  request(object('ConfigMap', { data: { size: '5' } })),
  request(object('ConfigMap', { data: { size: '5' } }), 'DELETE'),
  request(object('Event', { message: 'x' })),
  request(object('Database', { spec: { backup: { enabled: false } } })),
  request(object('Database', { spec: { backup: { enabled: true } } })),
];

function modelsOf(objects: readonly Json[]): readonly PolicyModel[] {
  const ours = objects.filter(({ kind }) => kind === 'Policy').map((each) => readPolicy(each));
  const native = readNative(objects);
  expect([...ours.flatMap(({ issues }) => issues), ...native.issues]).toEqual([]);
  return [...ours.flatMap(({ model }) => model ?? []), ...native.models];
}

/** What comes of every sample, without the names that differ. */
function answers(objects: readonly Json[]) {
  const policies = modelsOf(objects).map((model) => {
    const made = compilePolicy(model);
    if (made.policy === undefined) throw new Error(made.issues.map(({ message }) => message).join('\n'));
    return made.policy;
  });
  const set = policySet({ policies });
  return SAMPLES.map((sample) => {
    const { changed, object: after } = mutate(set, sample, world);
    const decision = decide(set, changed ? { ...sample, object: after } : sample, world);
    const said = decision.results
      .filter(({ result }) => result !== 'skip')
      .map(({ result, message, reason }) => `${result}: ${reason ?? ''} ${message}`)
      .sort();
    return { after: changed ? after : 'unchanged', allowed: decision.allowed, said };
  });
}

const policy = (spec: string): Json =>
  yaml(`
apiVersion: platform.company.com/v1
kind: Policy
metadata: {name: sample}
spec:
${spec.replaceAll(/^/gm, '  ')}
`);

describe('Policies and their native equivalents decide alike', () => {
  it.each([
    {
      reason: 'short names, messages, reasons',
      spec: `
selector: {resourceTypes: [apps/v1/Deployment]}
rules:
- {name: few, expression: "!has(spec.replicas) || spec.replicas < 5", message: too many, reason: Forbidden}
- {name: say, expression: "has(spec.replicas)", messageExpression: "'no replicas in ' + metadata.name", message: m}`,
    },
    {
      reason: 'a name of a loop that is also a short name',
      spec: `
selector: {resourceTypes: [core/v1/Pod]}
podControllers: {kinds: []}
rules:
- {name: images, expression: "spec.containers.all(spec, spec.image.startsWith('registry.example.com/'))", message: m}`,
    },
    {
      reason: 'labels, names, namespaces and operations',
      spec: `
selector:
  resourceTypes: [apps/v1/Deployment, core/v1/ConfigMap]
  matchExpressions: [{key: skip, operator: DoesNotExist}]
  namespaces: ["team-*"]
  names: ["w?b", "legacy-*"]
  operations: [CREATE, DELETE]
rules: [{name: never, expression: "metadata.name == 'nobody'", message: never}]`,
    },
    {
      reason: 'who asks, and what is excluded',
      spec: `
selector: {resourceTypes: ["*"], groups: [devs], users: ["*"], includeSystemNamespaces: true}
exclude: {serviceAccounts: [flux/*], resourceTypes: [apps/v1/Deployment]}
rules: [{name: never, expression: "false", message: never}]`,
    },
    {
      reason: 'excluded labels',
      spec: `
selector: {resourceTypes: [apps/v1/Deployment], namespaceSelector: {matchLabels: {env: prod}}}
exclude: {matchLabels: {tier: gold}}
rules: [{name: never, expression: "false", message: never}]`,
    },
    {
      reason: 'several enforcements, variables and conditions',
      spec: `
selector: {resourceTypes: [apps/v1/Deployment]}
matchConditions: [{name: has replicas, expression: has(spec.replicas)}]
variables: [{name: count, expression: spec.replicas}]
rules:
- {name: a, expression: variables.count < 5, message: a}
- {name: b, expression: variables.count < 2, message: b, enforcement: Warn}
- {name: c, expression: variables.count < 1, message: c, enforcement: Audit}`,
    },
    {
      reason: 'params',
      spec: `
selector: {resourceTypes: [core/v1/ConfigMap]}
params: {apiVersion: v1, kind: ConfigMap, name: limits}
rules: [{name: max, expression: "int(object.data.size) <= int(params.data.max)", message: too large}]`,
    },
    {
      reason: 'kinds of the platform, and an answer that only shows its type when it runs',
      spec: `
selector: {resourceTypes: [Database]}
rules: [{name: backup, expression: spec.backup.enabled, message: no backup}]`,
    },
    {
      reason: 'mutations beside rules',
      spec: `
selector: {resourceTypes: [apps/v1/Deployment]}
mutations:
- {patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'of': metadata.name}}}"}}
- {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'x': kind}}]"}}
rules: [{name: label, expression: "metadata.labels.of != 'api'", message: of api}]`,
    },
  ])('$reason', ({ spec }) => {
    const source = policy(spec);
    const before = answers([source]);
    const native = convert([source], 'native');
    expect(native.notes.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(answers(native.objects)).toEqual(before);
    const back = convert(native.objects, 'policy');
    expect(back.notes).toEqual([]);
    expect(back.objects.every(({ kind }) => kind === 'Policy')).toBe(true);
    expect(answers(back.objects)).toEqual(before);
    // Something comes of the samples, or they would show nothing.
    expect(new Set(before.map((each) => JSON.stringify(each))).size).toBeGreaterThan(1);
  });
});

describe('native policies and their conversions decide alike', () => {
  const validating = (constraints: object, bindings: readonly object[], spec: object = {}): readonly Json[] => [
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'v', annotations: { 'kubernetes.io/description': 'why' } },
      spec: { matchConstraints: constraints, validations: [{ expression: 'false', message: 'never' }], ...spec },
    },
    ...bindings.map((each, index) => ({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: `b${index}` },
      spec: { policyName: 'v', validationActions: ['Deny'], ...each },
    })),
  ];
  const rule = (fields: object): object => ({
    apiGroups: ['*'],
    apiVersions: ['*'],
    operations: ['CREATE', 'UPDATE'],
    resources: ['*'],
    ...fields,
  });
  it.each([
    { constraints: { resourceRules: [rule({})] }, reason: 'everything, Events too' },
    {
      constraints: {
        resourceRules: [
          rule({ apiGroups: ['apps'], resources: ['deployments'], operations: ['DELETE'] }),
          rule({ apiGroups: [''], resources: ['configmaps'], resourceNames: ['web'] }),
        ],
      },
      reason: 'rules with operations and names of their own',
    },
    {
      constraints: {
        resourceRules: [rule({ scope: 'Namespaced' })],
        excludeResourceRules: [rule({ apiGroups: ['apps'], resources: ['deployments'] })],
        objectSelector: { matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['gold'] }] },
      },
      reason: 'exclusions, labels and scope',
    },
    { constraints: { resourceRules: [rule({ resources: ['pods', 'widgets'] })] }, reason: 'a resource nobody knows' },
  ])('$reason', ({ constraints }) => {
    const source = validating(constraints, [{}]);
    const { objects, notes } = convert(source, 'policy');
    expect(notes.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(answers(objects)).toEqual(answers(source));
    expect(objects).toMatchObject([{ metadata: { name: 'v' }, spec: { description: 'why' } }]);
  });

  it('joins the selectors of policy and binding', () => {
    const selector = (key: string) => ({ matchExpressions: [{ key, operator: 'DoesNotExist' }], matchLabels: {} });
    const source = validating({ resourceRules: [rule({})], objectSelector: selector('skip') }, [
      {
        matchResources: {
          objectSelector: { matchLabels: { tier: 'gold' } },
          excludeResourceRules: [rule({ resources: ['pods'] })],
        },
      },
    ]);
    expect(answers(convert(source, 'policy').objects)).toEqual(answers(source));
  });

  it('keeps audit annotations, with validations and without', () => {
    const auditAnnotations = [{ key: 'k', valueExpression: "'v'" }];
    const of = (spec: object) =>
      (convert(validating({ resourceRules: [rule({})] }, [{}], spec), 'policy').objects[0]?.spec as { rules: Json[] })
        .rules;
    const kept = [{ key: 'k', valueExpression: "'v'" }];
    expect(of({ auditAnnotations })).toMatchObject([{ name: 'validation-1', auditAnnotations: kept }]);
    expect(of({ auditAnnotations, validations: [] })).toMatchObject([
      { name: 'audit-annotations', expression: 'true', auditAnnotations: kept },
    ]);
  });

  it('notes that params without a paramRef have no equivalent', () => {
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const reads = [{ expression: 'params == null', message: 'm' }];
    const source = validating({ resourceRules: [rule({})] }, [{}], { paramKind, validations: reads });
    expect(convert(source, 'policy').notes.map(({ path }) => path)).toContain('spec.paramKind');
    expect(convert(validating({ resourceRules: [rule({})] }, [{}], { paramKind }), 'policy').notes).toEqual([]);
  });

  it('creates one Policy per binding', () => {
    const source = validating({ resourceRules: [rule({})] }, [
      {
        matchResources: {
          resourceRules: [rule({ resources: ['pods'] })],
          namespaceSelector: { matchLabels: { env: 'prod' } },
        },
      },
      { validationActions: ['Warn', 'Audit'], matchResources: { objectSelector: { matchLabels: { tier: 'wood' } } } },
    ]);
    const { objects, notes } = convert(source, 'policy');
    expect(objects.map(({ metadata }) => (metadata as Json).name)).toEqual(['v-b0', 'v-b1']);
    expect(notes).toMatchObject([{ severity: 'warning', path: 'spec.validationActions' }]);
    expect(answers(objects).map(({ allowed, said }) => [allowed, said.length])).toEqual(
      answers(source).map(({ allowed, said }) => [allowed, said.length]),
    );
  });

  it('notes that a policy without a binding enforces nothing', () => {
    const { objects, notes } = convert(validating({ resourceRules: [rule({})] }, []), 'policy');
    expect(objects).toEqual([]);
    expect(notes).toMatchObject([{ severity: 'warning', source: 'ValidatingAdmissionPolicy/v' }]);
  });
});

describe('notes on fields without an equivalent', () => {
  it.each([
    { field: 'sensitivePaths: [spec.token]', path: 'spec.sensitivePaths' },
    { field: 'context: [{name: others, apiVersion: v1, kind: Pod}]', path: 'spec.context' },
    { field: 'tests: [{name: t, object: {kind: Deployment}, expect: {allowed: true}}]', path: 'spec.tests' },
  ])('$path', ({ field, path }) => {
    const source = policy(`
selector: {resourceTypes: [apps/v1/Deployment]}
rules: [{name: a, expression: "true"}]
${field}`);
    expect(convert([source], 'native').notes.map((note) => note.path)).toContain(path);
  });

  it.each([
    { field: 'ratchet: true', path: 'spec.rules[0].ratchet' },
    { field: 'severity: high', path: 'spec.rules[0].severity' },
    { field: 'category: Costs', path: 'spec.rules[0].category' },
    { field: 'fieldPath: spec.replicas', path: 'spec.rules[0].fieldPath' },
    { field: 'enforceAfter: "2030-01-01"', path: 'spec.rules[0].enforceAfter' },
  ])('$path', ({ field, path }) => {
    const source = policy(`
selector: {resourceTypes: [apps/v1/Deployment]}
rules: [{name: a, expression: "true", ${field}}]`);
    expect(convert([source], 'native').notes.map((note) => note.path)).toContain(path);
  });

  it('omits expressions that read other objects, also through a variable', () => {
    const source = policy(`
selector: {resourceTypes: [apps/v1/Deployment]}
context: [{name: others, apiVersion: v1, kind: Pod}]
variables: [{name: many, expression: others.size()}]
rules:
- {name: a, expression: variables.many < 3}
- {name: b, expression: "has(spec.replicas)", message: kept}`);
    const { objects, notes } = convert([source], 'native');
    expect((objects[0]?.spec as { validations: Json[] }).validations).toEqual([
      { expression: 'has(object.spec.replicas)', message: 'kept' },
    ]);
    expect(notes.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['spec.variables[0].expression', 'spec.rules[0].expression']),
    );
  });

  it('notes that exclusions by namespace labels have no equivalent', () => {
    const source = policy(`
selector: {resourceTypes: [apps/v1/Deployment]}
exclude: {namespaceSelector: {matchLabels: {a: b}}}
rules: [{name: a, expression: "true"}]`);
    expect(convert([source], 'native').notes.map(({ path }) => path)).toContain('spec.exclude.namespaceSelector');
  });

  it('guesses the resource of an unknown kind and notes it; a CRD provides it', () => {
    const source = policy(`
selector: {resourceTypes: [example.com/v1/Ox]}
rules: [{name: a, expression: "true"}]`);
    const guessed = convert([source], 'native');
    expect(guessed.notes.map(({ path }) => path)).toContain('spec.selector.resourceTypes');
    const definition = yaml(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: oxen.example.com}
spec: {group: example.com, scope: Namespaced, names: {kind: Ox, plural: oxen}, versions: [{name: v1, served: true}]}`);
    const known = convert([source, definition], 'native');
    expect(JSON.stringify(known.objects)).toContain('"oxen"');
    expect(known.notes.map(({ path }) => path)).not.toContain('spec.selector.resourceTypes');
  });

  it('converts rules that are not enforced yet to audit rules', () => {
    const source = policy(`
selector: {resourceTypes: [apps/v1/Deployment]}
rules: [{name: a, expression: "false", enforceAfter: "2030-01-01"}]`);
    const at = (now: string) => convertPolicies([source], { to: 'native', now: Date.parse(now) }).objects[1]?.spec;
    expect(at('2029-12-31')).toMatchObject({ validationActions: ['Audit'] });
    expect(at('2030-02-01')).toMatchObject({ validationActions: ['Deny'] });
  });

  it('rejects an invalid policy and names it', () => {
    const { objects, notes } = convert([policy('selector: {resourceTypes: [x]}')], 'native');
    expect(objects).toEqual([]);
    expect(notes[0]).toMatchObject({ severity: 'error', source: 'Policy/sample' });
  });

  it('returns objects of the target kind unchanged, and does not convert exceptions', () => {
    const exception = { apiVersion: 'platform.company.com/v1', kind: 'PolicyException', metadata: { name: 'e' } };
    expect(convert([exception], 'policy').objects).toEqual([exception]);
    expect(convert([exception], 'native').notes).toMatchObject([{ severity: 'error', source: 'PolicyException/e' }]);
    expect(convert([{ apiVersion: 'v1', kind: 'ConfigMap' }], 'native')).toEqual({ objects: [], notes: [] });
  });
});
