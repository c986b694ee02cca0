import { describe, expect, test } from 'vitest';
import { readPolicy } from '../load/index.ts';
import type { Json } from '../request.ts';
import {
  combineSchemas,
  crdSchemas,
  kubernetesSchemas,
  openApiSchemas,
  platformSchemas,
  typeCheck,
  typeCheckPolicy,
} from './index.ts';

const text = { type: 'string' };
const definition = (kind: string, properties: Json): Json => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind, plural: `${kind.toLowerCase()}s` },
    versions: [
      {
        name: 'v1',
        served: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } } },
      },
      { name: 'v0', served: false },
    ],
  },
});
const crds = crdSchemas([
  definition('Widget', { size: { type: 'integer' }, color: text, 'left-hand': text }),
  definition('Gadget', { size: text, shape: text }),
  { kind: 'ConfigMap' },
]);
const schemas = combineSchemas(crds, platformSchemas(), kubernetesSchemas());

type Spec = Readonly<Record<string, unknown>>;

function check(resourceTypes: readonly string[], expression: string, more: Spec = {}) {
  const { model, issues } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name: 'p' },
    spec: { selector: { resourceTypes }, rules: [{ name: 'r', expression }], ...more },
  });
  if (model === undefined) throw new Error(JSON.stringify(issues));
  return typeCheck(model, schemas);
}

const ALL = ['example.com/v1/Widget', 'example.com/v1/Gadget'];

describe('valid policies', () => {
  test.each([
    { types: ['Database'], expression: 'spec.backup.enabled == true', reason: 'the policy of the requirement' },
    { types: ['Database'], expression: 'object.metadata.labels["x"] == "y"', reason: 'metadata is of Kubernetes' },
    {
      types: ['Database'],
      expression: 'oldObject == null || oldObject.spec.owner == object.spec.owner',
      reason: 'oldObject',
    },
    {
      types: ['core/v1/Pod'],
      expression: 'spec.containers.all(c, !has(c.securityContext) || !c.securityContext.privileged)',
      reason: 'a built-in kind',
    },
    {
      types: ['core/v1/Pod'],
      expression:
        '(spec.containers + spec.?initContainers.orValue([]) + spec.?ephemeralContainers.orValue([])).all(c, c.image != "")',
      reason: 'three lists of two kinds of containers',
    },
    {
      types: ['apps/v1/Deployment/scale'],
      expression: 'object.spec.replicas < 10',
      reason: 'a subresource with a kind of its own',
    },
    {
      types: ['apps/*/Deployment/status'],
      expression: 'object.spec.template.spec.containers.size() > 0',
      reason: 'a subresource of the same kind',
    },
    {
      types: ['core/v1/Pod/exec'],
      expression: 'object.command.size() > 0',
      reason: 'a subresource that nothing is known of',
    },
    { types: ['*'], expression: 'metadata.name.size() < 100 && kind != ""', reason: 'everything' },
    {
      types: ['example.com/v1/Widget'],
      expression: 'object.spec["left-hand"] != ""',
      reason: 'a name that is no identifier',
    },
    { types: ['core/v1/Secret'], expression: 'object.data["x"].startsWith("a")', reason: 'bytes are text in JSON' },
    {
      types: ['Database'],
      expression: 'request.userInfo.groups.exists(g, g == "x") && namespaceObject.metadata.labels.size() > 0',
      reason: 'request and namespaceObject',
    },
    {
      types: ['Database'],
      expression: 'authorizer.group("").resource("pods").check("get").allowed()',
      reason: 'authorizer',
    },
  ])('$expression: $reason', ({ types, expression }) => {
    expect(check(types, expression)).toEqual([]);
  });
});

