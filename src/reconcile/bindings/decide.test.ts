import { describe, expect, test } from 'vitest';
import type { Binding, OwnedObject, Phase } from '../platform/ownership.ts';
import { type Before, decideBindings, type Found, inOrder, type Obstacle } from './decide.ts';
import type { Dependency } from './visible.ts';

const source = (
  name: string,
  over: {
    kind?: string;
    namespace?: string;
    phase?: Phase;
    secret?: boolean;
    outputs?: Record<string, string>;
    created?: string;
  } = {},
) => {
  const { kind = 'Database', namespace = 'team', phase = 'ready', secret = true, outputs, created } = over;
  return {
    apiVersion: 'platform.company.com/v1',
    kind,
    metadata: { name, namespace, ...(created === undefined ? {} : { creationTimestamp: created }) },
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
const nothing: Before = { bindings: [], condition: undefined, holds: false };
const had = (...names: string[]): Before => ({ ...nothing, bindings: names.map((name) => binding(name)) });
const deployed = (...names: string[]): Before => ({ ...had(...names), holds: true });
const foundBy = (wanted: Dependency, own: OwnedObject[], over: Partial<Found> = {}): Found => ({
  dependency: wanted,
  own,
  foreign: [],
  unasked: [],
  ...over,
});
const theirs = (name: string, over: Parameters<typeof source>[1] = {}) => source(name, { namespace: 'other', ...over });

const rows: {
  reason: string;
  dependency?: Dependency;
  sources: OwnedObject[];
  foreign?: OwnedObject[];
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
      ...nothing,
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
    reason: 'deployed: a second match waits for the next deployment',
    sources: [source('a'), source('b')],
    before: deployed('a'),
    bound: ['a'],
    says: 'MatchesPending',
    message: '1 resource is bound; Database team/b will be bound with the next deployment',
  },
  {
    reason: 'deployed, and nothing was bound yet: all are bound',
    sources: [source('a'), source('b')],
    before: deployed(),
    bound: ['a', 'b'],
    says: 'AllBound',
  },
  {
    reason: 'deployed, and the only bound source is gone: another is bound',
    sources: [source('b')],
    before: deployed('a'),
    bound: ['b'],
    says: 'AllBound',
  },
  {
    reason: 'deployed, a selector that allows none',
    dependency: dependency('Any'),
    sources: [source('a'), source('b')],
    before: deployed('b'),
    bound: ['b'],
    says: 'MatchesPending',
  },
  {
    reason: 'deployed: one of two',
    dependency: dependency('One'),
    sources: [source('a'), source('b')],
    before: deployed('b'),
    bound: ['b'],
    says: 'AmbiguousSelector',
  },
  {
    reason: 'of another team, that the selector names',
    sources: [],
    foreign: [theirs('x')],
    bound: ['x'],
    says: 'AllBound',
  },
  {
    reason: 'one of the own team is not ambiguous because of others',
    dependency: dependency('One'),
    sources: [source('a')],
    foreign: [theirs('x'), theirs('y')],
    bound: ['a'],
    says: 'AllBound',
  },
  {
    reason: 'one of the own team is not displaced while it is not ready',
    dependency: dependency('One'),
    sources: [source('a', { phase: 'pending', secret: false })],
    foreign: [theirs('x')],
    bound: [],
    says: 'DependencyNotReady',
    message: 'waits for Database team/a (pending)',
  },
  {
    reason: 'one of the own team takes precedence over a bound one, with the next deployment',
    dependency: dependency('One'),
    sources: [source('a')],
    foreign: [theirs('x')],
    before: { ...nothing, bindings: [{ ...binding('x'), namespace: 'other' }] },
    bound: ['a'],
    says: 'AllBound',
  },
  {
    reason: 'and until then the bound one is kept',
    dependency: dependency('One'),
    sources: [source('a')],
    foreign: [theirs('x')],
    before: { ...deployed(), bindings: [{ ...binding('x'), namespace: 'other' }] },
    bound: ['x'],
    says: 'MatchesPending',
    message: 'Database team/a will be bound with the next deployment',
  },
  {
    reason: 'another team cannot delay the first deployment',
    sources: [source('a')],
    foreign: [theirs('x', { phase: 'pending', secret: false })],
    bound: ['a'],
    says: 'AllBound',
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
  foreign = [],
  before = nothing,
  bound,
  says,
  message = '',
}) => {
  const decision = decideBindings([foundBy(wanted, sources, { foreign })], before);
  expect(decision.bound.map(({ metadata }) => metadata.name)).toEqual(bound);
  expect(decision.condition).toMatchObject({
    reason: says,
    status: ['AllBound', 'MatchesPending'].includes(says) ? 'True' : 'False',
  });
  expect(decision.condition.message).toContain(message);
  expect(decision.lost.map(({ name }) => name)).toEqual(
    before.bindings.map(({ name }) => name).filter((name) => !bound.includes(name)),
  );
});

