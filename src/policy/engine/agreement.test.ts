import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { PolicyDecision } from '../decision.ts';
import type { AdmissionRequest, Json } from '../request.ts';
import { emptyWorld, type World } from '../world.ts';
import type { PolicyCompileOptions } from './compile.ts';
import { decide } from './decide.ts';
import { policySet } from './set.ts';
import { NOW, policyFrom, requestFor } from './support/policies.ts';

/** Expressions that pass, fail, err and depend on one another, on whatever object they meet. */
const EXPRESSIONS = [
  'spec.a == 1',
  '  spec.a  ==  1',
  'object.spec.a == 1',
  'spec.list.all(x, x.n > 1)',
  'spec.list.exists(x, x.n == variables.limit) || spec.a == 1',
  '!has(spec.b) || spec.b.startsWith("r/")',
  'variables.limit > 2',
  'variables.names.size() < variables.limit',
  'has(variables.limit)',
  'oldObject == null || oldObject.spec.a <= spec.a',
  'request.operation == "CREATE" && variables.limit > 0',
  'things.size() > 1 && variables.names.size() > 0',
  'object.?spec.?list.orValue([]).map(x, x.?n.orValue(0)).all(n, n < 3)',
  'namespaceObject.metadata.name == "n"',
  'metadata.labels.all(k, v, k != v)',
  'spec',
  'spec.list.all(x, x.n > 1) && spec.a == 1',
  'spec.a >= 0 && spec.list.all(x, x.n > 1) && spec.a < 9',
  'spec.a == 2 || spec.list.all(x, x.n > 1) || spec.list.exists(x, x.n == 0)',
  'has(spec.list) && (spec.list.exists(x, x.n == 0) || spec.a == 1)',
];
const VARIABLES = [
  [
    { name: 'limit', expression: 'spec.a' },
    { name: 'names', expression: 'spec.list.map(x, x.n)' },
  ],
  [
    { name: 'limit', expression: '3' },
    { name: 'names', expression: 'spec.list.filter(x, x.n > variables.limit)' },
  ],
  [
    { name: 'limit', expression: 'things.size()' },
    { name: 'names', expression: '[variables.limit, 1]' },
  ],
];
const context = [{ name: 'things', apiVersion: 'example.com/v1', kind: 'Thing' }];

const spec = fc
  .record({
    expressions: fc.array(fc.constantFrom(...EXPRESSIONS), { minLength: 1, maxLength: 3 }),
    variables: fc.constantFrom(...VARIABLES),
    condition: fc.option(fc.constantFrom('spec.a > 0', 'has(spec.list)', 'true'), { nil: undefined }),
    failurePolicy: fc.constantFrom('Fail', 'Ignore'),
    ratchet: fc.boolean(),
  })
  .map(({ expressions, variables, condition, failurePolicy, ratchet }) => ({
    selector: { resourceTypes: ['example.com/v1/Thing'] },
    variables,
    context,
    failurePolicy,
    ...(condition === undefined ? {} : { matchConditions: [{ name: 'c', expression: condition }] }),
    rules: expressions.map((expression, index) => ({
      name: `r${index}`,
      expression,
      ratchet: ratchet && !expression.includes('oldObject'),
      messageExpression: '"limit " + string(variables.limit)',
    })),
  }));

const value = fc.oneof(
  fc.integer({ min: -2, max: 5 }),
  fc.constantFrom('r/x', 'x', '', null, true),
  fc.jsonValue({ maxDepth: 2 }),
);
const object = fc
  .record({
    a: fc.oneof(fc.integer({ min: 0, max: 3 }), value),
    b: value,
    list: fc.oneof(
      fc.array(fc.record({ n: fc.oneof(fc.integer({ min: 0, max: 4 }), value) }), { maxLength: 3 }),
      value,
    ),
    labels: fc.oneof(fc.dictionary(fc.string({ maxLength: 3 }), fc.string({ maxLength: 3 })), value),
  })
  .chain((full) => fc.subarray(Object.keys(full)).map((keys) => [full, keys] as const))
  .map(([{ labels, ...full }, keys]): Json => {
    const kept = Object.fromEntries(Object.entries(full).filter(([key]) => keys.includes(key)));
    const metadata = { name: 't', namespace: 'n', ...(keys.includes('labels') ? { labels } : {}) };
    return { apiVersion: 'example.com/v1', kind: 'Thing', metadata, spec: kept };
  });

