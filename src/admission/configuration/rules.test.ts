/**
 * Whatever policies match: the API server, as it reads rules and conditions, asks us about each request so that every policy
 * that matches it is evaluated once, in a version that it names, and in a call that fails closed where the policy does.
 */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { compile, environment, types } from '../../cel/index.ts';
import { matchesType, type ScopeEntry } from '../../policy/internal.ts';
import { resourceMapping, type ServedResource } from '../../runtime/internal.ts';
import { type Asked, rulesFor } from './rules.ts';
import { standsFor } from './targets.ts';

const served = (group: string, version: string, kind: string, plural: string, subresources: string[] = []) =>
  ({
    group,
    version,
    kind,
    plural,
    subresources,
    namespaced: true,
    verbs: ['create'],
    preferred: true,
  }) satisfies ServedResource;
const resources = [
  served('', 'v1', 'Pod', 'pods', ['exec', 'status']),
  served('', 'v1', 'Namespace', 'namespaces', ['finalize']),
  served('', 'v1', 'Event', 'events'),
  served('events.k8s.io', 'v1', 'Event', 'events'),
  served('autoscaling', 'v1', 'Scaler', 'scalers', ['status']),
  served('autoscaling', 'v2', 'Scaler', 'scalers', ['status']),
  served('example.com', 'v1', 'Thing', 'things'),
  served('example.com', 'v1beta1', 'Thing', 'things'),
  served('example.com', 'v1beta1', 'Relic', 'relics'),
  served('platform.company.com', 'v1', 'Database', 'databases'),
];
const mapping = resourceMapping(resources);
const platformNamespace = 'kidp-system';
const breakGlassGroup = 'kidp:break-glass';

interface Sent {
  readonly type: ServedResource;
  readonly subresource: string;
  readonly operation: string;
  readonly namespace: string;
}
const requests: readonly Sent[] = resources.flatMap((type) =>
  ['', ...type.subresources].flatMap((subresource) =>
    ['CREATE', 'DELETE'].flatMap((operation) =>
      ['default', 'kube-system', ''].map((namespace) => ({ type, subresource, operation, namespace })),
    ),
  ),
);

/** The other versions that the API server may convert to. */
const equivalents = ({ group, plural }: ServedResource): ServedResource[] =>
  resources.filter(
    (each) => each.plural === plural && (each.group === group || (plural === 'events' && each.kind === 'Event')),
  );

const conditions = new Map<string, ReturnType<typeof compile>>();
function holds(expression: string, { type, subresource, operation, namespace }: Sent): boolean {
  const known =
    conditions.get(expression) ??
    compile(expression, environment('kubernetes-1.36', { variables: { request: types.DYN } }));
  conditions.set(expression, known);
  if (known.evaluate === undefined) throw new Error(known.message);
  const request = {
    operation,
    resource: { group: type.group, version: type.version, resource: type.plural },
    userInfo: {},
    // What is empty is left out.
    ...(subresource === '' ? {} : { subResource: subresource }),
    ...(namespace === '' ? {} : { namespace }),
  };
  const answer = known.evaluate({ request } as never);
  if (typeof answer !== 'boolean') throw new Error(`${expression} gives no answer: ${JSON.stringify(request)}`);
  return answer;
}

/** Returns the form in which a webhook receives a request, or undefined if it does not. */
function sentAs(asked: Asked, request: Sent): ServedResource | undefined {
  const { subresource, operation, namespace } = request;
  if (asked.exemptNamespaces.includes(namespace)) return undefined;
  const fitting = (type: ServedResource) => {
    const resource = subresource === '' ? type.plural : `${type.plural}/${subresource}`;
    return asked.rules.find(
      (rule) =>
        [type.group, '*'].includes(rule.apiGroups[0] ?? '') &&
        [type.version, '*'].includes(rule.apiVersions[0] ?? '') &&
        rule.operations.includes(operation) &&
        rule.resources.some((pattern) => standsFor(pattern, resource)),
    );
  };
  const type = [request.type, ...equivalents(request.type)].find((each) => fitting(each) !== undefined);
  if (type === undefined || !asked.matchConditions.every(({ expression }) => holds(expression, request)))
    return undefined;
  return type;
}

const isAbout = (
  entry: ScopeEntry,
  { group, version, kind, plural }: ServedResource,
  { subresource, operation }: Sent,
) =>
  entry.operations.includes(operation as never) &&
  matchesType(entry, { group, version, kind, resource: plural, subresource, parentKind: kind });

/** Mirrors applicable-policies.ts, which excludes policies that are evaluated in another call. */
function judges(entry: ScopeEntry, asked: Asked, as: ServedResource, request: Sent): boolean {
  if (!isAbout(entry, as, request)) return false;
  if (asked.converted === undefined) return true;
  const elsewhere = asked.converted.map((text) => {
    const [version = '', ...group] = text.split('.');
    return { ...as, version, group: group.join('.') };
  });
  return ![request.type, ...elsewhere].some((type) => isAbout(entry, type, request));
}

const isPlatformsOwn = ({ type, subresource, operation }: Sent) =>
  type.group === 'platform.company.com' && subresource === '' && operation === 'CREATE';

/** A request about a Namespace has the name of that as its namespace. */
const isOfGate = ({ type, subresource, operation, namespace }: Sent) =>
  type.plural === 'namespaces' && subresource === '' && operation === 'DELETE' && namespace !== 'kube-system';

