import { describe, expect, it } from 'vitest';
import { millisecondsOf } from './duration.ts';

describe('a duration', () => {
  const rows: { reason: string; text: string; milliseconds: number }[] = [
    { reason: 'minutes, like most defaults', text: 'PT5M', milliseconds: 300_000 },
    { reason: 'seconds', text: 'PT30S', milliseconds: 30_000 },
    { reason: 'parts of a second, for tests that compress time', text: 'PT0.25S', milliseconds: 250 },
    { reason: 'zero', text: 'PT0S', milliseconds: 0 },
    { reason: 'hours', text: 'PT24H', milliseconds: 86_400_000 },
    { reason: 'all units of time together', text: 'PT1H2M3S', milliseconds: 3_723_000 },
    { reason: 'days and hours', text: 'P1DT12H', milliseconds: 129_600_000 },
    { reason: 'weeks', text: 'P2W', milliseconds: 1_209_600_000 },
  ];
  for (const { reason, text, milliseconds } of rows) {
    it(`parses: ${reason}`, () => expect(millisecondsOf(text)).toBe(milliseconds));
  }

  for (const text of ['', 'P', 'PT', '5m', 'PT-5M', 'P1Y', 'P1M', 'PT5M ', 'P1W2D']) {
    it(`is rejected: ${JSON.stringify(text)}`, () => expect(() => millisecondsOf(text)).toThrow(RangeError));
  }
});
