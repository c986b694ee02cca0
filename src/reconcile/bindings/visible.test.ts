import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Team } from '../../api/index.ts';
import type { OwnedObject } from '../platform/ownership.ts';
import { type Dependency, type Match, matchesDependency, matchOf } from './visible.ts';

const object = (
  kind: string,
  namespace: string,
  over: { labels?: Record<string, string>; sharedWith?: string[]; name?: string } = {},
) =>
  ({
    apiVersion: 'platform.company.com/v1',
    kind,
    metadata: { name: over.name ?? 'x', namespace, ...(over.labels === undefined ? {} : { labels: over.labels }) },
    spec: over.sharedWith === undefined ? {} : { sharedWith: over.sharedWith },
  }) as OwnedObject;
const homes: Record<string, string> = { red: 'red', 'red-more': 'red', blue: 'blue' };
/** The Team of the namespace `red` has another name, which is what selectors name. */
const teamOfNamespace = (namespace: string) => {
  const home = homes[namespace];
  return home === undefined ? undefined : ({ metadata: { name: `team-${home}` }, spec: { namespace: home } } as Team);
};
const dependency = (fromTeams?: string[]): Dependency => ({
  field: 'databaseSelector',
  kind: 'Database',
  selector: fromTeams === undefined ? {} : { fromTeams },
});
const team = 'platform.company.com/team';

test.each<{
  reason: string;
  user: string;
  source: string;
  sharedWith?: string[];
  fromTeams?: string[];
  is?: Match;
}>([
  { reason: 'the same namespace of a team', user: 'red', source: 'red', is: 'own' },
  { reason: 'another namespace of the same team', user: 'red', source: 'red-more', is: 'own' },
  { reason: 'the same namespace of no team', user: 'nobody', source: 'nobody', is: 'own' },
  { reason: 'another team', user: 'red', source: 'blue' },
  { reason: 'another team, only named', user: 'red', source: 'blue', fromTeams: ['team-blue'] },
  { reason: 'another team, only shared', user: 'red', source: 'blue', sharedWith: ['red'], is: 'unasked' },
  { reason: 'shared with every team', user: 'red', source: 'blue', sharedWith: ['*'], is: 'unasked' },
  {
    reason: 'shared and named',
    user: 'red',
    source: 'blue',
    sharedWith: ['red'],
    fromTeams: ['team-blue'],
    is: 'foreign',
  },
  {
    reason: 'shared with every team and named',
    user: 'red-more',
    source: 'blue',
    sharedWith: ['*'],
    fromTeams: ['team-blue'],
    is: 'foreign',
  },
  {
    reason: 'a third team is named',
    user: 'red',
    source: 'blue',
    sharedWith: ['*'],
    fromTeams: ['team-green'],
    is: 'unasked',
  },
  {
    reason: 'a namespace is no name of a Team',
    user: 'red',
    source: 'blue',
    sharedWith: ['*'],
    fromTeams: ['blue', '*'],
    is: 'unasked',
  },
  { reason: 'shared with a third team', user: 'red', source: 'blue', sharedWith: ['green'], fromTeams: ['team-blue'] },
  { reason: 'a Team name is no namespace', user: 'red', source: 'blue', sharedWith: ['team-red'] },
  { reason: 'every team, from none', user: 'nobody', source: 'blue', sharedWith: ['*'], fromTeams: ['team-blue'] },
  {
    reason: 'a namespace of no team that is named',
    user: 'nobody',
    source: 'blue',
    sharedWith: ['nobody'],
    fromTeams: ['team-blue'],
  },
  { reason: 'a source of no team', user: 'red', source: 'nobody', sharedWith: ['*'], fromTeams: ['nobody'] },
  { reason: 'two namespaces of no team', user: 'nobody', source: 'else' },
])('$reason: $is', ({ user, source, sharedWith, fromTeams, is }) => {
  const shared = sharedWith === undefined ? {} : { sharedWith };
  const match = matchOf(
    object('Service', user),
    dependency(fromTeams),
    object('Database', source, shared),
    teamOfNamespace,
  );
  expect(match).toBe(is);
});

describe('with any labels on the objects', () => {
  const namespace = fc.constantFrom('red', 'red-more', 'blue', 'nobody');
  const labels = fc.dictionary(fc.constantFrom(team, 'a'), fc.constantFrom('red', 'blue', 'x'));
  const sides = fc.constantFrom<{ sharedWith: string[]; fromTeams: string[] }>(
    { sharedWith: [], fromTeams: ['team-red', 'team-blue'] },
    { sharedWith: ['*'], fromTeams: [] },
  );
  test('a source is never used in another team unless both sides agree', () => {
    fc.assert(
      fc.property(namespace, namespace, labels, labels, sides, (user, source, userLabels, sourceLabels, agreed) => {
        fc.pre(user !== source && homes[user] !== homes[source]);
        const uses = matchesDependency(
          object('Service', user, { labels: userLabels }),
          dependency(agreed.fromTeams),
          object('Database', source, { labels: sourceLabels, sharedWith: agreed.sharedWith }),
          teamOfNamespace,
        );
        expect(uses).toBe(false);
      }),
    );
  });
});

test.each([
  { reason: 'the labels fit', source: object('Database', 'red', { labels: { a: 'b' } }), found: true },
  { reason: 'they do not', source: object('Database', 'red', { labels: { a: 'c' } }), found: false },
  { reason: 'it is of another kind', source: object('Cache', 'red', { labels: { a: 'b' } }), found: false },
  {
    reason: 'it is being deleted',
    source: {
      ...object('Database', 'red'),
      metadata: { name: 'x', namespace: 'red', labels: { a: 'b' }, deletionTimestamp: '2026-01-01T00:00:00Z' },
    },
    found: false,
  },
])('$reason: $found', ({ source, found }) => {
  const dependency = { field: 'databaseSelector', kind: 'Database' as const, selector: { matchLabels: { a: 'b' } } };
  expect(matchesDependency(object('Service', 'red'), dependency, source, teamOfNamespace)).toBe(found);
});

test('an object never matches itself', () => {
  const self = object('Service', 'red', { labels: { a: 'b' } });
  const dependency = { field: 'serviceSelector', kind: 'Service' as const, selector: {} };
  expect(matchesDependency(self, dependency, self, teamOfNamespace)).toBe(false);
  expect(matchesDependency(self, dependency, object('Service', 'red', { name: 'y' }), teamOfNamespace)).toBe(true);
});
