import { describe, expect, it } from 'vitest';
import { inspect } from './inspect.ts';
import { issueAuthority, issueLeaf } from './issue.ts';
import { repair } from './repair.ts';
import type { Material } from './store.ts';

const now = Date.UTC(2026, 0, 1);
const validity = { now, validMilliseconds: 3_600_000, backdateMilliseconds: 0 };
const [one, two] = [issueAuthority(validity), issueAuthority(validity)];
const [first, second] = [inspect(one.certificate).fingerprint, inspect(two.certificate).fingerprint];
const served = { leaf: issueLeaf(one, { ...validity, names: ['localhost'] }), issuer: first };
const remembered: Material = { generation: 7, leaf: served.leaf, bundle: [one.certificate], signing: first };
const foreign: Material = { generation: 3, leaf: served.leaf, bundle: [two.certificate], signing: second };

const rows: { reason: string; stored?: Material; others?: (string | undefined)[]; expected: object | undefined }[] = [
  { reason: 'nothing is missing', stored: remembered, expected: undefined },
  {
    reason: 'it was deleted: what is served comes back, under a generation later than any before',
    expected: { leaf: served.leaf, signing: first, bundle: [one.certificate], generation: now },
  },
  { reason: 'another replica that starts knows nothing', others: [undefined], expected: { signing: first } },
  { reason: 'another serves the same', others: [first], expected: { signing: first } },
  {
    reason: 'another serves what this one has never heard of, and remembers better',
    others: [second],
    expected: undefined,
  },
  {
    reason: 'it was replaced by something else: what is served is trusted as well',
    stored: foreign,
    expected: { signing: second, bundle: [two.certificate, one.certificate], generation: 4 },
  },
];

describe('repair', () => {
  it.each(rows)('$reason', ({ stored, others = [], expected }) => {
    const repaired = repair({ stored, served, remembered, others, now });
    if (expected === undefined) expect(repaired).toBeUndefined();
    else expect(repaired).toMatchObject(expected);
  });
});
