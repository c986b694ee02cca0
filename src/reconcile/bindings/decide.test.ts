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
    reason: 'nothing matches and none is fine',
    dependency: dependency('Any'),
    sources: [],
    bound: [],
    says: 'AllBound',
  },
  { reason: 'one matches', sources: [source('a')], bound: ['a'], says: 'AllBound', message: '1 resource is bound' },
  { reason: 'all that match are used', sources: [source('b'), source('a')], bound: ['a', 'b'], says: 'AllBound' },
  {
    reason: 'at first all are waited for',
    sources: [source('a'), source('b', { phase: 'pending', secret: false })],
    bound: [],
    says: 'DependencyNotReady',
    message: 'Database team/b (pending)',
  },
  {
    reason: 'later a newcomer holds nobody up',
    sources: [source('a'), source('b', { phase: 'deploying', secret: false })],
    before: had('a'),
    bound: ['a'],
    says: 'AllBound',
    message: 'Database team/b will follow when ready',
  },
  {
    reason: 'what failed will not come, and is not waited for',
    sources: [source('a'), source('b', { phase: 'failed', secret: false })],
    bound: ['a'],
    says: 'AllBound',
  },
  {
    reason: 'but where it is the only one, it is told',
    sources: [source('b', { phase: 'failed', secret: false })],
    bound: [],
    says: 'DependencyNotReady',
    message: '(failed)',
  },
  {
    reason: 'a broker that has reported no connection is told',
    sources: [source('a', { secret: false })],
    bound: [],
    says: 'DependencyNotReady',
    message: 'its broker has reported no connection',
  },
  {
    reason: 'what is being changed keeps its connection',
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
    reason: 'one of two, and it has one of them',
    dependency: dependency('One'),
    sources: [source('a'), source('b')],
    before: had('b'),
    bound: ['b'],
    says: 'AmbiguousSelector',
  },
  { reason: 'one of one', dependency: dependency('One'), sources: [source('a')], bound: ['a'], says: 'AllBound' },
  {
    reason: 'what it had is gone',
    sources: [],
    before: had('a'),
    bound: [],
    says: 'BindingLost',
    message: 'matchesDependency nothing now',
  },
  {
    reason: 'and is told as long as nothing takes its place',
    sources: [],
    before: {
      bindings: [],
      condition: {
        type: 'DependenciesBound',
        status: 'False',
        reason: 'BindingLost',
        message: 'databaseSelector found something before and matchesDependency nothing now: …',
        lastTransitionTime: '',
      },
    },
    bound: [],
    says: 'BindingLost',
  },
  {
    reason: 'what it had is gone and another is there',
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
  test('all that is wrong is told, under the reason that matters most', () => {
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

test('no more is bound than the status has room for', () => {
  const sources = Array.from({ length: 300 }, (_, index) => source(`d${String(index).padStart(3, '0')}`));
  const { bound, condition } = decideBindings([{ dependency: dependency(), sources }], nothing);
  expect(bound).toHaveLength(256);
  expect(condition.message).toContain('44 more match and are too many');
});

test.each([
  {
    reason: 'a Secret that is not there',
    obstacle: 'missing' as const,
    says: 'DependencyNotReady',
    message: 'its Secret x is not there',
  },
  {
    reason: 'a Secret that is in the way',
    obstacle: 'taken' as const,
    says: 'SecretNameConflict',
    message: "Secret x is somebody else's",
  },
])('$reason: $says', ({ obstacle, says, message }) => {
  const one = source('a');
  const obstacles = new Map([[one, { kind: obstacle, secret: 'x' }]]);
  const { condition, bound } = decideBindings([{ dependency: dependency(), sources: [one] }], nothing, obstacles);
  expect(bound).toEqual([]);
  expect(condition.reason).toBe(says);
  expect(condition.message).toContain(message);
});