const request = fc
  .record({ object, old: fc.option(object, { nil: undefined }), partial: fc.boolean() })
  .map(({ object: made, old, partial }): AdmissionRequest => {
    const update = old === undefined ? {} : { operation: 'UPDATE' as const, oldObject: old };
    return requestFor(made, { ...update, ...(partial ? { unknown: ['oldObject'] as const } : {}) });
  });

const world: World = {
  ...emptyWorld(NOW),
  namespace: (name) => ({ metadata: { name } }),
  find: () => [{ kind: 'Thing' }, { kind: 'Thing' }],
};

const summary = ({ results, cost, matched, allowed }: PolicyDecision) => ({ results, cost, matched, allowed });

function together(
  specs: readonly object[],
  each: AdmissionRequest,
  options: PolicyCompileOptions = {},
  passes = false,
) {
  const policies = specs.map((one, index) => policyFrom(one, `p${String(index).padStart(2, '0')}`, options));
  return summary(decide(policySet({ policies }), each, world, { passes }));
}

it('decides the same for a set as for each policy alone', () => {
  fc.assert(
    fc.property(
      fc.array(spec, { minLength: 1, maxLength: 8 }),
      fc.array(request, { minLength: 1, maxLength: 3 }),
      (specs, requests) => {
        for (const each of requests) {
          const all = together(specs, each);
          const alone = specs.map((one, index) => {
            const policy = policyFrom(one, `p${String(index).padStart(2, '0')}`);
            return summary(decide(policySet({ policies: [policy] }), each, world));
          });
          expect(all.results).toEqual(alone.flatMap(({ results }) => results));
          expect(all.cost).toBe(alone.reduce((sum, { cost }) => sum + cost, 0));
          expect(all.matched).toEqual(alone.flatMap(({ matched }) => matched));
        }
      },
    ),
    { numRuns: 40 },
  );
});

/** Four and more of each: they are asked in one go, and must answer as they do one by one. */
const FORMS: readonly ((index: number) => string)[] = [
  (index) => `spec.a <= ${index}`,
  (index) => `object.spec.a != ${index} || spec.list.exists(x, x.n == ${index})`,
  (index) => `!has(spec.b) || spec.b.startsWith("r${index % 3}") || spec.b != "x${index}"`,
  (index) => `spec.list.all(x, x.n < ${index} && x.n != ${index + 1})`,
  (index) => `object.?spec.?list.orValue([]).map(x, x.?n.orValue(${index})).all(n, n < ${index + 2})`,
  (index) => `request.kind.kind == "Thing" && spec.a != ${index}`,
  (index) => `oldObject == null || spec.a + ${index} > 1`,
];

it('decides the same for a batch as for each expression alone', () => {
  const specs = FORMS.flatMap((form) =>
    Array.from({ length: 6 }, (_, index) => ({
      selector: { resourceTypes: ['example.com/v1/Thing'] },
      rules: [
        { name: 'a', expression: form(index) },
        { name: 'b', expression: form(index + 3) },
      ],
    })),
  );
  const policies = specs.map((one, index) => policyFrom(one, `p${String(index).padStart(2, '0')}`));
  const all = policySet({ policies });
  const each = policies.map((policy) => policySet({ policies: [policy] }));
  const slow = policySet({
    policies: specs.map((one, index) => policyFrom(one, `p${String(index).padStart(2, '0')}`, { backend: 'closures' })),
  });
  fc.assert(
    fc.property(request, (asked) => {
      const judged = summary(decide(all, asked, world));
      const alone = each.map((set) => summary(decide(set, asked, world)));
      // To say why is only done for the first hundred of a request.
      const bare = (results: PolicyDecision['results']) => results.map(({ why: _why, field: _field, ...rest }) => rest);
      expect(bare(judged.results)).toEqual(bare(alone.flatMap(({ results }) => results)));
      expect(judged.cost).toBe(alone.reduce((sum, { cost }) => sum + cost, 0));
      expect(judged).toEqual(summary(decide(slow, asked, world)));
    }),
    { numRuns: 60 },
  );
});

it('decides the same with generated code and closures, with and without passes', () => {
  fc.assert(
    fc.property(fc.array(spec, { minLength: 1, maxLength: 4 }), request, (specs, each) => {
      const code = together(specs, each, { backend: 'code' });
      expect(together(specs, each, { backend: 'closures' })).toEqual(code);
      const withPasses = together(specs, each, { backend: 'closures' }, true);
      expect({ ...withPasses, results: withPasses.results.filter(({ result }) => result !== 'pass') }).toEqual(code);
    }),
    { numRuns: 20 },
  );
});

