import { describe, expect, it } from 'vitest';
import type { CertificateFacts } from './inspect.ts';
import { decideRotation, dueAt, type MaterialFacts, nextDue, type RotationView } from './rotation.ts';

const day = 24 * 3_600_000;
const now = Date.UTC(2026, 0, 1);
const policy = { authorityMilliseconds: 90 * day, leafMilliseconds: 9 * day, names: ['localhost'] };

const authority = (
  fingerprint: string,
  leftMilliseconds = 80 * day,
  over: Partial<CertificateFacts> = {},
): CertificateFacts => ({
  fingerprint,
  notBefore: now - 10 * day,
  notAfter: now + leftMilliseconds,
  isAuthority: true,
  names: [],
  ...over,
});
const leaf = (leftMilliseconds = 8 * day, over: Partial<CertificateFacts> = {}): CertificateFacts => ({
  fingerprint: 'leaf',
  notBefore: now - day,
  notAfter: now + leftMilliseconds,
  isAuthority: false,
  names: ['localhost'],
  ...over,
});

const healthy: MaterialFacts = { generation: 5, leaf: leaf(), bundle: [authority('one')], signing: 'one' };
const old = authority('one', 29 * day);

interface Row {
  reason: string;
  material?: MaterialFacts;
  keys?: string[];
  settled?: string[];
  replicas?: (string | undefined)[];
  outpacedBy?: number;
  expected: object;
}

