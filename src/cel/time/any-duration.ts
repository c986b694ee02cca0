/**
 * Durations as OpenAPI's format takes them: those of Go, and numbers with units in words, `5 minutes`, `1d`, also
 * inside other text.
 */
import { Duration } from '../values.ts';
import { parseDuration } from './text.ts';
import { SECOND } from './values.ts';

const DAY = 86_400n * SECOND;

/** Each unit by the words for it; of the last word what it begins with is enough. */
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

/** undefined where it is none. A sum that is too large wraps around, as it does in Go. */
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
