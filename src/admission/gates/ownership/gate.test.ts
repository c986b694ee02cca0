import { describe, expect, it } from 'vitest';
import type { AdmissionRequest, Json } from '../../review/decode.ts';
import { denialMessage } from '../../review/encode.ts';
import { type Gate, noFacts } from '../gate.ts';
import { decide, gates, onlyRemovesFinalizers } from '../platform.ts';
import type { OwnerChain } from './owner-chain.ts';

const team = { kind: 'Team', name: 'backend-team' };
const application = { kind: 'Application', name: 'user-service' };

function database(owner: unknown, metadata: Json = {}): Json {
  return {
    apiVersion: 'platform.company.com/v1',
    kind: 'Database',
    metadata: { name: 'orders', namespace: 'team-backend', ...metadata },
    spec: owner === undefined ? { size: 'small' } : { owner, size: 'small' },
  };
}

function update(before: unknown, after: unknown, over: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    uid: 'u',
    kind: { group: 'platform.company.com', version: 'v1', kind: 'Database' },
    namespace: 'team-backend',
    name: 'orders',
    operation: 'UPDATE',
    oldObject: database(before),
    object: database(after),
    ...over,
  };
}

function create(owner: unknown): AdmissionRequest {
  const { oldObject, ...request } = update(owner, owner);
  return { ...request, operation: 'CREATE' };
}

const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a', 'b'] };

const allowed: { reason: string; request: AdmissionRequest }[] = [
  { reason: 'a Team owns it', request: create(team) },
  { reason: 'an Application owns it', request: create(application) },
  { reason: 'nobody owns it yet: whether that is right is for a policy to say', request: create(undefined) },
  { reason: 'the owner stays and something else changes', request: update(team, { ...team }) },
  { reason: 'the owner is written in another order', request: update(team, { name: 'backend-team', kind: 'Team' }) },
  {
    reason: 'an Application without a namespace is one of the same namespace',
    request: update(application, { ...application, namespace: 'team-backend' }),
  },
  {
    reason: 'the same the other way round',
    request: update({ ...application, namespace: 'team-backend' }, application),
  },
  { reason: 'an empty namespace is none', request: update(team, { ...team, namespace: '' }) },
  { reason: 'no owner stays no owner', request: update(undefined, null) },
  {
    reason: 'a wrong owner that was there before cannot be put right by refusing',
    request: update({ kind: 'User', name: 'x' }, { kind: 'User', name: 'x' }),
  },
  {
    reason: 'it is somebody else’s kind',
    request: update(team, { ...team, name: 'other' }, { kind: { group: 'apps', version: 'v1', kind: 'Deployment' } }),
  },
  {
    reason: 'it is deleted',
    request: { uid: 'u', kind: update(team, team).kind, operation: 'DELETE', oldObject: database(team) },
  },
];

const denied: { reason: string; request: AdmissionRequest; codes: string[]; says?: string }[] = [
  {
    reason: 'another Team',
    request: update(team, { kind: 'Team', name: 'other-team' }),
    codes: ['OwnerImmutable'],
    says: 'Team backend-team → Team other-team',
  },
  {
    reason: 'an Application instead of a Team',
    request: update(team, application),
    codes: ['OwnerImmutable'],
    says: 'Application team-backend/user-service',
  },
  {
    reason: 'an Application of the same name in another namespace',
    request: update(application, { ...application, namespace: 'elsewhere' }),
    codes: ['OwnerImmutable'],
    says: 'Application team-backend/user-service → Application elsewhere/user-service',
  },
  {
    reason: 'the owner is removed',
    request: update(team, undefined),
    codes: ['OwnerImmutable'],
    says: 'Team backend-team → no owner',
  },
  { reason: 'the owner is set to null', request: update(team, null), codes: ['OwnerImmutable'] },
  {
    reason: 'the whole spec is removed',
    request: update(team, team, { object: { metadata: {} } }),
    codes: ['OwnerImmutable'],
  },
  { reason: 'spec is no object', request: update(team, team, { object: { spec: 'text' } }), codes: ['OwnerImmutable'] },
  {
    reason: 'an owner is added later',
    request: update(undefined, team),
    codes: ['OwnerImmutable'],
    says: 'no owner → Team backend-team',
  },
  { reason: 'a Team gets a namespace', request: update(team, { ...team, namespace: 'x' }), codes: ['OwnerImmutable'] },
  {
    reason: 'the name differs in case only',
    request: update(team, { ...team, name: 'Backend-Team' }),
    codes: ['OwnerImmutable'],
  },
  { reason: 'the owner becomes text', request: update(team, 'backend-team'), codes: ['OwnerImmutable'] },
  {
    reason: 'an owner without a name becomes the text of its kind',
    request: update({ kind: 'Team' }, 'Team'),
    codes: ['OwnerImmutable'],
  },
  {
    reason: 'the change comes through status',
    request: update(team, application, { subResource: 'status' }),
    codes: ['OwnerImmutable'],
  },
  {
    reason: 'the request names the resource and another version of the kind',
    request: update(team, application, {
      kind: { group: 'legacy.example.com', version: 'v1', kind: 'Database' },
      resource: { group: 'platform.company.com', version: 'v1', resource: 'databases' },
    }),
    codes: ['OwnerImmutable'],
  },
  {
    reason: 'a finalizer goes and the owner changes with it',
    request: update(team, team, {
      oldObject: database(team, deleting),
      object: database(application, { ...deleting, finalizers: ['a'] }),
    }),
    codes: ['OwnerImmutable'],
  },
  {
    reason: 'a User owns it',
    request: create({ kind: 'User', name: 'me' }),
    codes: ['OwnerKindInvalid'],
    says: '"User"',
  },
  {
    reason: 'everything is wrong with the owner: all of it is said',
    request: create({}),
    codes: ['OwnerKindInvalid', 'OwnerNameMissing'],
  },
  { reason: 'the owner is a list', request: create(['Team']), codes: ['OwnerKindInvalid', 'OwnerNameMissing'] },
];