it('accepts any object and never throws', () => {
  const anything = fc.jsonValue({ maxDepth: 4 });
  const policies = EXPRESSIONS.map((expression, index) =>
    policyFrom(
      {
        selector: {
          resourceTypes: index % 2 === 0 ? ['*'] : ['core/v1/Pod'],
          operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
        },
        variables: VARIABLES[0],
        context,
        sensitivePaths: ['spec.a'],
        rules: [
          { name: 'r', expression, messageExpression: 'string(spec.a)', ratchet: !expression.includes('oldObject') },
        ],
      },
      `p${index}`,
    ),
  );
  const set = policySet({ policies });
  fc.assert(
    fc.property(
      anything,
      anything,
      anything,
      fc.constantFrom('CREATE', 'UPDATE', 'DELETE', 'CONNECT'),
      fc.boolean(),
      (one, other, metadata, operation, controller) => {
        const shaped = { apiVersion: 'v1', kind: 'x', metadata, spec: controller ? { template: one } : one };
        for (const made of [one, shaped]) {
          const kind = controller
            ? { group: 'apps', version: 'v1', kind: 'Deployment' }
            : { group: '', version: 'v1', kind: 'Pod' };
          const decision = decide(
            set,
            { uid: 'u', kind, operation, object: made as Json, oldObject: other as Json },
            world,
          );
          expect(decision.results.every(({ why = '' }) => why.length <= 300)).toBe(true);
        }
      },
    ),
    { numRuns: 100 },
  );
});

it('limits the effect of an expensive policy to itself', () => {
  const looping = policyFrom(
    {
      rules: [
        {
          name: 'r',
          expression:
            '[1,2,3,4,5,6,7,8,9,10].all(a, spec.list.all(b, spec.list.all(c, spec.list.all(d, b + c + d + a > -1))))',
        },
      ],
    },
    'loops',
  );
  const good = policyFrom({ rules: [{ name: 'r', expression: 'spec.list.size() == 200' }] }, 'good');
  const bad = policyFrom({ rules: [{ name: 'r', expression: 'spec.list.size() == 2' }] }, 'bad');
  const large: Json = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'x', namespace: 'n' },
    spec: { list: Array.from({ length: 200 }, (_, index) => index) },
  };
  const { results } = decide(policySet({ policies: [looping, good, bad] }), requestFor(large), world, { passes: true });
  expect(results.map(({ policy, result }) => [policy, result])).toEqual([
    ['bad', 'fail'],
    ['good', 'pass'],
    ['loops', 'error'],
  ]);
  expect(results[2]?.message).toContain('cost limit exceeded');
  const late = decide(policySet({ policies: [looping] }), requestFor(large), world, { deadline: Date.now() + 1 });
  expect(late.results).toMatchObject([{ result: 'error', denies: true }]);
});

it('explains the first hundred violations, and denies all', () => {
  const rules = Array.from({ length: 120 }, (_, index) => ({
    name: `r${index}`,
    expression: `spec.a == ${index + 1}`,
  }));
  const object: Json = { apiVersion: 'v1', kind: 'X', metadata: { namespace: 'n' }, spec: { a: 0 } };
  const { results } = decide(policySet({ policies: [policyFrom({ rules })] }), requestFor(object), world);
  expect(results.filter(({ denies }) => denies)).toHaveLength(120);
  expect(results.filter(({ why }) => why !== undefined)).toHaveLength(100);
});

it('stops a policy that exceeds its budget', () => {
  const policy = policyFrom(
    {
      rules: [
        { name: 'a', expression: 'spec.list.all(x, x > -1)' },
        { name: 'b', expression: 'true' },
      ],
    },
    'p',
    {
      policyCostLimit: 100,
    },
  );
  const object: Json = {
    apiVersion: 'v1',
    kind: 'X',
    metadata: { namespace: 'n' },
    spec: { list: Array.from({ length: 50 }, () => 1) },
  };
  const { results } = decide(policySet({ policies: [policy] }), requestFor(object), world);
  expect(results.map(({ result, message }) => [result, message.includes('cost budget')])).toEqual([
    ['error', true],
    ['error', true],
  ]);
});
