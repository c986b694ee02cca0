import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Application, Team } from '../../api/index.ts';
import type { KubernetesObject } from '../../runtime/index.ts';
import { applicationReady, environmentsOf, ownerResolved, worstPhase } from './application-status.ts';
import { refusalOf, reservedBy } from './namespace-claim.ts';
import {
  allOwned,
  costTagsOf,
  countsFor,
  firstNames,
  listedOwnership,
  type OwnedObject,
  type OwnerName,
  type OwnerPath,
  ownerPath,
  type Phase,
  payersOf,
} from './ownership.ts';
import { contentsOf, costAnnotations } from './team-objects.ts';
import { waitingForOwned } from './waiting.ts';

const apiVersion = 'platform.company.com/v1';
const team = (name: string, over: { spec?: object; metadata?: object } = {}) =>
  ({
    apiVersion,
    kind: 'Team',
    metadata: { name, uid: name, ...over.metadata },
    spec: { namespace: `team-${name}`, ...over.spec },
  }) as unknown as Team;
const owned = (
  kind: string,
  name: string,
  owner?: OwnerName,
  over: { spec?: object; status?: object; namespace?: string } = {},
) =>
  ({
    apiVersion,
    kind,
    metadata: { name, namespace: over.namespace ?? 'n', uid: name },
    spec: { owner, ...over.spec },
    status: over.status,
  }) as OwnedObject;
const ofTeam = (name: string): OwnerName => ({ kind: 'Team', name });
const ofApplication = (name: string): OwnerName => ({ kind: 'Application', name });

const world: KubernetesObject[] = [
  team('a', { spec: { namespace: 'n', costTags: { center: '1', who: 'team' } } }),
  owned('Application', 'shop', ofTeam('a'), { spec: { costTags: { who: 'shop' } } }),
  owned('Application', 'inner', ofApplication('shop')),
  owned('Service', 'web', ofApplication('inner'), { spec: { costTags: { own: 'x' } } }),
  owned('Database', 'db', ofTeam('a')),
  owned('Cache', 'lost', ofApplication('nobody')),
  owned('Application', 'one', ofApplication('other')),
  owned('Application', 'other', ofApplication('one')),
  owned('Topic', 'free'),
];
const view = listedOwnership(world);
const named = (name: string) => world.find(({ metadata }) => metadata.name === name) as OwnedObject;

test('the tree below an owner, and the owner chain', () => {
  expect(allOwned('Team/a', view).map(({ metadata }) => metadata.name)).toEqual(['shop', 'db', 'inner', 'web']);
  expect(ownerPath(named('web'), view)).toMatchObject({ end: 'team', applications: ['n/inner', 'n/shop'] });
  expect(ownerPath(named('lost'), view)).toMatchObject({ end: 'missing', missing: 'Application n/nobody' });
  expect(ownerPath(named('one'), view).end).toBe('cycle');
  expect(ownerPath(named('free'), view).end).toBe('none');
  expect(allOwned('Application/n/one', view).map(({ metadata }) => metadata.name)).toEqual(['other']);
});

test('cost tags come from every owner, and the nearest wins', () => {
  expect(costTagsOf(named('web'), view)).toEqual({ center: '1', who: 'shop', own: 'x' });
});

test.each<{
  reason: string;
  object: OwnedObject;
  payer?: string;
  applications: string[];
  tags: object;
  counts: boolean;
}>([
  {
    reason: 'of its namespace',
    object: owned('Service', 'web', ofApplication('inner')),
    payer: 'a',
    applications: ['n/inner', 'n/shop'],
    tags: { center: '1', who: 'shop' },
    counts: true,
  },
  {
    reason: 'of another team, in a namespace of none',
    object: owned('Database', 'stray', ofTeam('a'), { namespace: 'nobodys', spec: { costTags: { own: 'x' } } }),
    applications: [],
    tags: { own: 'x' },
    counts: false,
  },
  {
    reason: 'of an Application of another team, in a namespace of none',
    object: owned('Database', 'stray', { ...ofApplication('inner'), namespace: 'n' }, { namespace: 'nobodys' }),
    applications: [],
    tags: {},
    counts: false,
  },
  {
    reason: 'of another team, in the namespace of a team',
    object: owned('Database', 'stray', ofTeam('a'), { namespace: 'team-b' }),
    applications: [],
    tags: {},
    counts: false,
  },
  {
    reason: 'of a team, through an Application in a namespace of none',
    object: owned('Database', 'stray', ofApplication('own'), { namespace: 'nobodys' }),
    applications: ['nobodys/own'],
    tags: { who: 'own' },
    counts: false,
  },
])('an object counts for and is paid by its own team only: $reason', ({
  object,
  payer,
  applications,
  tags,
  counts,
}) => {
  const own = owned('Application', 'own', ofTeam('a'), { namespace: 'nobodys', spec: { costTags: { who: 'own' } } });
  const listed = listedOwnership([...world, team('b'), own, object]);
  const found = payersOf(object, listed);
  expect(found.team?.metadata.name).toBe(payer);
  expect(found.applications).toEqual(applications);
  expect(costTagsOf(object, listed)).toEqual(tags);
  expect(countsFor(named('shop'), listed)(object)).toBe(counts);
  expect(countsFor(world[0] as Team, listed)(object)).toBe(counts);
});

