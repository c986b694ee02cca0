import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Subject } from '../match/subject.ts';
import type { AdmissionRequest, Json, Operation } from '../request.ts';
import { emptyWorld } from '../world.ts';
import type { CompiledPolicy } from './compile.ts';
import { decide } from './decide.ts';
import { podOf } from './pods.ts';
import { policySet } from './set.ts';
import { exceptionFrom, NOW, policyFrom, requestFor, setFrom } from './support/policies.ts';

const rules = [{ name: 'r', expression: 'true' }];

describe('a set', () => {
  it('lists the types that the webhook must be registered for', () => {
    const set = setFrom(
      { selector: { resourceTypes: ['Database'], operations: ['DELETE'] }, rules, failurePolicy: 'Ignore' },
      { selector: { resourceTypes: ['core/v1/Pod'] }, rules, podControllers: { kinds: ['Job'] } },
      {
        selector: { resourceTypes: ['*'], includeSystemNamespaces: true },
        mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: '[]' } }],
      },
    );
    expect(set.scope).toMatchObject([
      { group: '', version: 'v1', kind: 'Pod', operations: ['CREATE', 'UPDATE'], phase: 'validate' },
      { group: '*', kind: '*', sparing: true, phase: 'mutate', systemNamespaces: true },
      { group: 'batch', version: '*', kind: 'Job', phase: 'validate' },
      {
        group: 'platform.company.com',
        kind: 'Database',
        operations: ['DELETE'],
        failurePolicy: 'Ignore',
        systemNamespaces: false,
      },
    ]);
  });

  it('lists the objects to watch, without duplicates', () => {
    const context = [{ name: 'limits', apiVersion: 'v1', kind: 'ConfigMap', resourceName: 'limits', namespace: 'x' }];
    const params = { apiVersion: 'example.com/v1', kind: 'Limit', selector: { matchLabels: { a: 'b' } } };
    const set = setFrom({ rules, context }, { rules, context, params });
    expect(set.needs).toEqual([
      { apiVersion: 'example.com/v1', kind: 'Limit', selector: { matchLabels: { a: 'b' } } },
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'limits', namespace: 'x' },
    ]);
  });

  it('changes its revision with policies and exceptions', () => {
    const policies = [policyFrom({ rules }, 'p')];
    const { revision } = policySet({ policies });
    expect(policySet({ policies }).revision).toBe(revision);
    expect(
      policySet({ policies: [policyFrom({ rules: [{ name: 'r', expression: '1 == 1' }] }, 'p')] }).revision,
    ).not.toBe(revision);
    expect(policySet({ policies, exceptions: [exceptionFrom({ selector: {} })] }).revision).not.toBe(revision);
    const elsewhere = exceptionFrom({ selector: {} }, { namespace: 'elsewhere' });
    expect(policySet({ policies, exceptions: [elsewhere] }).revision).toBe(revision);
    const [one, other] = ['one', 'other'].map((name) => exceptionFrom({ selector: {} }, { name }));
    if (one === undefined || other === undefined) throw new Error('there are two');
    expect(policySet({ policies, exceptions: [one, other] }).revision).toBe(
      policySet({ policies, exceptions: [other, one] }).revision,
    );
  });

  it('matches nothing in an excluded namespace, and has another revision for it', () => {
    const policies = [policyFrom({ selector: { resourceTypes: ['*'] }, rules })];
    const set = policySet({ policies, excludedNamespaces: ['legacy'] });
    const matched = (namespace: string) =>
      decide(set, requestFor({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', namespace } }), emptyWorld(NOW))
        .matched.length;
    expect([matched('legacy'), matched('n1')]).toEqual([0, 1]);
    expect(set.revision).not.toBe(policySet({ policies }).revision);
  });
});

const pick = <T>(...values: T[]) => fc.constantFrom(...values);
const some = <T>(...values: T[]) => fc.uniqueArray(pick(...values), { minLength: 1, maxLength: 3 });
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });

