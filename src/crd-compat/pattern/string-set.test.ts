import fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, it } from 'vitest';
import { type StringConstraints, StringSet, stringsOf } from './index.ts';

interface Row {
  readonly reason: string;
  readonly wide: StringConstraints;
  readonly narrow: StringConstraints;
  readonly answer: 'yes' | 'unknown' | { readonly witness: string };
}

const rows: readonly Row[] = [
  {
    reason: 'a pattern becomes an equal enumeration',
    wide: { enum: ['Always', 'Never'] },
    narrow: { pattern: '^(Always|Never)$' },
    answer: 'yes',
  },
  {
    reason: 'an enumeration becomes a pattern that holds it',
    wide: { pattern: '^[A-Z]' },
    narrow: { enum: ['Always', 'Never'] },
    answer: 'yes',
  },
  {
    reason: 'an enumeration loses a value',
    wide: { enum: ['Always'] },
    narrow: { enum: ['Always', 'Never'] },
    answer: { witness: 'Never' },
  },
  {
    reason: 'values of other types are no strings',
    wide: { enum: ['a'] },
    narrow: { enum: ['a', 1, null] },
    answer: 'yes',
  },
  {
    reason: 'a length that the pattern has anyway',
    wide: { maxLength: 63 },
    narrow: { pattern: '^[a-z]{1,63}$' },
    answer: 'yes',
  },
  { reason: 'a shorter length', wide: { maxLength: 3 }, narrow: { maxLength: 4 }, answer: { witness: 'aaaa' } },
  { reason: 'a longer least length', wide: { minLength: 1 }, narrow: {}, answer: { witness: '' } },
  {
    reason: 'a length between two that the pattern has',
    wide: { pattern: '^(a{3})*$', maxLength: 100 },
    narrow: { pattern: '^(a{3})*$', maxLength: 101 },
    answer: 'yes',
  },
  {
    reason: 'the pattern has the next length',
    wide: { pattern: '^(aaa)*$', maxLength: 8 },
    narrow: { pattern: '^(aaa)*$', maxLength: 9 },
    answer: { witness: 'aaaaaaaaa' },
  },
  { reason: 'lengths count code points', wide: { maxLength: 1 }, narrow: { enum: ['😀'] }, answer: 'yes' },
  { reason: 'a format is equal to itself', wide: { format: 'email' }, narrow: { format: 'email' }, answer: 'yes' },
  {
    reason: 'names of formats lose their dashes',
    wide: { format: 'date-time' },
    narrow: { format: 'datetime' },
    answer: 'yes',
  },
  { reason: 'a format that nobody knows', wide: { format: 'colour' }, narrow: {}, answer: 'yes' },
  { reason: 'a format put on a free field', wide: { format: 'ipv4' }, narrow: {}, answer: { witness: '' } },
  { reason: 'what every address has', wide: { pattern: '@' }, narrow: { format: 'email' }, answer: 'yes' },
  { reason: 'uuid4 is a uuid', wide: { format: 'uuid' }, narrow: { format: 'uuid4' }, answer: 'yes' },
  {
    reason: 'a short name is a long name',
    wide: { format: 'k8s-long-name' },
    narrow: { format: 'k8s-short-name' },
    answer: 'yes',
  },
  {
    reason: 'between what is certain and what is possible nothing is claimed',
    wide: { format: 'email' },
    narrow: { pattern: '^"[a-z]"@[a-z]$' },
    answer: 'unknown',
  },
  {
    reason: 'any of',
    wide: { anyOf: [{ pattern: '^a' }, { pattern: '^b' }] },
    narrow: { pattern: '^[ab]' },
    answer: 'yes',
  },
  {
    reason: 'exactly one of',
    wide: { oneOf: [{ pattern: 'a' }, { pattern: 'b' }] },
    narrow: { pattern: '^[ab]{2}$' },
    answer: { witness: 'ab' },
  },
  { reason: 'not', wide: { not: { pattern: '^x' } }, narrow: { pattern: '^[a-w]' }, answer: 'yes' },
  {
    reason: 'all of',
    wide: { allOf: [{ pattern: '^a' }, { minLength: 2 }] },
    narrow: { pattern: '^ab' },
    answer: 'yes',
  },
  {
    reason: 'an alternative that is no string',
    wide: { anyOf: [{ type: 'integer' }, { type: 'string', pattern: '%$' }] },
    narrow: { pattern: '^[0-9]%$' },
    answer: 'yes',
  },
  {
    reason: 'two patterns are wider than one with both',
    wide: { patterns: ['a', 'b'] },
    narrow: { pattern: 'ab' },
    answer: 'yes',
  },
  {
    reason: 'one of many alternatives',
    wide: { oneOf: [1, 2, 3, 4, 5, 6, 7, 8].map((count) => ({ pattern: `^a{${count}}b`, maxLength: 20 + count })) },
    narrow: { oneOf: [1, 2, 3, 4, 5, 6, 7].map((count) => ({ pattern: `^a{${count}}b`, maxLength: 20 })) },
    answer: 'yes',
  },
  { reason: 'no pattern, but the same', wide: { pattern: '(' }, narrow: { pattern: '(' }, answer: 'yes' },
];

