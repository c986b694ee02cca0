import { expect, it } from 'vitest';
import { FakeClock } from '../testing/index.ts';
import { KeyBackoff, TokenBucket } from './backoff.ts';

it('doubles per key up to the maximum, and never overflows', () => {
  const backoff = new KeyBackoff({ baseMilliseconds: 10, maximumMilliseconds: 1000 });
  const waits = Array.from({ length: 2000 }, () => backoff.next('a'));
  expect(waits.slice(0, 8)).toEqual([10, 20, 40, 80, 160, 320, 640, 1000]);
  expect(waits.at(-1)).toBe(1000);
  expect(backoff.next('b')).toBe(10);
  expect(backoff.failures('a')).toBe(2000);
  backoff.forget('a');
  expect(backoff.failures('a')).toBe(0);
  expect(backoff.next('a')).toBe(10);
});

it('hands out a burst, then at its rate, and never saves up more than the burst', async () => {
  const clock = new FakeClock();
  const bucket = new TokenBucket({ tokensPerSecond: 2, burst: 3 }, () => clock.monotonic());
  expect([1, 2, 3, 4, 5].map(() => bucket.reserve())).toEqual([0, 0, 0, 500, 1000]);
  await clock.advance(60_000);
  expect([1, 2, 3, 4].map(() => bucket.tryTake())).toEqual([true, true, true, false]);
});
