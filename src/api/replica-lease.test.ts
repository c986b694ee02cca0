import { describe, expect, test } from 'vitest';
import { isAtLeast, readReplicaLease, replicaLease, replicaLeaseName } from './replica-lease.ts';

const report = { identity: 'Host_1:7', appliedVersion: '120', revision: 'r1', absent: ['broken', 'waiting'] };

describe('the report of a replica', () => {
  test('round-trips through its Lease', () => {
    const lease = replicaLease('kidp-system', report, 30, Date.UTC(2026, 0, 1));
    expect(lease.metadata.name).toBe('kidp-replica-host-1-7');
    expect(lease.spec).toMatchObject({ leaseDurationSeconds: 30, renewTime: '2026-01-01T00:00:00.000000Z' });
    expect(readReplicaLease(lease)).toEqual(report);
  });

  test('reports that nothing is applied if too many policies are absent to list them', () => {
    const absent = Array.from({ length: 501 }, (_, index) => `policy-${index}`);
    const read = readReplicaLease(replicaLease('n', { ...report, absent }, 30, 0));
    expect(read).toMatchObject({ appliedVersion: '0', absent: [] });
  });

  test('is undefined for an unrelated Lease', () => {
    expect(
      readReplicaLease({ apiVersion: 'v1', kind: 'Lease', metadata: { name: 'x' }, spec: { holderIdentity: 'y' } }),
    ).toBeUndefined();
  });

  test('has a valid name even for an identity without a letter', () => {
    expect(replicaLeaseName('___')).toBe('kidp-replica-unnamed');
  });
});

describe('versions', () => {
  test.each([
    { reason: 'equal', version: '10', wanted: '10', expected: true },
    { reason: 'newer with more digits', version: '100', wanted: '99', expected: true },
    { reason: 'older with fewer digits', version: '99', wanted: '100', expected: false },
    {
      reason: 'newer, beyond the range of a number',
      version: '9007199254740993',
      wanted: '9007199254740992',
      expected: true,
    },
    { reason: 'nothing observed yet', version: '', wanted: '1', expected: false },
  ])('$reason', ({ version, wanted, expected }) => {
    expect(isAtLeast(version, wanted)).toBe(expected);
  });
});
