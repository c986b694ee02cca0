import { describe, expect, test } from 'vitest';
import type { Binding, OwnedObject, Phase } from '../platform/ownership.ts';
import { type Before, decideBindings } from './decide.ts';
import type { Dependency } from './visible.ts';

const source = (
  name: string,
  over: { kind?: string; phase?: Phase; secret?: boolean; outputs?: Record<string, string> } = {},
) => {
  const { kind = 'Database', phase = 'ready', secret = true, outputs } = over;
  return {
    apiVersion: 'platform.company.com/v1',
    kind,
    metadata: { name, namespace: 'team' },
    spec: {},
    status: {
      phase,
      ...(secret ? { connectionSecret: { name: `${name}-connection`, revision: '1' } } : {}),
      ...(outputs === undefined ? {} : { outputs }),
    },
  } as OwnedObject;
};
const dependency = (expect?: 'One' | 'Some' | 'Any', kind: Dependency['kind'] = 'Database'): Dependency => ({
  field: `${kind.toLowerCase()}Selector`,
  kind,
  selector: expect === undefined ? {} : { expect },
});
const binding = (name: string, kind: Binding['kind'] = 'Database'): Binding => ({ kind, namespace: 'team', name });
const nothing: Before = { bindings: [], condition: undefined };
const had = (...names: string[]): Before => ({ bindings: names.map((name) => binding(name)), condition: undefined });

const rows: {
  reason: string;
  dependency?: Dependency;
  sources: OwnedObject[];
  before?: Before;
  bound: string[];
  says: string;
  message?: string;
}[] = [
  {
    reason: 'nothing matches',
    sources: [],
    bound: [],
    says: 'NoMatch',
    message: 'create one with these labels',
  },
  {
    reason: 'nothing matches and the selector allows that',
    dependency: dependency('Any'),
    sources: [],
    bound: [],
    says: 'AllBound',
  },
  { reason: 'one matches', sources: [source('a')], bound: ['a'], says: 'AllBound', message: '1 resource is bound' },
  { reason: 'all that match are used', sources: [source('b'), source('a')], bound: ['a', 'b'], says: 'AllBound' },
  {
    reason: 'initially all matches are waited for',
    sources: [source('a'), source('b', { phase: 'pending', secret: false })],
    bound: [],
    says: 'DependencyNotReady',
    message: 'Database team/b (pending)',
  },
  {
    reason: 'a later match blocks nothing',
    sources: [source('a'), source('b', { phase: 'deploying', secret: false })],
    before: had('a'),
    bound: ['a'],
    says: 'AllBound',
    message: 'Database team/b will be bound when ready',
  },
  {
    reason: 'a failed source is not waited for',
    sources: [source('a'), source('b', { phase: 'failed', secret: false })],
    bound: ['a'],
    says: 'AllBound',
  },
  {
    reason: 'a failed source is reported if it is the only match',
    sources: [source('b', { phase: 'failed', secret: false })],
    bound: [],
    says: 'DependencyNotReady',
    message: '(failed)',
  },
  {
    reason: 'a broker that reported no connection is named',
    sources: [source('a', { secret: false })],
    bound: [],
    says: 'DependencyNotReady',
    message: 'its broker reported no connection',
  },
  {
    reason: 'a source that is being updated keeps its connection',
    sources: [source('a', { phase: 'deploying' })],
    bound: ['a'],
    says: 'AllBound',
  },
  {
    reason: 'one of two',
    dependency: dependency('One'),
    sources: [source('a'), source('b')],
    bound: [],
    says: 'AmbiguousSelector',
    message: 'expects one Database and matches 2',
  },
  {
    reason: 'one of two, and one is bound already',
    dependency: dependency('One'),
    sources: [source('a'), source('b')],
    before: had('b'),
    bound: ['b'],
    says: 'AmbiguousSelector',
  },
  { reason: 'one of one', dependency: dependency('One'), sources: [source('a')], bound: ['a'], says: 'AllBound' },
  {
    reason: 'the bound source is gone',
    sources: [],
    before: had('a'),
    bound: [],
    says: 'BindingLost',
    message: 'has none now',
  },
  {
    reason: 'a loss is reported until there is a new match',
    sources: [],
    before: {
      bindings: [],
      condition: {
        type: 'DependenciesBound',
        status: 'False',
        reason: 'BindingLost',
        message: 'databaseSelector had a match before and has none now: …',
        lastTransitionTime: '',
      },
    },
    bound: [],
    says: 'BindingLost',
  },
  {
    reason: 'the bound source is gone and another matches',
    sources: [source('b')],
    before: had('a'),
    bound: ['b'],
    says: 'AllBound',
  },
  {
    reason: 'a Service has no credentials',
    dependency: dependency('Some', 'Service'),
    sources: [source('s', { kind: 'Service', secret: false })],
    bound: ['s'],
    says: 'AllBound',
  },
  {
    reason: 'a Service that is not ready is waited for',
    dependency: dependency('Some', 'Service'),
    sources: [source('s', { kind: 'Service', secret: false, phase: 'deploying' })],
    bound: [],
    says: 'DependencyNotReady',
  },
  {
    reason: 'a Topic may have an address only',
    dependency: dependency('Some', 'Topic'),
    sources: [source('t', { kind: 'Topic', secret: false, outputs: { topic: 't' } })],
    bound: ['t'],
    says: 'AllBound',
  },
];

test.each(rows)('$reason: $says', ({
  dependency: wanted = dependency(),
  sources,
  before = nothing,
  bound,
  says,
  message = '',
}) => {
  const decision = decideBindings([{ dependency: wanted, sources }], before);
  expect(decision.bound.map(({ metadata }) => metadata.name)).toEqual(bound);
  expect(decision.condition).toMatchObject({ reason: says, status: says === 'AllBound' ? 'True' : 'False' });
  expect(decision.condition.message).toContain(message);
  expect(decision.lost.map(({ name }) => name)).toEqual(
    before.bindings.map(({ name }) => name).filter((name) => !bound.includes(name)),
  );
});

describe('several selectors', () => {
  test('all problems are reported, under the most important reason', () => {
    const found = [
      { dependency: dependency('One'), sources: [source('a'), source('b')] },
      { dependency: dependency('Some', 'Cache'), sources: [] },
    ];
    const { condition } = decideBindings(found, nothing);
    expect(condition.reason).toBe('NoMatch');
    expect(condition.message).toContain('databaseSelector expects one');
    expect(condition.message).toContain('cacheSelector matches no Cache');
  });
});

test('no more is bound than the limit of the status', () => {
  const sources = Array.from({ length: 300 }, (_, index) => source(`d${String(index).padStart(3, '0')}`));
  const { bound, condition } = decideBindings([{ dependency: dependency(), sources }], nothing);
  expect(bound).toHaveLength(256);
  expect(condition.message).toContain('44 more match and exceed the limit');
});

test.each([
  {
    reason: 'a missing Secret',
    obstacle: 'missing' as const,
    says: 'DependencyNotReady',
    message: 'its Secret x does not exist',
  },
  {
    reason: 'a conflicting Secret',
    obstacle: 'taken' as const,
    says: 'SecretNameConflict',
    message: 'Secret x exists and is not managed by kidp',
  },
])('$reason: $says', ({ obstacle, says, message }) => {
  const one = source('a');
  const obstacles = new Map([[one, { kind: obstacle, secret: 'x' }]]);
  const { condition, bound } = decideBindings([{ dependency: dependency(), sources: [one] }], nothing, obstacles);
  expect(bound).toEqual([]);
  expect(condition.reason).toBe(says);
  expect(condition.message).toContain(message);
});
