import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { OwnedObject } from '../platform/ownership.ts';
import { isVisible, matchesDependency } from './visible.ts';

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
const teamOfNamespace = (namespace: string) => homes[namespace];
const team = 'platform.company.com/team';

test.each([
  { reason: 'the same namespace of a team', user: 'red', source: 'red', sees: true },
  { reason: 'another namespace of the same team', user: 'red', source: 'red-more', sees: true },
  { reason: 'another team', user: 'red', source: 'blue', sees: false },
  { reason: 'another team that shares it', user: 'red', source: 'blue', sharedWith: ['red'], sees: true },
  {
    reason: 'another team that shares it, from another namespace',
    user: 'red-more',
    source: 'blue',
    sharedWith: ['red'],
    sees: true,
  },
  {
    reason: 'another team that shares it with a third team',
    user: 'red',
    source: 'blue',
    sharedWith: ['green'],
    sees: false,
  },
  { reason: 'shared with every team', user: 'red', source: 'blue', sharedWith: ['*'], sees: true },
  {
    reason: 'shared with every team, seen from no team',
    user: 'nobody',
    source: 'blue',
    sharedWith: ['*'],
    sees: false,
  },
  {
    reason: 'shared with just this namespace of no team',
    user: 'nobody',
    source: 'blue',
    sharedWith: ['nobody'],
    sees: true,
  },
  { reason: 'the same namespace of no team', user: 'nobody', source: 'nobody', sees: true },
  { reason: 'a namespace of no team and another', user: 'nobody', source: 'else', sees: false },
])('$reason: $sees', ({ user, source, sharedWith, sees }) => {
  const shared = sharedWith === undefined ? {} : { sharedWith };
  expect(isVisible(object('Service', user), object('Database', source, shared), teamOfNamespace)).toBe(sees);
});

test('in a namespace without a team, objects of two teams do not see each other', () => {
  const user = object('Service', 'nobody', { labels: { [team]: 'red' } });
  const source = object('Database', 'nobody', { labels: { [team]: 'blue' } });
  expect(isVisible(user, source, teamOfNamespace)).toBe(false);
});

describe('with any labels on the objects', () => {
  const namespace = fc.constantFrom('red', 'red-more', 'blue', 'nobody');
  const labels = fc.dictionary(fc.constantFrom(team, 'a'), fc.constantFrom('red', 'blue', 'x'));
  test('an unshared source is never visible from the namespace of another team', () => {
    fc.assert(
      fc.property(namespace, namespace, labels, labels, (user, source, userLabels, sourceLabels) => {
        fc.pre(user !== source && teamOfNamespace(user) !== teamOfNamespace(source));
        const sees = isVisible(
          object('Service', user, { labels: userLabels }),
          object('Database', source, { labels: sourceLabels }),
          teamOfNamespace,
        );
        expect(sees).toBe(false);
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
