import { describe, expect, test } from 'vitest';
import { dateOrInstant, quantity } from './patterns.ts';

describe('a date or instant', () => {
  const pattern = new RegExp(dateOrInstant('When.').openapi.pattern ?? '^$');

  test.each([
    { written: '2026-01-31', reason: 'a day' },
    { written: '2028-02-29', reason: 'a leap day' },
    { written: '2026-12-31T23:59:59Z', reason: 'the last second of a year' },
    { written: '2026-01-31T12:00:00.123456789+05:30', reason: 'a fraction and an offset' },
  ])('may be $written: $reason', ({ written }) => {
    expect(written).toMatch(pattern);
  });

  test.each([
    { written: '2026-99-99', reason: 'digits that are not a date' },
    { written: '2026-13-01', reason: 'month out of range' },
    { written: '2026-00-10', reason: 'month zero' },
    { written: '2026-01-00', reason: 'day zero' },
    { written: '2026-01-32', reason: 'day out of range' },
    { written: '2026-04-31', reason: 'April has 30 days' },
    { written: '2026-02-30', reason: 'February never has 30' },
    { written: '2026-01-31T24:00:00Z', reason: 'hour out of range' },
    { written: '2026-01-31T12:60:00Z', reason: 'minute out of range' },
    { written: '2026-01-31T12:00:60Z', reason: 'second out of range' },
    { written: '2026-01-31T12:00:00+24:00', reason: 'an offset of a whole day' },
    { written: '2026-01-31T12:00:00', reason: 'a time without a zone' },
  ])('rejects $written: $reason', ({ written }) => {
    expect(written).not.toMatch(pattern);
  });
});

test('a quantity is not negative, as a number or as text', () => {
  const { minimum, pattern = '^$' } = quantity('An amount.').openapi;
  expect(minimum).toBe(0);
  expect('-1').not.toMatch(new RegExp(pattern));
});