const LABELS = ['app', 'tier'];
const VALUES = ['a', 'b'];
const labels = fc.dictionary(pick(...LABELS), pick(...VALUES), { maxKeys: 2 });
const matchFields = {
  matchLabels: maybe(labels),
  matchExpressions: maybe(
    fc.array(
      fc.oneof(
        fc.record({ key: pick(...LABELS), operator: pick('In', 'NotIn'), values: some(...VALUES) }),
        fc.record({ key: pick(...LABELS), operator: pick('Exists', 'DoesNotExist') }),
      ),
      { minLength: 1, maxLength: 2 },
    ),
  ),
  namespaces: maybe(some('n1', 'n2', 'n*')),
  names: maybe(some('x', 'y', '?')),
};
const spec = fc
  .record({
    selector: fc.record({
      resourceTypes: some('*', 'apps/v1/Deployment', 'core/v1/Pod', 'apps/*/*', 'Database'),
      operations: maybe(some('CREATE', 'UPDATE', 'DELETE')),
      ...matchFields,
    }),
    exclude: maybe(fc.record({ ...matchFields, names: some('x', 'y') })),
  })
  .map((each) => JSON.parse(JSON.stringify({ ...each, rules })) as object);

const object = fc
  .record({
    type: pick(
      ['v1', 'Pod'],
      ['apps/v1', 'Deployment'],
      ['apps/v1', 'StatefulSet'],
      ['platform.company.com/v1', 'Database'],
    ),
    name: pick('x', 'y', 'zz'),
    namespace: pick('n1', 'n2', 'kube-system'),
    labels,
    template: labels,
  })
  .map(
    ({ type: [apiVersion, kind], name, namespace, labels: own, template }): Json => ({
      apiVersion,
      kind,
      metadata: { name, namespace, labels: own },
      spec: { template: { metadata: { labels: template } } },
    }),
  );

const request = fc
  .record({
    object,
    old: maybe(object),
    operation: pick<Operation>('CREATE', 'UPDATE', 'DELETE'),
    unknown: fc.boolean(),
  })
  .map(({ object: made, old, operation, unknown }): AdmissionRequest => {
    const more = { operation, ...(unknown ? { unknown: ['operation', 'userInfo'] as const } : {}) };
    if (operation === 'DELETE') return { ...requestFor(made, more), object: null as never, oldObject: made };
    return requestFor(made, { ...more, ...(old === undefined ? {} : { oldObject: old }) });
  });

/** What a set without an index would say: every policy is asked, in every way that it sees the request. */
function linear(policies: readonly CompiledPolicy[], each: AdmissionRequest): readonly string[] {
  return policies
    .filter((policy) => {
      const alone = policySet({ policies: [policy] });
      return decide(alone, each, emptyWorld(NOW)).matched.length > 0;
    })
    .map(({ model }) => model.name)
    .sort();
}

/** As `linear`, asking the matches themselves. */
function byMatches(policies: readonly CompiledPolicy[], each: AdmissionRequest): readonly string[] {
  const [now, before] = [each.object ?? null, each.oldObject ?? null];
  const sent = new Subject(each, emptyWorld(NOW), now, before, ['kube-system', 'kidp-system']);
  return policies
    .filter(({ match, exclude }) => match.answer(sent) !== false && exclude?.answer(sent) !== true)
    .map(({ model }) => model.name)
    .sort();
}

it('the index finds the same policies as a linear search', () => {
  fc.assert(
    fc.property(
      fc.array(spec, { minLength: 1, maxLength: 12 }),
      fc.array(request, { minLength: 1, maxLength: 4 }),
      (specs, requests) => {
        const policies = specs.map((each, index) => policyFrom(each, `p${index}`));
        const withoutControllers = policies.filter(({ model }) => model.podControllers === undefined);
        for (const each of requests) {
          const found = [...decide(policySet({ policies }), each, emptyWorld(NOW)).matched].sort();
          expect(found).toEqual(linear(policies, each));
          const plain = decide(policySet({ policies: withoutControllers }), each, emptyWorld(NOW)).matched;
          expect([...plain].sort()).toEqual(byMatches(withoutControllers, each));
        }
      },
    ),
    { numRuns: 50 },
  );
});

it('matches a workload controller as a Pod: by the labels of its template and its own name', () => {
  const deployment: Json = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd', namespace: 'n', labels: { on: 'controller' } },
    spec: { template: { metadata: { labels: { on: 'template' } }, spec: {} } },
  };
  const matched = (selector: object) =>
    decide(
      setFrom({ selector: { resourceTypes: ['core/v1/Pod'], ...selector }, rules }),
      requestFor(deployment),
      emptyWorld(NOW),
    ).matched.length;
  expect(matched({})).toBe(1);
  expect(matched({ matchLabels: { on: 'template' } })).toBe(1);
  expect(matched({ matchLabels: { on: 'controller' } })).toBe(0);
  expect(matched({ names: ['d'] })).toBe(1);
  expect(matched({ namespaces: ['n'] })).toBe(1);
  expect(podOf(deployment, 'spec.template')).toMatchObject({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'd', namespace: 'n' },
  });
});
