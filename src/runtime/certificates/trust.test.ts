import { describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/index.ts';
import { inspect } from './inspect.ts';
import { issueAuthority } from './issue.ts';
import { Trust } from './trust.ts';

const clock = () => new FakeClock();
const validity = { now: Date.UTC(2026, 0, 1), validMilliseconds: 3_600_000, backdateMilliseconds: 0 };
const [one, two] = [issueAuthority(validity).certificate, issueAuthority(validity).certificate];
const second = inspect(two).fingerprint;
const old = { pem: one, generation: 1 };
const both = { pem: one + two, generation: 2 };

describe('trust in an authority', () => {
  it('settles when consumers have held it for long enough', () => {
    const time = clock();
    const trust = new Trust(1000, time);
    trust.published(both, { before: old, held: both });
    time.jump(999);
    expect(trust.settled(second)).toBe(false);
    time.jump(1);
    expect(trust.settled(second)).toBe(true);
    expect(trust.settled('unknown')).toBe(false);
  });

  it('is not known while the bundle cannot be published', () => {
    const time = clock();
    const trust = new Trust(1000, time);
    trust.published(both, { before: old, held: both });
    time.jump(2000);
    trust.unknown();
    expect(trust.settled(second)).toBe(false);
    trust.published(both, { before: both, held: both });
    expect(trust.settled(second)).toBe(true);
  });

  const betweenTimes = [
    {
      reason: 'another replica has published a bundle without it, and it is put back',
      before: { pem: one, generation: 3 },
    },
    {
      reason: 'others have taken it out and put it back meanwhile: only the number differs',
      before: { ...both, generation: 4 },
    },
    { reason: 'somebody has damaged the bundle under the same number', before: { ...both, pem: one } },
  ];
  it.each(betweenTimes)('starts over if $reason', ({ before }) => {
    const time = clock();
    const trust = new Trust(1000, time);
    trust.published(both, { before: old, held: both });
    time.jump(2000);
    const ours = { ...both, generation: 5 };
    trust.published(ours, { before, held: ours });
    expect(trust.settled(second)).toBe(false);
    time.jump(1000);
    expect(trust.settled(second)).toBe(true);
  });

  const outpaced = [
    { reason: 'consumers hold ours', held: both, by: undefined },
    { reason: 'consumers hold a later one', held: { pem: one, generation: 9 }, by: 9 },
    { reason: 'a restored store gave the same number twice', held: { pem: one, generation: 2 }, by: 2 },
  ];
  it.each(outpaced)('knows whether it is outpaced: $reason', ({ held, by }) => {
    const trust = new Trust(1000, clock());
    trust.published(both, { before: held, held });
    expect(trust.outpacedBy).toBe(by);
    trust.unknown();
    expect(trust.outpacedBy).toBeUndefined();
  });
});