describe('the ownership gate', () => {
  it.each(allowed)('admits: $reason', ({ request }) => {
    expect(decide(request)).toMatchObject({ allowed: true, violations: [] });
  });

  it.each(denied)('denies: $reason', ({ request, codes, says = '' }) => {
    const decision = decide(request);
    expect(decision.allowed).toBe(false);
    expect(decision.violations.map(({ code }) => code)).toEqual(codes);
    expect(denialMessage(decision)).toContain(says);
  });

  it('says what is wrong, where, from what to what, and what to do', () => {
    expect(denialMessage(decide(update(team, { kind: 'Team', name: 'other-team' })))).toBe(
      'ownership: spec.owner cannot be changed after creation: Team backend-team → Team other-team. Create a new object under the new owner and delete this one.',
    );
  });

  it('keeps its message short, whatever has been put in the field', () => {
    expect(denialMessage(decide(create({ kind: 'x'.repeat(100_000), name: 'y' }))).length).toBeLessThan(500);
    expect(denialMessage(decide(update(team, { kind: 'Team', name: 'y'.repeat(100_000) }))).length).toBeLessThan(500);
  });
});

describe('the finalizer of the platform', () => {
  const finalizer = 'platform.company.com/cleanup-resources';
  const takesAway = (username: string, over: Partial<AdmissionRequest> = {}) =>
    update(team, team, {
      userInfo: { username },
      oldObject: database(team, { finalizers: [finalizer, 'x/y'] }),
      object: database(team, { finalizers: ['x/y'] }),
      ...over,
    });
  const rows: { reason: string; request: AdmissionRequest; codes: string[] }[] = [
    { reason: 'a user takes it away', request: takesAway('ada'), codes: ['FinalizerProtected'] },
    { reason: 'the reconciler does', request: takesAway('kidp'), codes: [] },
    { reason: 'it is not known who does', request: { ...takesAway('ada'), userInfo: undefined as never }, codes: [] },
    {
      reason: 'a user takes it from what is being deleted, and changes more',
      request: takesAway('ada', {
        oldObject: database(team, { ...deleting, finalizers: [finalizer] }),
        object: database(team, { ...deleting, finalizers: [], labels: { x: 'y' } }),
      }),
      codes: ['FinalizerProtected'],
    },
    {
      reason: 'a user only takes it from what is being deleted: it must be able to go',
      request: takesAway('ada', {
        oldObject: database(team, { ...deleting, finalizers: [finalizer] }),
        object: database(team, { ...deleting, finalizers: [] }),
      }),
      codes: [],
    },
    {
      reason: 'a kind that no broker brings about has none to keep',
      request: takesAway('ada', { kind: { group: 'platform.company.com', version: 'v1', kind: 'Application' } }),
      codes: [],
    },
  ];
  it.each(rows)('$reason', ({ request, codes }) => {
    const { violations } = decide(request, gates, { ...noFacts, reconcilers: ['kidp'] });
    expect(violations.map(({ code }) => code)).toEqual(codes);
  });
});

