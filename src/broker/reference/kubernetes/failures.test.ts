import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../runtime/index.ts';
import { failureOf } from './failures.ts';

const refusal = (status: number, message: string) => new ApiError({ doing: 'apply', status, reason: 'x', message });

describe('a refusal of the API server', () => {
  test.each([
    {
      reason: 'who has just started does not know anybody yet',
      error: refusal(403, 'secrets "a" is forbidden: User "system:serviceaccount:b:c" cannot patch resource "secrets"'),
      failure: { class: 'transient', code: 'not-permitted' },
    },
    {
      reason: 'a quota that nobody has counted yet',
      error: refusal(403, 'secrets "a" is forbidden: status unknown for quota: q, resources: secrets'),
      failure: { class: 'transient', code: 'quota-unknown' },
    },
    {
      reason: 'a full quota',
      error: refusal(403, 'secrets "a" is forbidden: exceeded quota: q, requested: secrets=1, used: 1, limited: 1'),
      failure: { class: 'quota', code: 'quota-exceeded' },
    },
    {
      reason: 'admission',
      error: refusal(403, 'secrets "a" is forbidden: no such thing here'),
      failure: { class: 'permanent', code: 'forbidden' },
    },
    { reason: 'an invalid object', error: refusal(422, 'invalid'), failure: { class: 'permanent', code: 'invalid' } },
  ])('is $failure.class: $reason', ({ error, failure }) => {
    expect(failureOf(error, 'making it')).toMatchObject(failure);
  });

  test.each([
    { reason: 'a namespace that is terminating', error: refusal(403, 'because it is being terminated') },
    { reason: 'a conflict', error: refusal(409, 'changed') },
    { reason: 'the API server fails', error: refusal(500, 'etcd') },
  ])('is no failure, and is retried: $reason', ({ error }) => {
    expect(failureOf(error, 'making it')).toBe(error);
  });
});
