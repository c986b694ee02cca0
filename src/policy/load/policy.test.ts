import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { policyException, policy as policyKind } from '../../api/index.ts';
import { Double } from '../../cel/index.ts';
import type { Json } from '../request.ts';
import { readException } from './exception.ts';
import { readPolicy } from './policy.ts';

const object = (spec: unknown, more: object = {}): Json => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Policy',
  metadata: { name: 'p' },
  spec: spec as Json,
  ...more,
});
const rules = [{ name: 'r', expression: 'true' }];
const selector = { resourceTypes: ['Database'] };

describe('readPolicy', () => {
  it.each([
    { reason: 'an integer that JSON.stringify refuses', number: 9007199254740993n },
    { reason: 'a double with an integer as its value', number: new Double(1) },
  ])('keeps numbers as a review has them: $reason', ({ number }) => {
    const tests = [{ name: 't', object: { spec: { number } }, expect: { allowed: true } }];
    const { model, issues } = readPolicy(object({ selector, rules, tests }));
    expect(issues).toEqual([]);
    expect(model?.tests[0]?.object).toEqual({ spec: { number } });
  });

  it('reads the example of the kind', () => {
    const { model, issues } = readPolicy(parse(policyKind.example) as Json);
    expect(issues).toEqual([]);
    expect(model).toMatchObject({
      kind: 'Policy',
      name: 'require-backup',
      match: {
        types: [{ group: 'platform.company.com', version: '*', kind: 'Database' }],
        operations: ['CREATE', 'UPDATE'],
        objectSelector: { matchLabels: { environment: 'production' } },
        includeSystemNamespaces: false,
      },
      failurePolicy: 'Fail',
      rules: [{ name: 'require-backup', severity: 'medium', actions: ['Deny'], ratchet: false, exceptions: 'Allowed' }],
    });
    expect(model?.tests).toHaveLength(1);
  });

  it.each<{ reason: string; type: string; read: object }>([
    {
      reason: 'a bare kind is of the platform',
      type: 'Database',
      read: { group: 'platform.company.com', version: '*', kind: 'Database' },
    },
    { reason: 'the core group', type: 'core/v1/Pod', read: { group: '', version: 'v1', kind: 'Pod' } },
    {
      reason: 'a subresource',
      type: 'core/v1/Pod/exec',
      read: { group: '', version: 'v1', kind: 'Pod', subresource: 'exec' },
    },
    {
      reason: 'everything, without what happens every second',
      type: '*',
      read: { group: '*', version: '*', kind: '*', sparing: true },
    },
    { reason: 'everything, written out', type: '*/*/*', read: { group: '*', version: '*', kind: '*', sparing: true } },
    {
      reason: 'a group that is named is meant',
      type: 'events.k8s.io/v1/*',
      read: { group: 'events.k8s.io', version: 'v1', kind: '*' },
    },
    {
      reason: 'groups by a pattern',
      type: '*.example.com/v1/Thing',
      read: { group: '*.example.com', version: 'v1', kind: 'Thing' },
    },
  ])('reads types: $reason', ({ type, read }) => {
    const { model } = readPolicy(object({ selector: { resourceTypes: [type] }, rules }));
    expect(model?.match.types).toEqual([read]);
  });

  it.each<{ reason: string; spec: unknown; path: string; code: string; says?: string }>([
    { reason: 'no spec', spec: undefined, path: 'spec', code: 'missing_field' },
    { reason: 'a spec that is a list', spec: [], path: 'spec', code: 'missing_field' },
    { reason: 'no selector', spec: { rules }, path: 'spec.selector', code: 'missing_field' },
    { reason: 'neither rule nor mutation', spec: { selector }, path: 'spec.rules', code: 'rule' },
    {
      reason: 'a rule without a name',
      spec: { selector, rules: [{ expression: 'true' }] },
      path: 'spec.rules[0].name',
      code: 'missing_field',
    },
    {
      reason: 'a name that is there twice',
      spec: { selector, rules: [...rules, ...rules] },
      path: 'spec.rules[1]',
      code: 'duplicate',
    },
    {
      reason: 'an expression that is a number',
      spec: { selector, rules: [{ name: 'r', expression: 1 }] },
      path: 'spec.rules[0].expression',
      code: 'wrong_type',
    },
    {
      reason: 'a field that is spelled wrong',
      spec: { selector, rules: [{ name: 'r', expresion: 'true' }] },
      path: 'spec.rules[0].expresion',
      code: 'unknown_field',
      says: 'expression',
    },
    {
      reason: 'a choice that is none',
      spec: { selector, rules: [{ ...rules[0], enforcement: 'Denny' }] },
      path: 'spec.rules[0].enforcement',
      code: 'not_allowed',
      says: 'Deny',
    },
    {
      reason: 'operations that are none',
      spec: { selector: { ...selector, operations: ['PATCH'] }, rules },
      path: 'spec.selector.operations[0]',
      code: 'not_allowed',
    },
    {
      reason: 'a type without a version',
      spec: { selector: { resourceTypes: ['apps/Deployment'] }, rules },
      path: 'spec.selector.resourceTypes[0]',
      code: 'not_allowed',
      says: 'group/version/Kind',
    },
    {
      reason: 'a label whose value is no text',
      spec: { selector: { ...selector, matchLabels: { a: true } }, rules },
      path: 'spec.selector.matchLabels.a',
      code: 'wrong_type',
    },
    {
      reason: 'a date that is none',
      spec: { selector, rules: [{ ...rules[0], enforceAfter: '2026-02-30' }] },
      path: 'spec.rules[0].enforceAfter',
      code: 'not_allowed',
    },
    {
      reason: 'params with name and selector',
      spec: { selector, rules, params: { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', selector: {} } },
      path: 'spec.params',
      code: 'rule',
    },
    {
      reason: 'a context variable that hides another',
      spec: { selector, rules, context: [{ name: 'object', apiVersion: 'v1', kind: 'ConfigMap' }] },
      path: 'spec.context[0].name',
      code: 'name_taken',
    },
    {
      reason: 'a variable that is there twice',
      spec: {
        selector,
        rules,
        variables: [
          { name: 'a', expression: '1' },
          { name: 'a', expression: '2' },
        ],
      },
      path: 'spec.variables[1].name',
      code: 'duplicate',
    },
    {
      reason: 'a mutation of the other type',
      spec: { selector, mutations: [{ patchType: 'JSONPatch', applyConfiguration: { expression: 'Object{}' } }] },
      path: 'spec.mutations[0]',
      code: 'rule',
    },
  ])('complains about $reason', ({ spec, path, code, says }) => {
    const { model, issues } = readPolicy(object(spec));
    expect(model).toBeUndefined();
    expect(issues).toContainEqual(expect.objectContaining({ severity: 'error', code, path, policy: 'p' }));
    if (says !== undefined) expect(issues.find((each) => each.path === path)?.message).toContain(says);
  });

  it('warns about a bare kind that the platform does not have', () => {
    const { model, issues } = readPolicy(object({ selector: { resourceTypes: ['Databse'] }, rules }));
    expect(model).toBeDefined();
    expect(issues).toMatchObject([
      { severity: 'warning', code: 'unknown_kind', path: 'spec.selector.resourceTypes[0]' },
    ]);
    expect(issues[0]?.message).toContain('Database');
  });

  it('warns about a subresource that is never created or updated', () => {
    const resourceTypes = ['core/v1/Pod', 'core/v1/Pod/exec'];
    expect(readPolicy(object({ selector: { resourceTypes }, rules })).issues).toMatchObject([
      { severity: 'warning', code: 'never_asked', path: 'spec.selector.resourceTypes[1]' },
    ]);
    expect(readPolicy(object({ selector: { resourceTypes, operations: ['CONNECT'] }, rules })).issues).toEqual([]);
  });

  it('treats null as absent', () => {
    const { model, issues } = readPolicy(
      object({ selector: { ...selector, matchLabels: null }, rules, exclude: null, params: null }),
    );
    expect(issues).toEqual([]);
    expect(model?.match.objectSelector).toBeUndefined();
  });

  it('changes its revision with every change', () => {
    const one = readPolicy(object({ selector, rules })).model?.revision;
    expect(readPolicy(object({ selector, rules })).model?.revision).toBe(one);
    expect(readPolicy(object({ selector, rules: [{ name: 'r', expression: 'false' }] })).model?.revision).not.toBe(one);
    const stored = object({ selector, rules }, { metadata: { name: 'p', uid: 'u', generation: 3 } });
    expect(readPolicy(stored).model?.revision).toBe('u.3');
  });

  it.each<{ reason: string; spec: object; kinds: readonly string[] | undefined }>([
    {
      reason: 'Pods alone bring all six',
      spec: { selector: { resourceTypes: ['core/v1/Pod'] } },
      kinds: ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job', 'CronJob'],
    },
    {
      reason: 'an empty list brings none',
      spec: { selector: { resourceTypes: ['core/v1/Pod'] }, podControllers: { kinds: [] } },
      kinds: undefined,
    },
    {
      reason: 'those that are named',
      spec: { selector: { resourceTypes: ['core/v1/Pod'] }, podControllers: { kinds: ['Job'] } },
      kinds: ['Job'],
    },
    {
      reason: 'other types beside Pods were thought of',
      spec: { selector: { resourceTypes: ['core/v1/Pod', 'core/v1/Service'] } },
      kinds: undefined,
    },
    {
      reason: 'a subresource of Pods has no controller',
      spec: { selector: { resourceTypes: ['core/v1/Pod/exec'] } },
      kinds: undefined,
    },
    { reason: 'everything is not only Pods', spec: { selector: { resourceTypes: ['*'] } }, kinds: undefined },
  ])('controllers of Pods: $reason', ({ spec, kinds }) => {
    expect(readPolicy(object({ rules, ...spec })).model?.podControllers?.kinds).toEqual(kinds);
  });

  it('accepts any input and never throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (spec, selectorValue, ruleValue) => {
        for (const each of [spec, { selector: selectorValue, rules: ruleValue }, { selector, rules: [ruleValue] }]) {
          const { model, issues } = readPolicy(object(each));
          if (model === undefined && issues.length === 0) throw new Error('neither a model nor an issue');
        }
        readPolicy(spec as unknown as Json);
        readException(spec as unknown as Json);
      }),
      { numRuns: 150 },
    );
  });
});

describe('readException', () => {
  it('reads the example of the kind', () => {
    const { exception, issues } = readException(parse(policyException.example) as Json);
    expect(issues).toEqual([]);
    expect(exception).toMatchObject({
      name: 'legacy-reports',
      namespace: 'policy-exceptions',
      policies: [{ name: 'require-backup', rules: ['require-backup'] }],
      expiresAt: Date.parse('2027-01-31T00:00:00Z'),
    });
  });

  it('requires the exempt policies', () => {
    const spec = { policies: [{ name: 'p' }], reason: 'r', requester: 'q' };
    const { issues } = readException({
      ...object(spec),
      kind: 'PolicyException',
      metadata: { name: 'e', namespace: 'n' },
    });
    expect(issues).toMatchObject([{ code: 'rule', path: 'spec.selector' }]);
  });
});