describe('an owner that the cluster knows', () => {
  const rows: { reason: string; chain: OwnerChain; codes: string[]; warns?: string }[] = [
    { reason: 'a Team', chain: { end: 'team', team: 'team-backend', path: [] }, codes: [] },
    {
      reason: 'one that does not exist yet: an unordered apply must work',
      chain: { end: 'missing', path: ['Application a/b', 'Team x'] },
      codes: [],
      warns: 'Team x does not exist (yet)',
    },
    { reason: 'a chain without end', chain: { end: 'long', path: ['a', 'b'] }, codes: ['OwnerChainTooLong'] },
    { reason: 'a circle', chain: { end: 'cycle', path: ['a', 'b', 'a'] }, codes: ['OwnerCycle'] },
    {
      reason: 'one of another team',
      chain: { end: 'team', team: 'x', path: [], foreign: { owner: 'Team x', namespace: 'y' } },
      codes: ['OwnerOfAnotherTeam'],
    },
  ];
  it.each(rows)('$reason', ({ chain, codes, warns }) => {
    const { violations, warnings } = decide(create(team), gates, { ...noFacts, chain });
    expect(violations.map(({ code }) => code)).toEqual(codes);
    expect(warnings.join()).toContain(warns ?? '');
    // What is stored already is for the reconciler to hold back, not for every later update to trip over.
    expect(decide(update(team, team), gates, { ...noFacts, chain }).allowed).toBe(true);
  });
});

describe('an update that only removes finalizers', () => {
  const rows: { reason: string; before: Json; after: Json; only: boolean }[] = [
    { reason: 'one of two goes', before: deleting, after: { ...deleting, finalizers: ['b'] }, only: true },
    { reason: 'all go', before: deleting, after: { deletionTimestamp: deleting.deletionTimestamp }, only: true },
    {
      reason: 'the API server’s own bookkeeping moves too',
      before: { ...deleting, resourceVersion: '1', managedFields: [], generation: 1 },
      after: { ...deleting, finalizers: [], resourceVersion: '2', managedFields: [{}], generation: 2 },
      only: true,
    },
    {
      reason: 'the object is not being deleted',
      before: { finalizers: ['a'] },
      after: { finalizers: [] },
      only: false,
    },
    {
      reason: 'one is exchanged for another',
      before: deleting,
      after: { ...deleting, finalizers: ['c'] },
      only: false,
    },
    {
      reason: 'a label changes as well',
      before: deleting,
      after: { ...deleting, finalizers: [], labels: { x: 'y' } },
      only: false,
    },
    { reason: 'nothing goes', before: deleting, after: deleting, only: false },
  ];
  it.each(rows)('$reason', ({ before, after, only }) => {
    const request = update(team, team, { oldObject: database(team, before), object: database(team, after) });
    expect(onlyRemovesFinalizers(request)).toBe(only);
  });

  const namespace = (finalizers: string[], more: Json = {}): Json => ({
    metadata: deleting,
    spec: { finalizers, ...more },
  });
  it.each([
    { reason: 'it is empty', after: namespace([]), only: true },
    { reason: 'another comes', after: namespace(['kubernetes', 'mine']), only: false },
    { reason: 'something else of it changes', after: namespace([], { other: true }), only: false },
  ])('may be of a Namespace, in its spec: $reason', ({ after, only }) => {
    const kind = { group: '', version: 'v1', kind: 'Namespace' };
    const over = { oldObject: namespace(['kubernetes']), object: after, subResource: 'finalize' };
    expect(onlyRemovesFinalizers(update(team, team, { ...over, kind }))).toBe(only);
    expect(onlyRemovesFinalizers(update(team, team, over)), 'only a Namespace has them there').toBe(false);
  });

  it('is not asked of any gate', () => {
    const refusing: Gate = {
      name: 'never',
      evaluate: () => ({
        violations: [{ gate: 'never', code: 'No', field: '', message: 'no', next: 'give up' }],
        warnings: [],
        patches: [],
      }),
    };
    const goes = update(team, team, {
      oldObject: database(team, deleting),
      object: database(team, { ...deleting, finalizers: [] }),
    });
    expect(decide(goes, [refusing]).allowed).toBe(true);
    expect(decide(update(team, team), [refusing]).allowed).toBe(false);
  });
});

describe('several gates', () => {
  const gate = (name: string, refuses: boolean): Gate => ({
    name,
    evaluate: () => ({
      violations: refuses
        ? [{ gate: name, code: name, field: 'spec', message: `${name} says no`, next: `Ask ${name}` }]
        : [],
      warnings: [`${name} warns`],
      patches: [{ op: 'add', path: '/metadata/labels/x', value: name }],
    }),
  });

  it('are all heard, so that one denial lists every violation', () => {
    const decision = decide(create(team), [gate('first', true), gate('second', false), gate('third', true)]);
    expect(decision.violations.map((violation) => violation.gate)).toEqual(['first', 'third']);
    expect(decision.warnings).toEqual(['first warns', 'second warns', 'third warns']);
    expect(decision.patches).toEqual([]);
    expect(denialMessage(decision).split('\n')).toHaveLength(2);
  });

  it('add up their patches in order when all agree', () => {
    const decision = decide(create(team), [gate('first', false), gate('second', false)]);
    expect(decision.patches.map((patch) => 'value' in patch && patch.value)).toEqual(['first', 'second']);
  });
});