describe('several selectors', () => {
  test('all problems are reported, under the most important reason', () => {
    const found = [foundBy(dependency('One'), [source('a'), source('b')]), foundBy(dependency('Some', 'Cache'), [])];
    const { condition } = decideBindings(found, nothing);
    expect(condition.reason).toBe('NoMatch');
    expect(condition.message).toContain('databaseSelector expects one');
    expect(condition.message).toContain('cacheSelector matches no Cache');
  });
});

test('no more is bound than the limit of the status, and the own team comes first', () => {
  const sources = Array.from({ length: 300 }, (_, index) => theirs(`d${String(index).padStart(3, '0')}`));
  const found = [foundBy(dependency(), [source('last')], { foreign: sources })];
  const { bound, condition } = decideBindings(found, nothing);
  expect(bound).toHaveLength(256);
  expect(bound.map(({ metadata }) => metadata.name)).toContain('last');
  expect(condition.message).toContain('45 more match and exceed the limit');
});

test('precedence: own team, existing binding, age, name', () => {
  const foreign = theirs('0', { created: '2020-01-01T00:00:00Z' });
  const own = [
    source('old', { created: '2021-01-01T00:00:00Z' }),
    source('b', { created: '2022-01-01T00:00:00Z' }),
    source('a', { created: '2022-01-01T00:00:00Z' }),
    source('bound', { created: '2023-01-01T00:00:00Z' }),
  ];
  const found = [foundBy(dependency(), own, { foreign: [foreign] })];
  const ordered = inOrder([foreign, ...own], found, had('bound'));
  expect(ordered.map(({ metadata }) => metadata.name)).toEqual(['bound', 'old', 'a', 'b', '0']);
  const boundToForeign = { ...deployed(), bindings: [{ ...binding('0'), namespace: 'other' }] };
  expect(inOrder([...own, foreign], found, boundToForeign)[0]).toBe(foreign);
});

describe('a source of a team that the selector does not name', () => {
  const unasked = [{ source: theirs('x'), team: 'others' }];
  const wasBound = { ...had('a'), bindings: [binding('a'), { ...binding('x'), namespace: 'other' }] };
  const hint =
    'Database other/x of Team others is shared, but not selected: name the team in spec.dependencies.databaseSelector.fromTeams to use it';

  test.each([
    { reason: 'it was the only one', own: [], says: 'BindingLost' },
    { reason: 'others stay bound', own: [source('a')], says: 'AllBound' },
  ])('that was bound before is named, also later: $reason', ({ own, says }) => {
    const found = [foundBy(dependency(), own, { unasked })];
    const first = decideBindings(found, wasBound);
    expect(first.condition.reason).toBe(says);
    expect(first.condition.message).toContain(hint);
    expect(first.lost.map(({ name }) => name)).toContain('x');
    const condition = { ...first.condition, message: first.condition.message ?? '', lastTransitionTime: '' };
    const second = decideBindings(found, { ...nothing, condition, bindings: own.map(() => binding('a')) });
    expect(second.condition.message).toBe(first.condition.message);
  });

  test('that was never bound is not named: whoever shares something cannot write here', () => {
    const { condition } = decideBindings([foundBy(dependency(), [], { unasked })], nothing);
    expect(condition.reason).toBe('NoMatch');
    expect(condition.message).toContain(
      'name a team that shares one (spec.sharedWith) in spec.dependencies.databaseSelector.fromTeams',
    );
    expect(condition.message).not.toContain('other');
  });
});

describe('variables of one name', () => {
  const [first, second] = [source('a'), source('b')];
  const found = [foundBy(dependency(), [first, second])];
  test.each([
    { reason: 'only one is bound before', before: had('a'), kept: false, bound: ['a'], message: 'the first is kept' },
    { reason: 'and it is deployed', before: deployed('a'), kept: false, bound: ['a'], message: 'the first is kept' },
    { reason: 'both are', before: had('a', 'b'), kept: true, bound: ['a', 'b'], message: 'nothing is deployed until' },
  ])('are an error, and existing bindings are kept: $reason', ({ before, kept, bound, message }) => {
    const obstacle = { kind: 'variable' as const, text: 'a and b are both the variable X', kept };
    const decision = decideBindings(found, before, new Map([[second, obstacle]]));
    expect(decision.bound.map(({ metadata }) => metadata.name)).toEqual(bound);
    expect(decision.condition).toMatchObject({ status: 'False', reason: 'VariableConflict' });
    expect(decision.condition.message).toContain('a and b are both the variable X');
    expect(decision.condition.message).toContain(message);
  });
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
  const obstacles = new Map([[one, { kind: obstacle, secret: 'x' } as Obstacle]]);
  const { condition, bound } = decideBindings([foundBy(dependency(), [one])], nothing, obstacles);
  expect(bound).toEqual([]);
  expect(condition.reason).toBe(says);
  expect(condition.message).toContain(message);
});