describe('policies that fit no matched type', () => {
  test.each([
    { types: ['Database'], expression: 'spec.backups.enabled', line: 1, column: 5, says: "did you mean 'backup'?" },
    {
      types: ['Database'],
      expression: 'true &&\n  object.spec.engin == "x"',
      line: 2,
      column: 14,
      says: "did you mean 'engine'?",
    },
    {
      types: ['core/v1/Pod'],
      expression: 'spec.containers.all(c, c.securityContext.privilegd)',
      line: 1,
      column: 41,
      says: "did you mean 'privileged'?",
    },
    {
      types: ['core/v1/Pod'],
      expression: '(spec.containers + spec.initContainers).all(c, c.img == "")',
      line: 1,
      column: 49,
      says: "undefined field 'img'",
    },
    {
      types: ['core/v1/ConfigMap'],
      expression: 'has(spec.x)',
      line: 1,
      column: 1,
      says: "the object has no field 'spec'",
    },
    {
      types: ['Database'],
      expression: 'oldObject.spec.sizze == ""',
      line: 1,
      column: 15,
      says: "did you mean 'size'?",
    },
    {
      types: ['Database'],
      expression: 'request.usrInfo.username == ""',
      line: 1,
      column: 8,
      says: "did you mean 'userInfo'?",
    },
    {
      types: ['Database'],
      expression: 'namespaceObject.metadata.lables.size() > 0',
      line: 1,
      column: 25,
      says: "did you mean 'labels'?",
    },
    {
      types: ['Database'],
      expression: 'spec.backup.retentionDays',
      line: 1,
      column: 1,
      says: 'must evaluate to bool, got int',
    },
    {
      types: ['Database'],
      expression: 'spec.backup.retentionDays > "3"',
      line: 1,
      column: 27,
      says: 'no matching overload',
    },
    { types: ALL, expression: 'spec.weight > 3', line: 1, column: 5, says: "undefined field 'weight'" },
    { types: ['*'], expression: 'metadata.lables.size() > 0', line: 1, column: 9, says: "did you mean 'labels'?" },
  ])('$expression', ({ types, expression, line, column, says }) => {
    const [issue, ...rest] = check(types, expression);
    expect(rest).toEqual([]);
    expect(issue).toMatchObject({ severity: 'error', path: 'spec.rules[0].expression', line, column });
    expect(issue?.message).toContain(says);
  });
});

test('a mismatch with some types is a warning that names them', () => {
  expect(check(ALL, 'spec.size > 3')).toMatchObject([{ severity: 'warning', resourceType: 'example.com/v1/Gadget' }]);
  const [issue] = check(['core/v1/Pod', 'core/v1/ConfigMap', 'core/v1/Secret'], 'spec.restartPolicy == "Never"');
  expect(issue).toMatchObject({ severity: 'warning', code: 'no_such_field' });
  expect(issue?.message).toContain('(core/v1/ConfigMap, core/v1/Secret)');
});

describe('an unknown kind', () => {
  test.each([
    { types: ['example.com/v1/Wigdet'], says: 'did you mean example.com/v1/Widget?' },
    { types: ['apps/v1beta1/Deployment'], says: 'did you mean apps/v1/Deployment?' },
    { types: ['Databse'], says: 'did you mean platform.company.com/v1/Database?' },
    { types: ['argoproj.io/v1alpha1/Rollout'], says: 'its expressions are type-checked once it is installed' },
  ])('$types', ({ types, says }) => {
    const issues = check(types, 'object.spec.whatever == 1');
    expect(issues).toMatchObject([
      { severity: 'warning', code: 'unknown_kind', path: 'spec.selector.resourceTypes[0]' },
    ]);
    expect(issues[0]?.message).toContain(says);
  });

  test('is only a warning if another kind exists', () => {
    const codes = check(['Database', 'Databse'], 'spec.engin == ""').map(({ severity, code }) => `${severity} ${code}`);
    expect(codes).toEqual(['warning unknown_kind', 'error no_such_field']);
  });
});

