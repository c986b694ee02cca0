import { describe, expect, it } from 'vitest';
import type { Json } from '../request.ts';
import { readNative } from './read.ts';

const RULES = [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] }];

const policy = (spec: object, kind = 'ValidatingAdmissionPolicy', version = 'v1'): Json => ({
  apiVersion: `admissionregistration.k8s.io/${version}`,
  kind,
  metadata: { name: 'p' },
  spec: { matchConstraints: { resourceRules: RULES }, ...spec },
});
const binding = (spec: object = {}, kind = 'ValidatingAdmissionPolicyBinding', name = 'b'): Json => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind,
  metadata: { name },
  spec: { policyName: 'p', ...(kind.startsWith('V') ? { validationActions: ['Deny'] } : {}), ...spec },
});
const validations = [{ expression: 'object.spec.replicas < 5' }];
const one = (...objects: Json[]) => {
  const { models, issues } = readNative(objects);
  expect(issues).toEqual([]);
  expect(models).toHaveLength(1);
  return models[0] as (typeof models)[0];
};

describe('readNative', () => {
  it('returns a model for each binding, with the defaults of Kubernetes', () => {
    const { models, issues } = readNative([
      policy({ validations }),
      binding(),
      binding({ validationActions: ['Warn', 'Audit'] }, 'ValidatingAdmissionPolicyBinding', 'c'),
    ]);
    expect(issues).toEqual([]);
    expect(models.map((model) => [model.name, model.binding, model.failurePolicy])).toEqual([
      ['p', 'b', 'Fail'],
      ['p', 'c', 'Fail'],
    ]);
    expect(models.map((model) => model.rules)).toMatchObject([
      [{ name: 'validations[0]', actions: ['Deny'], exceptions: 'Never', ratchet: false }],
      [{ name: 'validations[0]', actions: ['Warn', 'Audit'] }],
    ]);
    expect(models[0]?.revision).not.toBe(models[1]?.revision);
  });

  it.each([
    { version: 'v1beta1', reason: 'the shape of the beta is the same' },
    { version: 'v1alpha1', reason: 'so is that of the alpha' },
  ])('reads $version: $reason', ({ version }) => {
    expect(one(policy({ validations }, 'ValidatingAdmissionPolicy', version), binding()).name).toBe('p');
  });

  it('expands a rule to one type per combination', () => {
    const resourceRules = [
      {
        apiGroups: ['', 'apps'],
        apiVersions: ['v1'],
        operations: ['*'],
        resources: ['pods/*', 'deployments'],
        resourceNames: ['a'],
        scope: 'Namespaced',
      },
    ];
    const { match } = one(
      policy({ validations, matchConstraints: { resourceRules, matchPolicy: 'Exact' } }),
      binding(),
    );
    const operations = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'];
    const common = { version: 'v1', operations, resourceNames: ['a'], scope: 'Namespaced', equivalent: false };
    expect(match.types).toEqual([
      { group: '', resource: 'pods', subresource: '*', ...common },
      { group: '', resource: 'deployments', ...common },
      { group: 'apps', resource: 'pods', subresource: '*', ...common },
      { group: 'apps', resource: 'deployments', ...common },
    ]);
    expect(match.includeSystemNamespaces).toBe(true);
    expect(match.excludeTypes).toContainEqual(
      expect.objectContaining({ group: 'authorization.k8s.io', resource: 'selfsubjectaccessreviews' }),
    );
  });

  it('keeps selectors, and drops those that select everything', () => {
    const matchConstraints = {
      resourceRules: RULES,
      objectSelector: {},
      namespaceSelector: { matchExpressions: [{ key: 'env', operator: 'In', values: ['x'] }] },
    };
    const { match } = one(policy({ validations, matchConstraints }), binding());
    expect(match.objectSelector).toBeUndefined();
    expect(match.namespaceSelector?.matchExpressions).toEqual([{ key: 'env', operator: 'In', values: ['x'] }]);
  });

  it('joins paramKind and paramRef', () => {
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const paramRef = { name: 'limits', namespace: 'x', parameterNotFoundAction: 'Deny' };
    expect(one(policy({ validations, paramKind }), binding({ paramRef })).params).toEqual({
      ...paramKind,
      name: 'limits',
      namespace: 'x',
      notFound: 'Deny',
    });
    expect(one(policy({ validations, paramKind }), binding()).params).toEqual({ ...paramKind, notFound: 'Allow' });
    expect(one(policy({ validations }), binding({ paramRef })).params).toBeUndefined();
    expect(one(policy({ validations, paramKind }), binding({ paramRef: { selector: {} } })).params).toEqual({
      ...paramKind,
      selector: {},
      notFound: 'Allow',
    });
  });

  it('carries audit annotations in a rule that always passes', () => {
    const auditAnnotations = [{ key: 'k', valueExpression: "'v'" }];
    expect(one(policy({ auditAnnotations }), binding()).rules).toMatchObject([
      {
        name: 'auditAnnotations',
        expression: { text: 'true' },
        auditAnnotations: [{ key: 'k', value: { path: 'spec.auditAnnotations[0].valueExpression', text: "'v'" } }],
      },
    ]);
  });

  it('reads mutations of both types, never on DELETE', () => {
    const mutations = [
      { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } },
      { patchType: 'JSONPatch', jsonPatch: { expression: '[]' } },
    ];
    const matchConstraints = { resourceRules: [{ ...RULES[0], operations: ['*'] }] };
    const model = one(
      policy({ mutations, matchConstraints, reinvocationPolicy: 'IfNeeded' }, 'MutatingAdmissionPolicy'),
      binding({}, 'MutatingAdmissionPolicyBinding'),
    );
    expect(model.mutations).toEqual([
      {
        name: 'mutations[0]',
        patchType: 'ApplyConfiguration',
        expression: { path: 'spec.mutations[0].applyConfiguration.expression', text: 'Object{}' },
      },
      {
        name: 'mutations[1]',
        patchType: 'JSONPatch',
        expression: { path: 'spec.mutations[1].jsonPatch.expression', text: '[]' },
      },
    ]);
    expect(model.match.types?.[0]?.operations).toEqual(['CREATE', 'UPDATE', 'CONNECT']);
    expect(model.reinvocationPolicy).toBe('IfNeeded');
  });

  it.each([
    { objects: [policy({ validations })], code: 'no_binding', reason: 'a policy without a binding enforces nothing' },
    { objects: [binding()], code: 'no_policy', reason: 'a binding of a policy that is not here' },
  ])('warns: $reason', ({ objects, code }) => {
    const { models, issues } = readNative(objects);
    expect(models).toEqual([]);
    expect(issues).toMatchObject([{ severity: 'warning', code }]);
  });

  it.each([
    { spec: { validations: 'x' }, path: 'spec.validations', reason: 'no list' },
    { spec: { validations: [{}] }, path: 'spec.validations[0].expression', reason: 'an expression is missing' },
    { spec: { validations, failurePolicy: 'Maybe' }, path: 'spec.failurePolicy', reason: 'no such choice' },
    { spec: {}, path: 'spec.validations', reason: 'nothing to check' },
    {
      spec: { validations, matchConstraints: {} },
      path: 'spec.matchConstraints.resourceRules',
      reason: 'about nothing',
    },
    {
      spec: { validations, matchConstraints: { resourceRules: [{ ...RULES[0], operations: ['READ'] }] } },
      path: 'spec.matchConstraints.resourceRules[0].operations',
      reason: 'no such operation',
    },
  ])('refuses a policy: $reason', ({ spec, path }) => {
    const { models, issues } = readNative([policy(spec), binding()]);
    expect(models).toEqual([]);
    expect(issues.map((issue) => issue.path)).toContain(path);
  });

  it.each([
    { spec: { validationActions: [] }, path: 'spec.validationActions', reason: 'no action' },
    { spec: { validationActions: ['Deny', 'Warn'] }, path: 'spec.validationActions', reason: 'both at once' },
  ])('refuses a binding: $reason', ({ spec, path }) => {
    const { models, issues } = readNative([policy({ validations }), binding(spec)]);
    expect(models).toEqual([]);
    expect(issues.map((issue) => issue.path)).toEqual([path]);
  });

  it('ignores all other objects', () => {
    expect(readNative([{ apiVersion: 'v1', kind: 'ConfigMap' }, {}, { apiVersion: 1 }])).toEqual({
      models: [],
      issues: [],
    });
  });
});