describe('whether all strings of one set are in another', () => {
  it.each(rows)('$reason', ({ wide, narrow, answer }) => {
    const found = stringsOf(wide).includes(stringsOf(narrow));
    if (answer === 'yes') expect(found).toEqual({ answer: 'yes' });
    else if (answer === 'unknown') expect(found.answer).toBe('unknown');
    else expect(found).toEqual({ answer: 'no', ...answer });
  });

  it('says why it does not know', () => {
    const found = stringsOf({ format: 'email' }).includes(stringsOf({ pattern: '^"[a-z]"@[a-z]$' }));
    expect(found).toMatchObject({ because: 'it is not known exactly which strings have format email' });
  });

  it('keeps very long lengths cheap', () => {
    const found = stringsOf({ maxLength: 262_143 }).includes(stringsOf({ pattern: '^[a-z]*$', maxLength: 262_144 }));
    expect(found.answer === 'no' && found.witness.length).toBe(262_144);
  });
});

describe('examples', () => {
  it.each([
    { reason: 'short', set: { pattern: '^[a-z]+$' }, examples: ['a', 'b', 'c', 'd'] },
    {
      reason: 'of the least length',
      set: { pattern: '^[a-z]+-[0-9]$', minLength: 5 },
      examples: ['aaa-0', 'bcd-1', 'cda-2', 'dab-3'],
    },
    { reason: 'fewer where there are fewer', set: { pattern: '^[xy]$' }, examples: ['x', 'y'] },
    { reason: 'none where there is none', set: { pattern: '^a$', minLength: 2 }, examples: [] },
    { reason: 'as listed', set: { enum: ['b', 'a'], pattern: '.' }, examples: ['b', 'a'] },
    { reason: 'readable', set: { pattern: '^[^a]$' }, examples: ['b', 'c', 'd', 'e'] },
    { reason: 'visible', set: { pattern: '^[^\\x00-\\x7f]$' }, examples: ['¡'] },
  ])('$reason', ({ set, examples }) => {
    expect(stringsOf(set).examples(4)).toEqual(examples);
  });
});

const constraint: fc.Arbitrary<StringConstraints> = fc.oneof(
  fc.constantFrom('a', '^b', '^[ab]*$', 'c$', '^.{2}$').map((pattern) => ({ pattern })),
  fc.subarray(['', 'a', 'b', 'ab', 'ca', 'abc']).map((values) => ({ enum: values })),
  fc.nat(3).map((minLength) => ({ minLength })),
  fc.nat(3).map((maxLength) => ({ maxLength })),
);
const tree: fc.Arbitrary<StringConstraints> = fc.letrec<{ tree: StringConstraints }>((tie) => {
  const several = fc.array(tie('tree'), { minLength: 1, maxLength: 3 });
  return {
    tree: fc.oneof(
      { depthSize: 'small' },
      constraint,
      several.map((allOf) => ({ allOf })),
      several.map((anyOf) => ({ anyOf })),
      several.map((oneOf) => ({ oneOf })),
      tie('tree').map((not) => ({ not })),
    ),
  };
}).tree;

/** The meaning of the keywords, in a simple second implementation. */
function accepts(schema: StringConstraints, text: string): boolean {
  const { pattern, minLength = 0, maxLength = Number.POSITIVE_INFINITY, allOf = [], anyOf, oneOf, not } = schema;
  return (
    (pattern === undefined || RE2JS.compile(pattern).test(text)) &&
    (schema.enum === undefined || schema.enum.includes(text)) &&
    text.length >= minLength &&
    text.length <= maxLength &&
    allOf.every((each) => accepts(each, text)) &&
    (anyOf === undefined || anyOf.some((each) => accepts(each, text))) &&
    (oneOf === undefined || oneOf.filter((each) => accepts(each, text)).length === 1) &&
    (not === undefined || !accepts(not, text))
  );
}

/** All strings of up to four letters. */
const texts = [''];
for (const each of texts) if (each.length < 4) texts.push(`${each}a`, `${each}b`, `${each}c`);

describe('the algebra', () => {
  it('means what the keywords mean', () => {
    fc.assert(
      fc.property(tree, tree, (left, right) => {
        const [leftSet, rightSet] = [stringsOf(left), stringsOf(right)];
        const difference = leftSet.minus(rightSet);
        const expected = texts.filter((each) => accepts(left, each) && !accepts(right, each));
        const found = difference.emptiness();
        if (found.answer === 'yes') expect(expected).toEqual([]);
        if (found.answer === 'no') {
          expect([accepts(left, found.witness), accepts(right, found.witness)]).toEqual([true, false]);
        }
        for (const each of difference.examples(3)) expect(accepts(left, each) && !accepts(right, each)).toBe(true);
        for (const each of texts.slice(0, 20)) {
          const is = leftSet.has(each);
          if (is !== undefined) expect(is).toBe(accepts(left, each));
        }
      }),
      { numRuns: 150 },
    );
  });

  it('has a whole and an empty set', () => {
    expect(StringSet.all.minus(StringSet.all).isEmpty()).toBe(true);
    expect(StringSet.none.isEmpty()).toBe(true);
    expect(StringSet.all.isEmpty()).toBe(false);
  });
});
