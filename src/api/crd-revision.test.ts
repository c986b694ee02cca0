import { describe, expect, test } from 'vitest';
import { type CrdRevision, packDefinition, revisionLabelOf, revisionName, unpackRevision } from './index.ts';

const crd = { name: 'widgets.example.com', uid: '3f0c9c0e-6b1f', generation: 4 };
const revisionOf = (over: Partial<CrdRevision['spec']> = {}) => ({
  metadata: { name: 'revision' },
  spec: {
    crd,
    sequence: 1,
    recordedAt: '2026-01-31T12:00:00Z',
    ...(packDefinition('{"group":"example.com"}') ?? { digest: '', definition: '', bytes: 0 }),
    ...over,
  },
});

test('a packed definition unpacks to the same definition', () => {
  expect(unpackRevision(revisionOf())).toEqual({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: crd,
    spec: { group: 'example.com' },
  });
});

test('the same definition is packed the same way', () => {
  const text = JSON.stringify({ group: 'example.com', more: 'x'.repeat(1000) });
  expect(packDefinition(text)).toEqual(packDefinition(text));
});

test.each([
  { reason: 'not gzip', over: { definition: 'AAAA' }, says: 'cannot be decompressed' },
  { reason: 'content and digest differ', over: { digest: 'sha256:0' }, says: 'does not match the digest' },
])('a revision that was tampered with is rejected: $reason', ({ over, says }) => {
  expect(() => unpackRevision(revisionOf(over))).toThrow(says);
});

test('a definition that does not fit into etcd is not stored', () => {
  const noise = Array.from({ length: 300_000 }, (_, index) => Math.sin(index).toString(36)).join('');
  expect(packDefinition(JSON.stringify(noise))).toBeUndefined();
});

describe('names', () => {
  const long = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(70)}`;

  test.each([
    { reason: 'a short name', name: 'widgets.example.com' },
    { reason: 'the longest possible name', name: long },
  ])('of $reason fit, and differ by version', ({ name }) => {
    const [first, second] = [1, 2].map((generation) => revisionName({ ...crd, name, generation }));
    expect(first).not.toBe(second);
    expect(first?.length).toBeLessThanOrEqual(253);
    expect(first).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
    expect(revisionLabelOf(name)).toMatch(/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/);
  });

  test('long names with a common prefix get distinct labels and names', () => {
    const other = `${long.slice(0, -1)}e`;
    expect(revisionLabelOf(other)).not.toBe(revisionLabelOf(long));
    expect(revisionName({ ...crd, name: other })).not.toBe(revisionName({ ...crd, name: long }));
  });
});