type Written = readonly [group: string, version: string, kind: string, subresource?: string];
const everything: Written = ['*', '*', '*'];
const written: readonly Written[] = [
  everything,
  ['', 'v1', 'Pod'],
  ['', 'v1', 'Pod', 'exec'],
  ['', 'v1', 'Pod', '*'],
  ['', 'v1', 'Namespace'],
  ['', 'v1', 'Event'],
  ['events.k8s.io', 'v1', 'Event'],
  ['autoscaling', 'v1', 'Scaler'],
  ['autoscaling', 'v2', 'Scaler'],
  ['autoscaling', '*', 'Scaler'],
  ['autoscaling', 'v2', '*'],
  ['autoscaling', 'v1', 'Scaler', 'status'],
  ['autoscaling', '*', '*', '*'],
  ['example.com', 'v1', '*'],
  ['example.com', '*', 'Thing'],
  ['example.com', 'v1beta1', 'Thing'],
  ['platform.company.com', 'v1', 'Database'],
];
const operations: readonly ScopeEntry['operations'][] = [['CREATE'], ['DELETE'], ['CREATE', 'DELETE']];
const entries: fc.Arbitrary<ScopeEntry> = fc
  .record({
    type: fc.constantFrom(...written),
    operations: fc.constantFrom(...operations),
    failurePolicy: fc.constantFrom<'Fail' | 'Ignore'>('Fail', 'Ignore'),
    systemNamespaces: fc.boolean(),
  })
  .map(({ type, ...rest }) => {
    const [group, version, kind, subresource] = type;
    const below = subresource === undefined ? {} : { subresource };
    return { ...rest, group, version, kind, sparing: type === everything, phase: 'validate' as const, ...below };
  });

it('every policy is evaluated once for every request that it matches', () => {
  fc.assert(
    fc.property(fc.array(entries, { minLength: 1, maxLength: 5 }), fc.boolean(), (scope, excludesDefault) => {
      const excludedNamespaces = excludesDefault ? ['default'] : [];
      const system = ['kube-system', ...excludedNamespaces];
      const { asked } = rulesFor({
        ...{ scope, phase: 'validate', mapping, platformNamespace, excludedNamespaces, breakGlassGroup },
      });
      for (const request of requests.filter((each) => !isPlatformsOwn(each))) {
        const calls = asked.flatMap((each) => {
          const as = sentAs(each, request);
          return as === undefined ? [] : [{ asked: each, as }];
        });
        // Judged by all policies where the gate of Namespaces is.
        if (isOfGate(request)) {
          if (calls.length > 0) expect({ request, calls }).toEqual({ request, calls: [] });
          continue;
        }
        // The server asks all policies, wherever it is asked: a policy that leaves system namespaces alone says so itself.
        for (const entry of scope) {
          const reaches = entry.systemNamespaces || !system.includes(request.namespace);
          if (!reaches) continue;
          const by = calls.filter((call) => judges(entry, call.asked, call.as, request));
          const concerned = equivalents(request.type).some((type) => isAbout(entry, type, request));
          const fails = entry.failurePolicy === 'Ignore' || by[0]?.asked.failurePolicy === 'Fail';
          // Compared only where it is wrong: there are thousands of these.
          if (by.length === (concerned ? 1 : 0) && (fails || !concerned)) continue;
          expect({ request, entry, times: by.length, fails }).toEqual({
            request,
            entry,
            times: Number(concerned),
            fails: true,
          });
        }
      }
    }),
    { numRuns: 300 },
  );
});

it('no condition is longer than an API server takes, however many groups there are', () => {
  const groups = Array.from({ length: 400 }, (_, index) => `group-${index}.some.example.com`);
  const many = groups.flatMap((group) => ['v1', 'v2'].map((version) => served(group, version, 'Thing', 'things')));
  const scope = ['*', ...groups].map((group) => ({
    group,
    version: group === '*' ? '*' : 'v1',
    kind: group === '*' ? '*' : 'Thing',
    sparing: group === '*',
    failurePolicy: group === '*' ? ('Ignore' as const) : ('Fail' as const),
    operations: ['CREATE'] as const,
    systemNamespaces: false,
    phase: 'validate' as const,
  }));
  const { asked } = rulesFor({
    scope,
    phase: 'validate',
    mapping: resourceMapping(many),
    platformNamespace,
    breakGlassGroup,
  });
  for (const { matchConditions } of asked) {
    expect(matchConditions.length).toBeLessThanOrEqual(64);
    expect(new Set(matchConditions.map(({ name }) => name)).size).toBe(matchConditions.length);
    expect(Math.max(0, ...matchConditions.map(({ expression }) => expression.length))).toBeLessThan(100_000);
  }
  const sent = (version: string): Sent => ({
    type: served(groups[399] ?? '', version, 'Thing', 'things'),
    subresource: '',
    operation: 'CREATE',
    namespace: '',
  });
  const isAskedAbout = (each: Asked, request: Sent) =>
    each.matchConditions.every(({ expression }) => holds(expression, request));
  const [closed, open, converted] = asked;
  if (closed === undefined || open === undefined || converted === undefined) throw new Error('three webhooks');
  expect([isAskedAbout(open, sent('v1')), isAskedAbout(open, sent('v2'))]).toEqual([false, false]);
  expect([isAskedAbout(converted, sent('v1')), isAskedAbout(converted, sent('v2'))]).toEqual([false, true]);
  expect(open.matchConditions.length).toBeGreaterThan(4);
});
