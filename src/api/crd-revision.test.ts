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

test('what is packed is unpacked as it was, under the name it had', () => {
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
  { reason: 'no gzip', over: { definition: 'AAAA' }, says: 'cannot be unpacked' },
  { reason: 'another content than the digest says', over: { digest: 'sha256:0' }, says: 'not what its digest says' },
])('a revision that was tampered with is refused: $reason', ({ over, says }) => {
  expect(() => unpackRevision(revisionOf(over))).toThrow(says);
});

test('what does not fit into etcd is not kept', () => {
  const noise = Array.from({ length: 300_000 }, (_, index) => Math.sin(index).toString(36)).join('');
  expect(packDefinition(JSON.stringify(noise))).toBeUndefined();
});

describe('names', () => {
  const long = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(70)}`;

  test.each([
    { reason: 'a short one', name: 'widgets.example.com' },
    { reason: 'the longest there is', name: long },
  ])('of $reason fit, and differ by version', ({ name }) => {
    const [first, second] = [1, 2].map((generation) => revisionName({ ...crd, name, generation }));
    expect(first).not.toBe(second);
    expect(first?.length).toBeLessThanOrEqual(253);
    expect(first).toMatch(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
    expect(revisionLabelOf(name)).toMatch(/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/);
  });

  test('two long names that begin alike have labels and names of their own', () => {
    const other = `${long.slice(0, -1)}e`;
    expect(revisionLabelOf(other)).not.toBe(revisionLabelOf(long));
    expect(revisionName({ ...crd, name: other })).not.toBe(revisionName({ ...crd, name: long }));
  });
});
