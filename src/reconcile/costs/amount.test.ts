import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareAmounts, isAmount, sumOfAmounts } from './amount.ts';

test.each([
  { reason: 'nothing costs nothing', amounts: [], sum: '0' },
  { reason: 'a double would say 0.30000000000000004', amounts: ['0.1', '0.2'], sum: '0.3' },
  { reason: 'places are kept, as an invoice shows them', amounts: ['1.50', '2.50'], sum: '4.00' },
  { reason: 'a credit is taken off', amounts: ['5', '-7.25'], sum: '-2.25' },
  { reason: 'less than one has a zero in front', amounts: ['-0.5', '0.25'], sum: '-0.25' },
  {
    reason: 'past 2^53 nothing is lost',
    amounts: ['9007199254740993', '0.000000001'],
    sum: '9007199254740993.000000001',
  },
])('$reason', ({ amounts, sum }) => {
  expect(sumOfAmounts(amounts)).toBe(sum);
});

test.each([
  { reason: 'a plain number', text: '12', yes: true },
  { reason: 'fractions of a cent', text: '0.000000001', yes: true },
  { reason: 'a formula of a spreadsheet', text: '=1+1', yes: false },
  { reason: 'an exponent', text: '1e9', yes: false },
  { reason: 'no digits before the point', text: '.5', yes: false },
  { reason: 'more digits than a sum has room for', text: '1234567890123456', yes: false },
  { reason: 'nothing', text: '', yes: false },
])('$reason: $yes', ({ text, yes }) => {
  expect(isAmount(text)).toBe(yes);
});

const amount = fc
  .tuple(fc.bigInt(-(10n ** 15n) + 1n, 10n ** 15n - 1n), fc.integer({ min: 0, max: 9 }), fc.nat(999_999_999))
  .map(([whole, places, fraction]) =>
    places === 0 ? String(whole) : `${whole}.${String(fraction).padStart(9, '0').slice(0, places)}`,
  );

test('addition is commutative and reversible', () => {
  fc.assert(
    fc.property(fc.array(amount, { maxLength: 20 }), (amounts) => {
      expect(sumOfAmounts(amounts.toReversed())).toBe(sumOfAmounts(amounts));
      const negatives = amounts.map((each) => (each.startsWith('-') ? each.slice(1) : `-${each}`));
      expect(compareAmounts(sumOfAmounts([...amounts, ...negatives]), '0')).toBe(0);
    }),
  );
});

test('a sum over a million of the largest fits into the field of the status', () => {
  const largest = `-${'9'.repeat(15)}.${'9'.repeat(9)}`;
  const sum = sumOfAmounts([`-${'9'.repeat(21)}.${'9'.repeat(9)}`]);
  expect(isAmount(largest)).toBe(true);
  expect(sum.length).toBeLessThanOrEqual(32);
});
