import { describe, expect, test } from 'vitest';
import { replicaLease } from '../../api/index.ts';
import { behind, Replicas } from './replicas.ts';

const lease = (identity: string, appliedVersion: string, renewed: number, absent: string[] = []) =>
  replicaLease('n', { identity, appliedVersion, revision: 'r', absent }, 30, renewed);
const state = { name: 'p', uid: 'u', generation: 1, resourceVersion: '100', issues: [], inForce: true, waitsFor: [] };

describe('replicas', () => {
  test('are silent when their Lease has not moved for longer than it said, on our own clock', () => {
    const replicas = new Replicas();
    const seen = (renewed: number, now: number) => replicas.read([lease('a', '1', renewed)], now)[0]?.silent;
    expect(seen(0, 0)).toBe(false);
    expect(seen(0, 30_000)).toBe(false);
    expect(seen(0, 30_001)).toBe(true);
    // However far its clock is off.
    expect(seen(1, 30_002)).toBe(false);
  });

  test('that come back under their name are seen anew', () => {
    const replicas = new Replicas();
    replicas.read([lease('a', '1', 0)], 0);
    replicas.read([], 1);
    expect(replicas.read([lease('a', '1', 0)], 40_000)[0]?.silent).toBe(false);
  });

  test.each([
    { reason: 'has taken it in', of: lease('a', '100', 0), expected: [] },
    { reason: 'has not come so far', of: lease('a', '99', 0), expected: ['a'] },
    { reason: 'has not got it in force', of: lease('a', '200', 0, ['p']), expected: ['a'] },
    { reason: 'says nothing of policies', of: { ...lease('a', '1', 0), spec: {} }, expected: [] },
  ])('one that $reason', ({ of, expected }) => {
    expect(behind(new Replicas().read([of], 0), state)).toEqual(expected);
  });

  test('that are silent keep nobody waiting', () => {
    const replicas = new Replicas();
    replicas.read([lease('a', '1', 0)], 0);
    expect(behind(replicas.read([lease('a', '1', 0)], 60_000), state)).toEqual([]);
  });
});