describe('variables, params and context', () => {
  const settings = { apiVersion: 'v1', kind: 'ConfigMap', name: 'settings' };
  test.each([
    {
      reason: 'a variable has the type of its expression',
      expression: 'variables.images.all(i, i.tag == "")',
      more: { variables: [{ name: 'images', expression: 'object.spec.containers.map(c, c.image)' }] },
      says: "type 'string' does not support field selection",
    },
    {
      reason: 'a variable of objects has their fields',
      expression: 'variables.containers.all(c, c.imge == "")',
      more: { variables: [{ name: 'containers', expression: 'object.spec.containers' }] },
      says: "did you mean 'image'?",
    },
    {
      reason: 'params have the fields of their kind',
      expression: 'params.dta["x"] == ""',
      more: { params: settings },
      says: "did you mean 'data'?",
    },
    {
      reason: 'context without a name is a list',
      expression: 'teams.metadata.name == ""',
      more: { context: [{ name: 'teams', apiVersion: 'platform.company.com/v1', kind: 'Team' }] },
      says: "type 'list(platform.company.com/v1/Team)' does not support field selection",
    },
    {
      reason: 'context with a name is an object',
      expression: 'team.spec.namespce == ""',
      more: {
        context: [{ name: 'team', apiVersion: 'platform.company.com/v1', kind: 'Team', resourceName: 'backend' }],
      },
      says: "did you mean 'namespace'?",
    },
  ])('$reason', ({ expression, more, says }) => {
    const issues = check(['core/v1/Pod'], expression, more);
    expect(issues).toMatchObject([{ severity: 'error', path: 'spec.rules[0].expression' }]);
    expect(issues[0]?.message).toContain(says);
  });

  test('an issue of a variable is reported once, at its definition', () => {
    const more = { variables: [{ name: 'v', expression: 'object.spec.contaners' }] };
    expect(check(['core/v1/Pod'], 'variables.v.size() > 0 && variables.v[0].x == 1', more)).toMatchObject([
      { severity: 'error', path: 'spec.variables[0].expression' },
    ]);
  });

  test('an unknown kind of params is a warning', () => {
    const params = { apiVersion: 'example.com/v9', kind: 'Limits', name: 'x' };
    expect(check(['core/v1/Pod'], 'params.spec.max > 1', { params })).toMatchObject([
      { severity: 'warning', code: 'unknown_kind', path: 'spec.params.kind' },
    ]);
  });

  test('messages and annotations must be strings', () => {
    const rules = [
      {
        name: 'r',
        expression: 'true',
        messageExpression: 'spec.containers.size()',
        auditAnnotations: [{ key: 'k', valueExpression: 'spec.hostNetwork' }],
      },
    ];
    expect(check(['core/v1/Pod'], '', { rules }).map(({ path }) => path)).toEqual([
      'spec.rules[0].messageExpression',
      'spec.rules[0].auditAnnotations[0].valueExpression',
    ]);
  });
});

describe('additional workload controllers', () => {
  const additional = (resourceType: string, path: string) =>
    check(['core/v1/Pod'], 'spec.containers.size() > 0', { podControllers: { additional: [{ resourceType, path }] } });

  test.each([
    { reason: 'a template where it is said', type: 'apps/v1/Deployment', path: 'spec.template', expected: [] },
    {
      reason: 'no template there',
      type: 'apps/v1/Deployment',
      path: 'spec.templat',
      expected: ['error no_such_field'],
    },
    {
      reason: 'no such kind',
      type: 'argoproj.io/v1alpha1/Rollout',
      path: 'spec.template',
      expected: ['warning unknown_kind'],
    },
  ])('$reason', ({ type, path, expected }) => {
    expect(additional(type, path).map(({ severity, code }) => `${severity} ${code}`)).toEqual(expected);
  });
});

describe('mutations', () => {
  const mutation = (expression: string) =>
    check(['apps/v1/Deployment'], 'true', {
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
    });
  const inTemplate = (containers: string) =>
    `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: ${containers}}}}}`;

  test.each([
    { reason: 'fields that there are', expression: 'Object{spec: Object.spec{replicas: 3, paused: true}}' },
    { reason: 'maps', expression: "Object{metadata: Object.metadata{labels: {'a': 'b'}}}" },
    {
      reason: 'elements of lists',
      expression: inTemplate(
        "object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{name: c.name, image: 'x'})",
      ),
    },
    { reason: 'parts of the object', expression: 'Object{spec: Object.spec{template: object.spec.template}}' },
  ])('$reason', ({ expression }) => {
    expect(mutation(expression)).toEqual([]);
  });

  test.each([
    { expression: 'Object{spec: Object.spec{replcas: 3}}', says: "did you mean 'replicas'?" },
    { expression: "Object{spec: Object.spec{replicas: '3'}}", says: "expected type of field 'replicas' is 'int'" },
    { expression: 'Object{spec: Object.spce{replicas: 3}}', says: "undeclared reference to 'Object.spce'" },
    { expression: inTemplate("[Object.spec.template.spec.containers{imag: 'x'}]"), says: "did you mean 'image'?" },
  ])('$expression', ({ expression, says }) => {
    const [issue, ...rest] = mutation(expression);
    expect(rest).toEqual([]);
    expect(issue).toMatchObject({ severity: 'error', path: 'spec.mutations[0].applyConfiguration.expression' });
    expect(issue?.message).toContain(says);
  });
});