test('both directions terminate for any ownership graph', () => {
  const names = ['a', 'b', 'c', 'd'];
  const application = fc.record({ name: fc.constantFrom(...names), owner: fc.constantFrom(...names) });
  fc.assert(
    fc.property(fc.uniqueArray(application, { selector: ({ name }) => name }), (links) => {
      const objects = links.map(({ name, owner }) => owned('Application', name, ofApplication(owner)));
      const listed = listedOwnership(objects);
      for (const object of objects) {
        expect(['missing', 'cycle']).toContain(ownerPath(object, listed).end);
        expect(allOwned(`Application/n/${object.metadata.name}`, listed).length).toBeLessThan(names.length);
      }
    }),
  );
});

describe('a namespace', () => {
  const claim = (over: object = {}) => ({
    team: team('a'),
    claimants: [team('a')],
    namespace: undefined,
    reserved: reservedBy({ platformNamespace: 'kidp-system' }),
    ...over,
  });
  const born = (name: string, creationTimestamp: string) =>
    team(name, { spec: { namespace: 'x' }, metadata: { creationTimestamp } });
  const namespace = (metadata: object) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'team-a', ...metadata },
  });
  test.each([
    { reason: 'that does not exist', given: claim(), says: undefined },
    { reason: 'that belongs to no team', given: claim({ namespace: namespace({}) }), says: undefined },
    {
      reason: 'that already belongs to it',
      given: claim({ namespace: namespace({ labels: { 'platform.company.com/team': 'team-a' } }) }),
      says: undefined,
    },
    {
      reason: 'with a forged label',
      given: claim({ namespace: namespace({ labels: { 'platform.company.com/team': 'x' } }) }),
      says: undefined,
    },
    {
      reason: 'that is being deleted',
      given: claim({ namespace: namespace({ deletionTimestamp: 'now' }) }),
      says: 'NamespaceTerminating',
    },
    {
      reason: 'of the platform',
      given: claim({ team: team('a', { spec: { namespace: 'kidp-system' } }) }),
      says: 'NamespaceReserved',
    },
    {
      reason: 'of policy exceptions',
      given: claim({ team: team('a', { spec: { namespace: 'policy-exceptions' } }) }),
      says: 'NamespaceReserved',
    },
    {
      reason: 'of the cluster',
      given: claim({ team: team('a', { spec: { namespace: 'kube-public' } }) }),
      says: 'NamespaceReserved',
    },
    {
      reason: 'that an administrator has reserved',
      given: claim({
        team: team('a', { spec: { namespace: 'infra-dns' } }),
        reserved: reservedBy({ platformNamespace: 'kidp-system', reservedNamespaces: ['infra-*'] }),
      }),
      says: 'NamespaceReserved',
    },
    {
      reason: 'that is no longer reserved',
      given: claim({
        team: team('a', { spec: { namespace: 'kube-public' } }),
        reserved: reservedBy({ platformNamespace: 'kidp-system', reservedNamespaces: ['infra-*'] }),
      }),
      says: undefined,
    },
    {
      reason: 'that is always reserved',
      given: claim({
        team: team('a', { spec: { namespace: 'kube-system' } }),
        reserved: reservedBy({ platformNamespace: 'kidp-system', reservedNamespaces: [] }),
      }),
      says: 'NamespaceReserved',
    },
    {
      reason: 'that an older Team names',
      given: claim({ team: born('b', '2026-01-02'), claimants: [born('b', '2026-01-02'), born('z', '2026-01-01')] }),
      says: 'NamespaceTaken',
    },
    {
      reason: 'that a younger Team names',
      given: claim({ team: born('z', '2026-01-01'), claimants: [born('b', '2026-01-02'), born('z', '2026-01-01')] }),
      says: undefined,
    },
    {
      reason: 'that a Team of the same second names',
      given: claim({ team: born('b', '2026-01-01'), claimants: [born('b', '2026-01-01'), born('a', '2026-01-01')] }),
      says: 'NamespaceTaken',
    },
  ])('$reason: $says', ({ given, says }) => {
    expect(refusalOf(given)?.reason).toBe(says);
  });
});

test('a Team without members, quota or tags still has a role, a binding and network policies', () => {
  expect(contentsOf(team('a')).map(({ object }) => `${object.kind} ${object.metadata.name}`)).toEqual([
    'Role team-developer',
    'RoleBinding team-developer',
    'NetworkPolicy allow-same-namespace',
    'NetworkPolicy default-deny',
  ]);
  expect(contentsOf(team('a', { spec: { quota: { pods: 5 } } })).at(-1)?.object).toMatchObject({
    spec: { hard: { pods: '5' } },
  });
  expect(costAnnotations({ 'cost-center': '1', 'a/b': '2' })).toEqual({
    tags: { 'cost.platform.company.com/cost-center': '1' },
    leftOut: ['a/b'],
  });
});

