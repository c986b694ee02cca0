import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FakeClock } from '../runtime/testing/index.ts';
import { rateLimiter } from './rate-limit.ts';

const passes = (spend: () => void): boolean => {
  try {
    spend();
    return true;
  } catch {
    return false;
  }
};

test('allows the limit within any minute, and the full limit after an idle minute', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 30_000 }), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 12 }),
      (pauses, limit) => {
        const clock = new FakeClock();
        const { spend } = rateLimiter({ clock, replicas: () => 1 });
        const passed: number[] = [];
        for (const pause of pauses) {
          clock.jump(pause);
          if (passes(() => spend('ann', 'it', limit))) passed.push(clock.monotonic());
        }
        for (const at of passed) {
          expect(passed.filter((each) => each <= at && at - each < 60_000).length).toBeLessThanOrEqual(limit);
        }
        clock.jump(60_000);
        for (let count = 0; count < limit; count += 1) expect(passes(() => spend('ann', 'it', limit))).toBe(true);
        expect(passes(() => spend('ann', 'it', limit))).toBe(false);
      },
    ),
  );
});

test.each([
  { reason: 'one replica enforces the whole limit', replicas: 1, limit: 10, share: 10 },
  { reason: 'three replicas allow a third each', replicas: 3, limit: 10, share: 3 },
  { reason: 'with more replicas than requests each allows one', replicas: 10, limit: 5, share: 1 },
  { reason: 'with no replica counted yet, one is assumed', replicas: 0, limit: 5, share: 5 },
])('$reason', ({ replicas, limit, share }) => {
  const { spend } = rateLimiter({ clock: new FakeClock(), replicas: () => replicas });
  const passed = Array.from({ length: limit + 1 }, () => passes(() => spend('ann', 'it', limit)));
  expect(passed.filter(Boolean)).toHaveLength(share);
});

test('counts each user and endpoint separately and sends Retry-After', () => {
  const clock = new FakeClock();
  const { spend } = rateLimiter({ clock, replicas: () => 1 });
  spend('ann', 'this', 1);
  spend('bob', 'this', 1);
  spend('ann', 'that', 1);
  clock.jump(20_000);
  expect(() => spend('ann', 'this', 1)).toThrow(
    expect.objectContaining({ status: 429, headers: { 'retry-after': '40' } }),
  );
});
