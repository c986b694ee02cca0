import { describe, expect, it } from 'vitest';
import type { AdmissionRequest, Json } from '../review/decode.ts';
import type { Facts } from './gate.ts';
import type { OwnerChain } from './ownership/owner-chain.ts';
import { decide, gates } from './platform.ts';

const managedBy = 'platform.company.com/managed-by';
const team = 'platform.company.com/team';
const resolved: OwnerChain = { end: 'team', team: 'team-backend', path: ['Team backend-team'] };

const object = (labels: unknown): Json => ({
  metadata: { name: 'orders', namespace: 'team-backend', labels },
  spec: { owner: { kind: 'Team', name: 'backend-team' } },
});

function request(labels: unknown, before?: unknown, over: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    uid: 'u',
    kind: { group: 'platform.company.com', version: 'v1', kind: 'Database' },
    namespace: 'team-backend',
    name: 'orders',
    ...(before === undefined ? { operation: 'CREATE' } : { operation: 'UPDATE', oldObject: object(before) }),
    object: object(labels),
    ...over,
  };
}

const judged = (each: AdmissionRequest, chain: OwnerChain = resolved) => {
  const facts: Facts = { chain, reconcilers: [] };
  return decide(each, gates, facts);
};

describe('the labels gate', () => {
  const right: { reason: string; request: AdmissionRequest; chain?: OwnerChain }[] = [
    { reason: 'no labels: they are set by the mutation', request: request(undefined) },
    {
      reason: 'what the platform sets, written out as requirement 000 does',
      request: request({ [managedBy]: 'kidp', [team]: 'team-backend' }),
    },
    {
      reason: 'keys of the users’ own, under a name in front of the platform’s',
      request: request({ 'database.platform.company.com/type': 'postgresql', 'x.platform.company.com/team': 'any' }),
    },
    { reason: 'a key without a prefix', request: request({ team: 'any', 'platform.company.com': 'x' }) },
    {
      reason: 'a wrong value that is stored already and only kept',
      request: request(
        { [team]: 'old', 'platform.company.com/x': 'y' },
        { [team]: 'old', 'platform.company.com/x': 'y' },
      ),
    },
    { reason: 'a wrong value that goes', request: request({}, { 'platform.company.com/x': 'y' }) },
    {
      reason: 'somebody else’s kind',
      request: request({ [team]: 'any' }, undefined, { kind: { group: 'apps', version: 'v1', kind: 'Deployment' } }),
    },
    { reason: 'labels that are no map are for the API server to refuse', request: request(['x']) },
    {
      reason: 'nobody knows the owners here, as in the CLI',
      request: request({ [team]: 'any' }),
      chain: { end: 'unknown', path: [] },
    },
  ];
  it.each(right)('admits: $reason', ({ request, chain }) => {
    expect(judged(request, chain)).toMatchObject({ allowed: true, violations: [] });
  });

  const wrong: { reason: string; request: AdmissionRequest; chain?: OwnerChain; codes: string[] }[] = [
    { reason: 'managed by another', request: request({ [managedBy]: 'helm' }), codes: ['LabelManaged'] },
    { reason: 'the label of another team', request: request({ [team]: 'team-frontend' }), codes: ['LabelManaged'] },
    {
      reason: 'the name of the Team instead of its namespace',
      request: request({ [team]: 'backend-team' }),
      codes: ['LabelManaged'],
    },
    {
      reason: 'a label of a team where nobody owns it',
      request: request({ [team]: 'team-backend' }),
      chain: { end: 'none', path: [] },
      codes: ['LabelManaged'],
    },
    {
      reason: 'a label of a team where the owner leads to none',
      request: request({ [team]: 'team-frontend' }, {}),
      chain: { end: 'malformed', path: ['Application team-backend/a'] },
      codes: ['LabelManaged'],
    },
    {
      reason: 'a label of a team at the beginning of a chain that is too long',
      request: request({ [team]: 'team-frontend' }, {}),
      chain: { end: 'long', path: ['Application team-backend/a'] },
      codes: ['LabelManaged'],
    },
    { reason: 'a key of its own', request: request({ 'platform.company.com/tier': 'gold' }), codes: ['LabelReserved'] },
    {
      reason: 'a change of what was right',
      request: request({ [team]: 'team-frontend' }, { [team]: 'team-backend' }),
      codes: ['LabelManaged'],
    },
    {
      reason: 'a change of what was wrong',
      request: request({ 'platform.company.com/x': 'z' }, { 'platform.company.com/x': 'y' }),
      codes: ['LabelReserved'],
    },
    {
      reason: 'everything at once: all of it is said',
      request: request({ [managedBy]: 'x', [team]: 'y', 'platform.company.com/z': '1' }),
      codes: ['LabelManaged', 'LabelManaged', 'LabelReserved'],
    },
  ];
  it.each(wrong)('denies: $reason', ({ request, chain, codes }) => {
    expect(judged(request, chain).violations.map(({ code }) => code)).toEqual(codes);
  });

  it('denies a team that nobody can verify: the mutation before has taken it out, so somebody has put it back', () => {
    const missing: OwnerChain = { end: 'missing', path: ['Team backend-team'] };
    const { violations, warnings } = judged(request({ [team]: 'team-backend' }), missing);
    expect(violations.map(({ code }) => code)).toEqual(['LabelManaged']);
    expect(warnings).toEqual([
      'ownership: Team backend-team does not exist (yet); the object is not deployed until it does',
    ]);
  });
});
