import { describe, expect, it } from 'vitest';
import { CelError, StructValue } from '../../values.ts';
import { caller } from '../support/overloads.ts';
import { jsonPatch } from './json-patch.ts';
import { constructMutation, misnamedObjects } from './mutation.ts';

describe('constructMutation', () => {
  it('constructs objects with any fields', () => {
    expect(constructMutation('Object.spec', { replicas: 3 })).toEqual(new StructValue('Object.spec', { replicas: 3 }));
  });

  it('sets absent strings of a patch to the empty string', () => {
    expect(constructMutation('JSONPatch', { op: 'add', value: null })).toEqual(
      new StructValue('JSONPatch', { op: 'add', path: '', from: '', value: null }),
    );
  });

  it.each([
    { fields: { op: 1 }, code: 'invalid_argument', reason: 'an op that is no string' },
    { fields: { where: '/' }, code: 'no_such_field', reason: 'a field that a patch has not' },
  ])('refuses $reason', ({ fields, code }) => {
    expect(constructMutation('JSONPatch', fields)).toMatchObject({ code });
    expect(constructMutation('JSONPatch', fields)).toBeInstanceOf(CelError);
  });
});

describe('misnamedObjects', () => {
  const object = (name: string, fields: Record<string, never> | object): StructValue =>
    new StructValue(name, fields as never);
  it.each([
    { value: object('Object', { spec: object('Object.spec', {}) }), count: 0, reason: 'names follow the fields' },
    { value: object('Object', { spec: object('Object.metadata', {}) }), count: 1, reason: 'a name of another field' },
    {
      value: object('Object', { spec: { list: [object('Object.spec', {})] } }),
      count: 0,
      reason: 'lists and maps have no name of their own',
    },
    { value: object('Object.spec', { a: object('Object.b', {}) }), count: 2, reason: 'every wrong name is reported' },
  ])('finds $count: $reason', ({ value, count }) => expect(misnamedObjects(value)).toHaveLength(count));
});

it.each([
  { key: 'k8s.io/my~label', is: 'k8s.io~1my~0label', reason: 'both signs' },
  { key: '~1', is: '~01', reason: 'what looks escaped already' },
  { key: '', is: '', reason: 'nothing' },
])('escapeKey of $reason', ({ key, is }) => {
  expect(caller(jsonPatch)('string_jsonpatch_escapeKey_string', key)).toBe(is);
});
