import { describe, expect, it } from 'vitest';
import { decodeKeys, decodeMaterial, encodeKeys, encodeMaterial } from './encoding.ts';
import { inspect } from './inspect.ts';
import { issueAuthority, issueLeaf } from './issue.ts';
import type { Material } from './store.ts';

const validity = { now: Date.now(), validMilliseconds: 3_600_000, backdateMilliseconds: 0 };
const [one, two] = [issueAuthority(validity), issueAuthority(validity)];
const [first, second] = [inspect(one.certificate).fingerprint, inspect(two.certificate).fingerprint];
const leaf = issueLeaf(one, { ...validity, names: ['localhost'] });
const material: Material = {
  generation: 5,
  leaf,
  bundle: [two.certificate, one.certificate],
  signing: first,
  next: second,
};

describe('material as fields', () => {
  it('round-trips', () => {
    expect(decodeMaterial(encodeMaterial(material))).toEqual(material);
    const { next, ...without } = material;
    expect(decodeMaterial(encodeMaterial(without))).toEqual(without);
  });

  const fields = encodeMaterial(material);
  const lost: { reason: string; rotation: string | undefined; expected: Partial<Material> }[] = [
    { reason: 'is gone', rotation: undefined, expected: { generation: 1, signing: first } },
    { reason: 'is garbage', rotation: '{', expected: { generation: 1, signing: first } },
    { reason: 'is null', rotation: 'null', expected: { generation: 1 } },
    { reason: 'holds no number', rotation: '{"generation":"x"}', expected: { generation: 1 } },
    {
      reason: 'names an authority that is not there',
      rotation: '{"generation":5,"next":"none"}',
      expected: { generation: 5 },
    },
  ];
  it.each(lost)('keeps the certificate if the rotation field $reason', ({ rotation, expected }) => {
    const decoded = decodeMaterial({ ...fields, rotation: rotation as string });
    expect(decoded).toMatchObject(expected);
    expect(decoded.next).toBeUndefined();
  });

  const unusable = [
    { reason: 'no certificate', change: { 'tls.crt': '' }, says: 'tls.crt' },
    { reason: 'something else instead of a certificate', change: { 'tls.crt': 'x' }, says: 'tls.key' },
    { reason: 'the key of another', change: { 'tls.key': two.key }, says: 'tls.key' },
    { reason: 'no bundle', change: { 'ca.crt': '' }, says: 'ca.crt' },
    {
      reason: 'a bundle without the authority that signed the leaf',
      change: { 'ca.crt': two.certificate },
      says: 'ca.crt',
    },
    { reason: 'a leaf in the bundle', change: { 'ca.crt': leaf.certificate }, says: 'authority' },
  ];
  it.each(unusable)('is rejected with $reason, without quoting it', ({ change, says }) => {
    expect(() => decodeMaterial({ ...fields, ...change })).toThrow(
      expect.objectContaining({ message: expect.stringContaining(says) }),
    );
    expect(() => decodeMaterial({ ...fields, ...change })).not.toThrow(/PRIVATE KEY/);
  });
});

describe('keys as fields', () => {
  it('round-trip', () => {
    expect(decodeKeys(encodeKeys([one, two]))).toEqual([one, two]);
  });

  it('are omitted if they are unusable', () => {
    const damaged = {
      ...encodeKeys([one]),
      [`${first}.key`]: two.key,
      'x.crt': 'garbage',
      'y.key': one.key,
      note: 'hello',
    };
    expect(decodeKeys(damaged)).toEqual([]);
    expect(decodeKeys({ 'leaf.crt': leaf.certificate, 'leaf.key': leaf.key })).toEqual([]);
  });
});