describe('an Application', () => {
  const at = (phase: Phase | undefined, target: string, kind = 'Service') =>
    owned(kind, `${phase}-${target}`, undefined, {
      spec: { targetRef: { name: target } },
      status: phase === undefined ? undefined : { phase },
    } as { spec: object; status: object });
  const application = (over: object = {}) =>
    ({
      apiVersion,
      kind: 'Application',
      metadata: { name: 'app', namespace: 'n' },
      spec: { owner: ofTeam('a'), ...over },
    }) as unknown as Application;

  test('environments: the named targets, then those of the targets, each with its worst phase', () => {
    const environments = [{ name: 'staging', targetRef: { name: 't1' } }, { name: 'empty' }];
    const target = (name: string) => (name === 't2' ? ({ spec: { environment: 'production' } } as never) : undefined);
    expect(
      environmentsOf(
        application({ environments }),
        [at('ready', 't1'), at('failed', 't1'), at(undefined, 't2'), at('ready', 't3')],
        target,
      ),
    ).toEqual([
      { name: 'staging', phase: 'failed', total: 2, ready: 1 },
      { name: 'empty', phase: 'pending', total: 0, ready: 0 },
      { name: 'production', phase: 'pending', total: 1, ready: 0 },
    ]);
  });

  test.each<{ reason: string; phases: Phase[]; worst: Phase; says: string }>([
    { reason: 'owns nothing', phases: [], worst: 'ready', says: 'True ResourceReady' },
    { reason: 'everything is healthy', phases: ['ready', 'ready'], worst: 'ready', says: 'True ResourceReady' },
    {
      reason: 'a resource is in progress',
      phases: ['ready', 'deploying'],
      worst: 'deploying',
      says: 'False Progressing',
    },
    {
      reason: 'a resource is pending',
      phases: ['deploying', 'pending'],
      worst: 'pending',
      says: 'False Progressing',
    },
    {
      reason: 'the state of a resource is unknown',
      phases: ['unknown', 'pending'],
      worst: 'unknown',
      says: 'Unknown ResourcesUnknown',
    },
    {
      reason: 'a resource failed',
      phases: ['failed', 'unknown', 'ready'],
      worst: 'failed',
      says: 'False ResourcesFailed',
    },
  ])('$reason: $says', ({ phases, worst, says }) => {
    const deployed = phases.map((phase) => at(phase, 't'));
    const owner = { type: 'OwnerResolved', status: 'True', reason: 'OwnerFound' } as const;
    const ready = applicationReady(deployed, owner, undefined);
    expect(`${ready.status} ${ready.reason}`).toBe(says);
    expect(worstPhase(deployed)).toBe(worst);
  });

  test('an unbound dependency makes it not ready', () => {
    const owner = { type: 'OwnerResolved', status: 'True', reason: 'OwnerFound' } as const;
    const unbound = {
      type: 'DependenciesBound',
      status: 'False',
      reason: 'NoMatch',
      message: 'so',
      lastTransitionTime: '',
    } as const;
    expect(applicationReady([], owner, unbound)).toMatchObject({
      status: 'False',
      reason: 'NoMatch',
      message: 'so',
    });
  });

  const toTeam: OwnerPath = { end: 'team', team: team('a'), applications: [] };
  test.each<{ reason: string; object?: Application; path?: OwnerPath; home?: string[]; says: string }>([
    { reason: 'its Team has the namespace', says: 'OwnerFound' },
    { reason: 'no Team has the namespace', home: [], says: 'OwnerFound' },
    { reason: 'another Team has', home: ['b'], says: 'OwnerOfAnotherTeam' },
    { reason: 'it has no owner', path: { end: 'none', applications: [] }, says: 'NoOwner' },
    {
      reason: 'its owner does not exist',
      path: { end: 'missing', missing: 'Team x', applications: [] },
      says: 'OwnerNotFound',
    },
    { reason: 'it owns itself', path: { end: 'cycle', applications: [] }, says: 'OwnerCycle' },
    {
      reason: 'its owner differs from the recorded one',
      object: { ...application(), status: { owner: ofTeam('b') } } as Application,
      says: 'OwnerChanged',
    },
  ])('owner: $reason: $says', ({ object = application(), path = toTeam, home = ['a'], says }) => {
    expect(ownerResolved(object, path, home).reason).toBe(says);
  });
});

test('names are listed in order and truncated', () => {
  expect(firstNames(['c', 'a', 'b'], 2)).toBe('a, b and 1 more');
  expect(waitingForOwned(['Service n/web']).message).toContain('1 resource is still owned (Service n/web). Delete it');
});
