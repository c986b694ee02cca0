import { describe, expect, test } from 'vitest';
import { replicaLease } from '../../api/index.ts';
import { behind, Replicas } from './replicas.ts';

const lease = (identity: string, appliedVersion: string, renewed: number, absent: string[] = []) =>
  replicaLease('n', { identity, appliedVersion, revision: 'r', absent }, 30, renewed);
const state = { name: 'p', uid: 'u', generation: 1, resourceVersion: '100', issues: [], inForce: true, waitsFor: [] };

describe('replicas', () => {
  test('are silent when their Lease did not change within its duration, by our own clock', () => {
    const replicas = new Replicas();
    const seen = (renewed: number, now: number) => replicas.read([lease('a', '1', renewed)], now)[0]?.silent;
    expect(seen(0, 0)).toBe(false);
    expect(seen(0, 30_000)).toBe(false);
    expect(seen(0, 30_001)).toBe(true);
    // The clock of the replica does not matter.
    expect(seen(1, 30_002)).toBe(false);
  });

  test('that return under their name are tracked again', () => {
    const replicas = new Replicas();
    replicas.read([lease('a', '1', 0)], 0);
    replicas.read([], 1);
    expect(replicas.read([lease('a', '1', 0)], 40_000)[0]?.silent).toBe(false);
  });

  test.each([
    { reason: 'has applied it', of: lease('a', '100', 0), expected: [] },
    { reason: 'has not applied it yet', of: lease('a', '99', 0), expected: ['a'] },
    { reason: 'does not enforce it', of: lease('a', '200', 0, ['p']), expected: ['a'] },
    { reason: 'does not report policies', of: { ...lease('a', '1', 0), spec: {} }, expected: [] },
  ])('one that $reason', ({ of, expected }) => {
    expect(behind(new Replicas().read([of], 0), state)).toEqual(expected);
  });

  test('that are silent block nothing', () => {
    const replicas = new Replicas();
    replicas.read([lease('a', '1', 0)], 0);
    expect(behind(replicas.read([lease('a', '1', 0)], 60_000), state)).toEqual([]);
  });
});