describe('cost', () => {
  const costOf = (expression: string): number => {
    const { model } = readPolicy({
      apiVersion: 'platform.company.com/v1',
      kind: 'Policy',
      metadata: { name: 'p' },
      spec: { selector: { resourceTypes: ['core/v1/Pod'] }, rules: [{ name: 'r', expression }] },
    });
    return typeCheckPolicy(model as NonNullable<typeof model>, schemas).cost;
  };

  test('grows with the size of the loop range', () => {
    const one = costOf('spec.containers.all(c, c.image != "")');
    const two = costOf('spec.containers.all(c, spec.containers.all(d, c.image != d.image || c.name == d.name))');
    expect(one).toBeGreaterThan(0);
    expect(two).toBeGreaterThan(3 * one);
    expect(two).toBeLessThan(100_000);
  });

  test('triple nested loops cause a warning', () => {
    const nested =
      'spec.containers.all(a, spec.containers.all(b, spec.containers.all(c, a.env.all(e, e.name != c.name))))';
    expect(check(['core/v1/Pod'], nested)).toMatchObject([{ severity: 'warning', code: 'expensive' }]);
  });

  test.each([
    { reason: 'a known kind', kind: 'core/v1/Pod' },
    { reason: 'a kind that is not installed yet', kind: 'example.com/v1/Widget' },
  ])('eight nested loops over literals cause a warning for $reason', ({ kind }) => {
    const nested = 'abcdefgh'.split('').reduceRight((body, name) => `[1,2,3,4,5,6,7,8].all(${name}, ${body})`, 'true');
    expect(check([kind], nested)).toContainEqual(expect.objectContaining({ severity: 'warning', code: 'expensive' }));
  });
});

test('the OpenAPI documents of an API server are a schema source', () => {
  const live = openApiSchemas([
    {
      paths: {
        '/apis/apps/v1/namespaces/{namespace}/deployments/{name}': {
          get: { 'x-kubernetes-group-version-kind': { group: 'apps', version: 'v1', kind: 'Deployment' } },
        },
        '/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale': {
          get: { 'x-kubernetes-group-version-kind': { group: 'autoscaling', version: 'v1', kind: 'Scale' } },
        },
      },
      components: {
        schemas: {
          'io.k8s.api.apps.v1.Deployment': {
            type: 'object',
            properties: { spec: { allOf: [{ $ref: '#/components/schemas/Spec' }] } },
            'x-kubernetes-group-version-kind': [{ group: 'apps', version: 'v1', kind: 'Deployment' }],
          },
          Spec: { type: 'object', properties: { replicas: { type: 'integer' } } },
        },
      },
    },
  ]);
  expect(live.kinds()).toEqual([
    { group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true },
  ]);
  const { model } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name: 'p' },
    spec: { selector: { resourceTypes: ['apps/*/*'] }, rules: [{ name: 'r', expression: 'spec.replcas > 1' }] },
  });
  expect(typeCheck(model as NonNullable<typeof model>, live)[0]?.message).toContain("did you mean 'replicas'?");
});

test('every built-in kind has a model with the fields of an object', () => {
  const source = kubernetesSchemas();
  const without = source.kinds().filter((kind) => {
    const schema = source.resolve?.(source.schema(kind)?.$ref ?? '');
    return !['apiVersion', 'kind', 'metadata'].every((field) => Object.hasOwn(schema?.properties ?? {}, field));
  });
  expect(without).toEqual([]);
});
