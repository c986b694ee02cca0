import { describe, expect, test } from 'vitest';
import { generateValue, revisionOf, rotationAnnotations, rotationDue, type SecretObject } from './credentials.ts';
import { ROTATED_ANNOTATION, ROTATION_ANNOTATION } from './names.ts';

const now = Date.parse('2026-03-01T00:00:00Z');
const day = 86_400_000;
const secret = (annotations: Record<string, string>): SecretObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', creationTimestamp: '2026-02-01T00:00:00Z', annotations },
});

describe('new credentials are due', () => {
  test.each([
    { reason: 'there are none', present: undefined, rotation: {}, due: 0 },
    { reason: 'no automatic rotation', present: secret({}), rotation: {}, due: undefined },
    { reason: 'counted from when they were made', present: secret({}), rotation: { rotationDays: 30 }, due: 2 * day },
    {
      reason: 'counted from the last time',
      present: secret({ [ROTATED_ANNOTATION]: '2026-02-28T00:00:00Z' }),
      rotation: { rotationDays: 30 },
      due: 29 * day,
    },
    { reason: 'when asked', present: secret({}), rotation: { asked: 'now' }, due: 0 },
    {
      reason: 'but only once',
      present: secret({ [ROTATION_ANNOTATION]: 'now' }),
      rotation: { asked: 'now' },
      due: undefined,
    },
  ])('$reason', ({ present, rotation, due }) => {
    expect(rotationDue(present, { rotationDays: undefined, asked: undefined, ...rotation }, now)).toBe(due);
  });
});

test('what was asked for and when is remembered with the new values, and kept with the old', () => {
  const rotation = { rotationDays: 1, asked: 'second' };
  const made = rotationAnnotations(secret({ [ROTATION_ANNOTATION]: 'first' }), rotation, true, now);
  expect(made).toEqual({ [ROTATED_ANNOTATION]: '2026-03-01T00:00:00.000Z', [ROTATION_ANNOTATION]: 'second' });
  expect(rotationAnnotations(secret(made), { rotationDays: 1, asked: undefined }, false, now + day)).toEqual(made);
});

test('a revision follows the values, not their order', () => {
  expect(revisionOf({ a: '1', b: '2' })).toBe(revisionOf({ b: '2', a: '1' }));
  expect(revisionOf({ a: '1', b: '2' })).not.toBe(revisionOf({ a: '1', b: '3' }));
});

test.each([
  { alphabet: 'hex' as const, form: /^[0-9a-f]{64}$/ },
  { alphabet: 'alphanumeric' as const, form: /^[A-Za-z0-9]{64}$/ },
  { alphabet: 'base64' as const, form: /^[A-Za-z0-9+/]{64}$/ },
  { alphabet: 'printable' as const, form: /^[!-~]{64}$/ },
])('a value of $alphabet is made of that', ({ alphabet, form }) => {
  expect(generateValue(64, alphabet)).toMatch(form);
  expect(generateValue(64, alphabet)).not.toBe(generateValue(64, alphabet));
});
