import { expect, test } from 'vitest';
import type { DeploymentRequest } from '../messages.ts';
import { amounts, finalAmounts, pricePerHour, settleMeter } from './usage.ts';

const at = (text: string) => Date.parse(`${text}Z`);
const dime = 100_000;

test('a change of size changes only the hours after it', () => {
  const small = settleMeter(undefined, dime, at('2026-01-10T00:00:00'));
  const large = settleMeter(small, 4 * dime, at('2026-01-10T10:00:00'));
  expect(amounts(large, at('2026-01-10T12:00:00'))).toEqual([
    { month: '2026-01', amount: '1.8', asOf: '2026-01-10T12:00:00.000Z' },
  ]);
});

test('a month that ends is reported in full, and the next starts at zero', () => {
  const meter = settleMeter(undefined, dime, at('2026-01-31T20:00:00'));
  const reported = amounts(meter, at('2026-02-01T01:30:00'));
  expect(reported.map(({ month, amount }) => [month, amount])).toEqual([
    ['2026-01', '0.4'],
    ['2026-02', '0.15'],
  ]);
  expect(amounts(settleMeter(meter, 2 * dime, at('2026-02-01T01:30:00')), at('2026-02-01T01:30:00'))).toEqual(reported);
});

test('a broker that was down for months reports each of them', () => {
  const meter = settleMeter(undefined, 1_000_000, at('2025-11-30T23:00:00'));
  expect(amounts(meter, at('2026-02-01T00:00:00')).map(({ month, amount }) => [month, amount])).toEqual([
    ['2025-11', '1'],
    ['2025-12', '744'],
    ['2026-01', '744'],
    ['2026-02', '0'],
  ]);
});

test('a deletion in the first minutes of a month is reported with both months', () => {
  const meter = settleMeter(settleMeter(undefined, 6 * dime, at('2026-01-31T23:00:00')), 0, at('2026-02-01T00:10:00'));
  expect(finalAmounts(meter)).toEqual([
    { month: '2026-01', amount: '0.6', asOf: '2026-02-01T00:00:00.000Z' },
    { month: '2026-02', amount: '0.1', asOf: '2026-02-01T00:10:00.000Z' },
  ]);
});

test('what is gone costs nothing any more', () => {
  const meter = settleMeter(settleMeter(undefined, dime, at('2026-01-01T00:00:00')), 0, at('2026-01-01T05:00:00'));
  expect(amounts(meter, at('2026-01-31T00:00:00'))[0]?.amount).toBe('0.5');
});

const prices = { currency: 'EUR', perHour: { Database: { small: 0.05, default: 0.1 }, Service: { default: 0.02 } } };
test.each([
  { kind: 'Database', spec: { size: 'small' }, micros: 50_000, reason: 'a size that is in the table' },
  { kind: 'Database', spec: { size: '100Gi' }, micros: 100_000, reason: 'a size that is not' },
  { kind: 'Service', spec: { replicas: 3 }, micros: 60_000, reason: 'every copy costs' },
  { kind: 'Cache', spec: {}, micros: 0, reason: 'a kind without a price' },
])('an hour of a $kind: $reason', ({ kind, spec, micros }) => {
  expect(pricePerHour(prices, { resource: { kind }, spec } as unknown as DeploymentRequest)).toBe(micros);
});
