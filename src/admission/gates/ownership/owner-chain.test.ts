import { describe, expect, it } from 'vitest';
import type { Json } from '../../review/decode.ts';
import { type Owner, type OwnerLookup, resolveChain } from './owner-chain.ts';

const teams: Record<string, string> = { 'backend-team': 'team-backend', 'frontend-team': 'team-frontend' };
const applications: Record<string, Owner | undefined> = {
  'team-backend/user-service': { kind: 'Team', name: 'backend-team', namespace: undefined },
  'team-backend/part': { kind: 'Application', name: 'user-service', namespace: 'team-backend' },
  'team-backend/orphan': undefined,
  'team-backend/waiting': { kind: 'Team', name: 'nobody', namespace: undefined },
  'team-backend/loop-a': { kind: 'Application', name: 'loop-b', namespace: 'team-backend' },
  'team-backend/loop-b': { kind: 'Application', name: 'loop-a', namespace: 'team-backend' },
  'team-backend/needs-new': { kind: 'Application', name: 'new', namespace: 'team-backend' },
  'team-frontend/shop': { kind: 'Team', name: 'frontend-team', namespace: undefined },
  'shared/tool': { kind: 'Team', name: 'backend-team', namespace: undefined },
};
const lookup: OwnerLookup = {
  async team(name) {
    const namespace = teams[name];
    return namespace === undefined ? undefined : { namespace };
  },
  async application(namespace, name) {
    const key = `${namespace}/${name}`;
    return key in applications ? { owner: applications[key] } : undefined;
  },
  teamOf: async (namespace) => Object.keys(teams).find((name) => teams[name] === namespace),
};

const application = (name: string, namespace?: string) => ({
  kind: 'Application',
  name,
  ...(namespace && { namespace }),
});
const chainOf = (owner: unknown, over: { kind?: string; namespace?: string; spec?: Json } = {}) => {
  const { kind = 'Database', namespace = 'team-backend', spec = owner === undefined ? {} : { owner } } = over;
  return resolveChain({ kind, namespace, name: 'new', object: { metadata: { name: 'new', namespace }, spec } }, lookup);
};

describe('the chain of owners', () => {
  const rows: { reason: string; chain: ReturnType<typeof chainOf>; expected: object }[] = [
    {
      reason: 'a Team is the end',
      chain: chainOf({ kind: 'Team', name: 'backend-team' }),
      expected: { end: 'team', team: 'team-backend', path: ['Team backend-team'] },
    },
    {
      reason: 'an Application leads to its Team',
      chain: chainOf(application('user-service')),
      expected: {
        end: 'team',
        team: 'team-backend',
        path: ['Application team-backend/user-service', 'Team backend-team'],
      },
    },
    {
      reason: 'an Application of an Application does too',
      chain: chainOf(application('part')),
      expected: { end: 'team', team: 'team-backend' },
    },
    {
      reason: 'a Team is its own',
      chain: chainOf(undefined, { kind: 'Team', spec: { namespace: 'team-new' } }),
      expected: { end: 'team', team: 'team-new' },
    },
    { reason: 'nobody owns it', chain: chainOf(undefined), expected: { end: 'none', path: [] } },
    { reason: 'its Application has no owner', chain: chainOf(application('orphan')), expected: { end: 'none' } },
    {
      reason: 'the Team does not exist yet',
      chain: chainOf({ kind: 'Team', name: 'nobody' }),
      expected: { end: 'missing', path: ['Team nobody'] },
    },
    {
      reason: 'the Team of its Application does not exist yet',
      chain: chainOf(application('waiting')),
      expected: { end: 'missing', path: ['Application team-backend/waiting', 'Team nobody'] },
    },
    {
      reason: 'the Application does not exist yet',
      chain: chainOf(application('later')),
      expected: { end: 'missing', path: ['Application team-backend/later'] },
    },
    {
      reason: 'an Application owns itself',
      chain: chainOf(application('new'), { kind: 'Application' }),
      expected: { end: 'cycle', path: ['Application team-backend/new'] },
    },
    {
      reason: 'an Application closes a circle that was waiting for it',
      chain: chainOf(application('needs-new'), { kind: 'Application' }),
      expected: { end: 'cycle' },
    },
    { reason: 'a circle that others are in', chain: chainOf(application('loop-a')), expected: { end: 'cycle' } },
    {
      reason: 'a Database of the name of its Application is no circle',
      chain: chainOf(application('new')),
      expected: { end: 'missing' },
    },
    { reason: 'no owner at all, but text', chain: chainOf('backend-team'), expected: { end: 'malformed' } },
    { reason: 'a User', chain: chainOf({ kind: 'User', name: 'me' }), expected: { end: 'malformed' } },
    {
      reason: 'the Team of another namespace',
      chain: chainOf({ kind: 'Team', name: 'frontend-team' }),
      expected: { end: 'team', foreign: { namespace: 'team-backend, which is of Team backend-team' } },
    },
    {
      reason: 'an Application in the namespace of another Team',
      chain: chainOf(application('shop', 'team-frontend')),
      expected: { foreign: { owner: 'Application team-frontend/shop, of Team frontend-team' } },
    },
    {
      reason: 'an Application in the namespace of a Team, from a namespace of none',
      chain: chainOf(application('user-service', 'team-backend'), { namespace: 'default' }),
      expected: { foreign: { namespace: 'default' } },
    },
    {
      reason: 'an Application there that does not even exist',
      chain: chainOf(application('nothing', 'team-frontend')),
      expected: { end: 'missing', foreign: {} },
    },
  ];
  it.each(rows)('$reason', async ({ chain, expected }) => {
    expect(await chain).toMatchObject(expected);
  });

  const own = [
    {
      reason: 'a Team from a namespace of no Team',
      owner: { kind: 'Team', name: 'backend-team' },
      namespace: 'default',
    },
    {
      reason: 'an Application in a namespace of no Team',
      owner: application('tool', 'shared'),
      namespace: 'team-backend',
    },
  ];
  it.each(own)('is nobody else’s: $reason', async ({ owner, namespace }) => {
    const { foreign, end } = await chainOf(owner, { namespace });
    expect({ foreign, end }).toEqual({ foreign: undefined, end: 'team' });
  });

  it('does not follow a chain without end', async () => {
    let asked = 0;
    const endless: OwnerLookup = {
      ...lookup,
      application: async (_, name) => {
        asked += 1;
        return { owner: { kind: 'Application', name: `${name}x`, namespace: 'team-backend' } };
      },
    };
    const object = { spec: { owner: application('x', 'team-backend') } };
    const chain = await resolveChain({ kind: 'Database', namespace: 'team-backend', name: 'a', object }, endless);
    expect(chain.end).toBe('long');
    expect(asked).toBeLessThan(20);
  });
});
