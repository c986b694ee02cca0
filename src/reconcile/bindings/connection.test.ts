import { expect, test } from 'vitest';
import type { OwnedObject } from '../platform/ownership.ts';
import { addressOf, connectionName, connectionSecret, credentialsOf, isCurrent } from './connection.ts';

const object = (kind: string, namespace: string, name: string, status: object = {}) =>
  ({
    apiVersion: 'platform.company.com/v1',
    kind,
    metadata: { name, namespace, uid: `uid-${name}` },
    spec: {},
    status,
  }) as OwnedObject;
const user = object('Service', 'team', 'api');

test('a name contains user and source, and two pairs never share one', () => {
  expect(connectionName(user, object('Database', 'team', 'users'))).toMatch(/^service-api-database-users-[0-9a-f]{8}$/);
  const names = [
    connectionName(object('Service', 'team', 'a-database'), object('Cache', 'team', 'b')),
    connectionName(object('Service', 'team', 'a'), object('Cache', 'team', 'b')),
    connectionName(object('Application', 'team', 'a'), object('Cache', 'team', 'b')),
    connectionName(object('Service', 'team', 'a'), object('Cache', 'other', 'b')),
  ];
  expect(new Set(names).size).toBe(names.length);
  const long = `${'x'.repeat(230)}.${'y'.repeat(22)}`;
  const longest = connectionName(object('Service', 'team', long), object('Database', 'team', long));
  expect(longest.length).toBeLessThanOrEqual(253);
  expect(longest).toMatch(/^service-x+\.[a-z0-9-]*[a-z0-9]-[0-9a-f]{8}$/);
});

test('an address has only valid Secret keys, and a new revision when it changes', () => {
  const at = (host: string) =>
    addressOf(object('Service', 'team', 's', { url: 'https://s', outputs: { host, 'not a key': 'x' } }));
  expect(at('one').data).toEqual({ url: 'aHR0cHM6Ly9z', host: 'b25l' });
  expect(at('one').revision).toBe(at('one').revision);
  expect(at('one').revision).not.toBe(at('two').revision);
});

test('a copy is current while it is complete and of the same source and revision', () => {
  const source = object('Database', 'team', 'db', { connectionSecret: { name: 'c', revision: '7' } });
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'c' }, data: { password: 'eA==' } };
  const connection = credentialsOf(source, secret);
  expect(connection.revision).toBe('7');
  const copy = connectionSecret(user, source, connection);
  expect(isCurrent(copy, source, '7')).toBe(true);
  expect(isCurrent(copy, source, '8')).toBe(false);
  expect(isCurrent({ ...copy, data: { password: 'eQ==' } }, source, '7')).toBe(false);
  expect(isCurrent({ ...copy, data: { ...copy.data, more: '' } }, source, '7')).toBe(false);
  // A re-created resource of the same name has other credentials.
  const recreated = { ...source, metadata: { ...source.metadata, uid: 'another' } };
  expect(isCurrent(copy, recreated, '7')).toBe(false);
});
