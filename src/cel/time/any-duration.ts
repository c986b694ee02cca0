/**
 * Durations of the OpenAPI format: those of Go, and numbers with units such as `5 minutes` and `1d`, also inside other
 * text.
 */
import { Duration } from '../values.ts';
import { parseDuration } from './text.ts';
import { SECOND } from './values.ts';

const DAY = 86_400n * SECOND;

/** Each unit with its abbreviations and a stem; every word that starts with the stem is accepted. */
const UNITS: readonly (readonly [words: readonly string[], stem: string, nanoseconds: bigint])[] = [
  [['ns'], 'nano', 1n],
  [['us', 'µs'], 'micro', 1000n],
  [['ms'], 'milli', 1_000_000n],
  [['s'], 'sec', SECOND],
  [['m'], 'min', 60n * SECOND],
  [['h', 'hr'], 'hour', 3600n * SECOND],
  [['d'], 'day', DAY],
  [['w', 'wk'], 'week', 7n * DAY],
];

const PART = /(\d+)[\t\n\f\r ]*([A-Za-zµ]+)/g;
const LARGEST = 2n ** 63n - 1n;

/** `parseAnyDuration` returns undefined for invalid text. An overflow wraps around, as in Go. */
export function parseAnyDuration(text: string): Duration | undefined {
  const exact = parseDuration(text);
  if (exact !== undefined) return exact;
  let total: bigint | undefined;
  for (const [, amount = '', word = ''] of text.matchAll(PART)) {
    const count = BigInt(amount);
    if (count > LARGEST) return undefined;
    const unit = word.toLowerCase();
    for (const [words, stem, nanoseconds] of UNITS) {
      if (words.includes(unit) || unit.startsWith(stem)) total = (total ?? 0n) + count * nanoseconds;
    }
  }
  return total === undefined ? undefined : new Duration(BigInt.asIntN(64, total));
}