const rows: Row[] = [
  { reason: 'nothing is there and nobody serves', replicas: [undefined, undefined], expected: { kind: 'begin' } },
  {
    reason: 'nothing is there, but a replica that serves remembers it',
    replicas: [undefined, 'one'],
    expected: { kind: 'wait' },
  },
  { reason: 'everything is valid', material: healthy, expected: { kind: 'wait' } },
  {
    reason: 'the leaf is at two thirds of its life',
    material: { ...healthy, leaf: leaf(3 * day) },
    expected: { kind: 'renew', names: ['localhost'] },
  },
  {
    reason: 'the leaf is a moment before two thirds of its life',
    material: { ...healthy, leaf: leaf(3 * day + 1) },
    expected: { kind: 'wait' },
  },
  {
    reason: 'the leaf has expired, its authority has not',
    material: { ...healthy, leaf: leaf(0) },
    expected: { kind: 'renew' },
  },
  {
    reason: 'the clock was set back and the leaf is not valid yet',
    material: { ...healthy, leaf: leaf(8 * day, { notBefore: now + 1 }) },
    expected: { kind: 'renew' },
  },
  {
    reason: 'a leaf that lacks a name keeps those that other replicas want',
    material: { ...healthy, leaf: leaf(8 * day, { names: ['other.test'] }) },
    expected: { kind: 'renew', names: ['localhost', 'other.test'] },
  },
  {
    reason: 'a leaf that ends with its authority cannot be made to last longer by it',
    material: { ...healthy, leaf: leaf(2 * day), bundle: [authority('one', 2 * day), authority('two')], next: 'two' },
    keys: ['one', 'two'],
    expected: { kind: 'wait' },
  },
  {
    reason: 'the authority is at two thirds of its life',
    material: { ...healthy, bundle: [authority('one', 30 * day)] },
    expected: { kind: 'announce' },
  },
  {
    reason: 'the authority is a moment before it',
    material: { ...healthy, bundle: [authority('one', 30 * day + 1)] },
    expected: { kind: 'wait' },
  },
  {
    reason: 'the key of the authority was deleted, to force a rotation',
    material: healthy,
    keys: [],
    expected: { kind: 'announce' },
  },
  {
    reason: 'the next authority is announced, but consumers might not trust it yet',
    material: { ...healthy, bundle: [old, authority('two')], next: 'two' },
    keys: ['one', 'two'],
    expected: { kind: 'wait' },
  },
  {
    reason: 'consumers trust the next authority',
    material: { ...healthy, bundle: [old, authority('two')], next: 'two' },
    keys: ['one', 'two'],
    settled: ['two'],
    expected: { kind: 'promote' },
  },
  {
    reason: 'the key of the next authority was lost: another takes its place',
    material: { ...healthy, bundle: [old, authority('two')], next: 'two' },
    keys: ['one'],
    settled: ['two'],
    expected: { kind: 'announce' },
  },
  {
    reason: 'the next authority has grown old while it waited',
    material: { ...healthy, bundle: [old, authority('two', 20 * day)], next: 'two' },
    keys: ['one', 'two'],
    settled: ['two'],
    expected: { kind: 'announce' },
  },
  {
    reason: 'the leaf is due while the next authority waits: the old one renews it',
    material: { ...healthy, leaf: leaf(2 * day), bundle: [old, authority('two')], next: 'two' },
    keys: ['one', 'two'],
    expected: { kind: 'renew' },
  },
  {
    reason: 'leaf and authority have expired while everything was switched off',
    material: { ...healthy, leaf: leaf(-day), bundle: [authority('one', -day)] },
    expected: { kind: 'begin' },
  },
  {
    reason: 'they have expired, and the next authority was ready: nothing is lost by turning at once',
    material: { ...healthy, leaf: leaf(-day), bundle: [authority('one', -day), authority('two')], next: 'two' },
    keys: ['one', 'two'],
    expected: { kind: 'promote' },
  },
  {
    reason: 'the leaf has expired and no key can renew it',
    material: { ...healthy, leaf: leaf(-day) },
    keys: [],
    expected: { kind: 'begin' },
  },
  {
    reason: 'the clock was set back before the authority begins',
    material: {
      ...healthy,
      leaf: leaf(8 * day, { notBefore: now + 1 }),
      bundle: [authority('one', 80 * day, { notBefore: now + 1 })],
    },
    expected: { kind: 'begin' },
  },
  {
    reason: 'the key of a retired authority is destroyed before anything else happens to it',
    material: { ...healthy, bundle: [authority('one'), authority('zero')] },
    keys: ['one', 'zero'],
    replicas: ['one', 'one'],
    expected: { kind: 'forget', fingerprints: ['zero'] },
  },
  {
    reason: 'every replica has turned',
    material: { ...healthy, bundle: [authority('one'), authority('zero')] },
    replicas: ['one', 'one'],
    expected: { kind: 'drop', fingerprints: ['zero'] },
  },
  {
    reason: 'a replica still serves a leaf of the retired authority',
    material: { ...healthy, bundle: [authority('one'), authority('zero')] },
    replicas: ['one', 'zero'],
    expected: { kind: 'wait' },
  },
  {
    reason: 'a replica has started and has not said yet what it serves',
    material: { ...healthy, bundle: [authority('one'), authority('zero')] },
    replicas: ['one', undefined],
    expected: { kind: 'wait' },
  },
  {
    reason: 'nobody has reported: no news is not good news',
    material: { ...healthy, bundle: [authority('one'), authority('zero')] },
    replicas: [],
    expected: { kind: 'wait' },
  },
  {
    reason: 'a retired authority that has expired helps nobody',
    material: { ...healthy, bundle: [authority('one'), authority('zero', -1)] },
    replicas: ['zero'],
    expected: { kind: 'drop', fingerprints: ['zero'] },
  },
  {
    reason: 'the store was restored from a backup and consumers hold a later bundle',
    material: healthy,
    outpacedBy: 9,
    expected: { kind: 'advance', generation: 10 },
  },
];

describe('decideRotation', () => {
  it.each(rows)('$reason', ({ material, keys, settled = [], replicas = [], outpacedBy, expected }) => {
    const view: RotationView = {
      now,
      policy,
      ...(material === undefined ? {} : { material }),
      keys: new Set(keys ?? ['one']),
      settled: (fingerprint) => settled.includes(fingerprint),
      replicas,
      ...(outpacedBy === undefined ? {} : { outpacedBy }),
    };
    expect(decideRotation(view)).toMatchObject(expected);
  });
});

describe('nextDue', () => {
  const dues = [
    { reason: 'the leaf comes first', material: healthy, due: healthy.leaf.notAfter - 3 * day },
    {
      reason: 'the authority comes first',
      material: { ...healthy, bundle: [authority('one', 31 * day)] },
      due: now + day,
    },
  ];
  it.each(dues)('$reason', ({ material, due }) => {
    expect(nextDue(material, policy)).toBe(due);
  });

  it('does not depend on the backdating of a certificate', () => {
    const far = leaf(8 * day, { notBefore: now - 1000 * day });
    expect(dueAt(far, policy.leafMilliseconds)).toBe(dueAt(leaf(8 * day), policy.leafMilliseconds));
  });
});
