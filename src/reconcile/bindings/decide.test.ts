import { describe, expect, test } from 'vitest';
import type { Binding, OwnedObject, Phase } from '../platform/ownership.ts';
import { type Before, decideBindings } from './decide.ts';
import type { Demand } from './visible.ts';

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
const demand = (expect?: 'One' | 'Some' | 'Any', kind: Demand['kind'] = 'Database'): Demand => ({
  field: `${kind.toLowerCase()}Selector`,
  kind,
  selector: expect === undefined ? {} : { expect },
});
const binding = (name: string, kind: Binding['kind'] = 'Database'): Binding => ({ kind, namespace: 'team', name });
const nothing: Before = { bindings: [], condition: undefined };
const had = (...names: string[]): Before => ({ bindings: names.map((name) => binding(name)), condition: undefined });

const rows: {
  reason: string;
  demand?: Demand;
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
    says: 'NothingMatches',
    message: 'create one with these labels',
  },
  { reason: 'nothing matches and none is fine', demand: demand('Any'), sources: [], bound: [], says: 'AllBound' },
  { reason: 'one matches', sources: [source('a')], bound: ['a'], says: 'AllBound', message: '1 resource is bound' },
  { reason: 'all that match are used', sources: [source('b'), source('a')], bound: ['a', 'b'], says: 'AllBound' },
  {
    reason: 'at first all are waited for',
    sources: [source('a'), source('b', { phase: 'pending', secret: false })],
    bound: [],
    says: 'NotReadyYet',
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
    says: 'NotReadyYet',
    message: '(failed)',
  },
  {
    reason: 'a broker that has reported no connection is told',
    sources: [source('a', { secret: false })],
    bound: [],
    says: 'NotReadyYet',
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
    demand: demand('One'),
    sources: [source('a'), source('b')],
    bound: [],
    says: 'Ambiguous',
    message: 'expects one Database and matches 2',
  },
  {
    reason: 'one of two, and it has one of them',
    demand: demand('One'),
    sources: [source('a'), source('b')],
    before: had('b'),
    bound: ['b'],
    says: 'Ambiguous',
  },
  { reason: 'one of one', demand: demand('One'), sources: [source('a')], bound: ['a'], says: 'AllBound' },
  {
    reason: 'what it had is gone',
    sources: [],
    before: had('a'),
    bound: [],
    says: 'BindingLost',
    message: 'finds nothing now',
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
        message: 'databaseSelector found something before and finds nothing now: …',
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
    demand: demand('Some', 'Service'),
    sources: [source('s', { kind: 'Service', secret: false })],
    bound: ['s'],
    says: 'AllBound',
  },
  {
    reason: 'a Service that is not ready is waited for',
    demand: demand('Some', 'Service'),
    sources: [source('s', { kind: 'Service', secret: false, phase: 'deploying' })],
    bound: [],
    says: 'NotReadyYet',
  },
  {
    reason: 'a Topic may have an address only',
    demand: demand('Some', 'Topic'),
    sources: [source('t', { kind: 'Topic', secret: false, outputs: { topic: 't' } })],
    bound: ['t'],
    says: 'AllBound',
  },
];

test.each(rows)('$reason: $says', ({
  demand: wanted = demand(),
  sources,
  before = nothing,
  bound,
  says,
  message = '',
}) => {
  const decision = decideBindings([{ demand: wanted, sources }], before);
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
      { demand: demand('One'), sources: [source('a'), source('b')] },
      { demand: demand('Some', 'Cache'), sources: [] },
    ];
    const { condition } = decideBindings(found, nothing);
    expect(condition.reason).toBe('NothingMatches');
    expect(condition.message).toContain('databaseSelector expects one');
    expect(condition.message).toContain('cacheSelector matches no Cache');
  });
});

test('no more is bound than the status has room for', () => {
  const sources = Array.from({ length: 300 }, (_, index) => source(`d${String(index).padStart(3, '0')}`));
  const { bound, condition } = decideBindings([{ demand: demand(), sources }], nothing);
  expect(bound).toHaveLength(256);
  expect(condition.message).toContain('44 more match and are too many');
});

test.each([
  {
    reason: 'a Secret that is not there',
    obstacle: 'missing' as const,
    says: 'NotReadyYet',
    message: 'its Secret x is not there',
  },
  {
    reason: 'a Secret that is in the way',
    obstacle: 'taken' as const,
    says: 'SecretNameTaken',
    message: "Secret x is somebody else's",
  },
])('$reason: $says', ({ obstacle, says, message }) => {
  const one = source('a');
  const obstacles = new Map([[one, { kind: obstacle, secret: 'x' }]]);
  const { condition, bound } = decideBindings([{ demand: demand(), sources: [one] }], nothing, obstacles);
  expect(bound).toEqual([]);
  expect(condition.reason).toBe(says);
  expect(condition.message).toContain(message);
});
