import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Lanes } from './lanes.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('Lanes', () => {
  it('runs each lane in order and one at a time, never more than it may at once, and everything in the end', async () => {
    const work = fc.array(
      fc.record({
        lane: fc.integer({ min: 0, max: 4 }),
        tries: fc.integer({ min: 1, max: 3 }),
        turns: fc.integer({ min: 0, max: 2 }),
      }),
      { maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(work, fc.integer({ min: 1, max: 3 }), async (pieces, concurrency) => {
        const lanes = new Lanes(concurrency);
        const done: number[] = [];
        const busy = new Set<number>();
        for (const [index, { lane, tries, turns }] of pieces.entries()) {
          let left = tries;
          lanes.add(String(lane), async () => {
            expect(busy.has(lane)).toBe(false);
            busy.add(lane);
            expect(busy.size).toBeLessThanOrEqual(concurrency);
            for (let count = 0; count < turns; count++) await turn();
            busy.delete(lane);
            if (--left > 0) return 0;
            done.push(index);
            return undefined;
          });
        }
        await lanes.below(1);
        for (let lane = 0; lane <= 4; lane++) {
          const own = pieces.flatMap((piece, index) => (piece.lane === lane ? [index] : []));
          expect(done.filter((index) => own.includes(index))).toEqual(own);
        }
        expect(lanes.weight).toBe(0);
      }),
      { numRuns: 50 },
    );
  });

  it('forgets what waits and what rests when it is cleared; what runs ends, is not tried again, and is waited for', async () => {
    const lanes = new Lanes(2);
    const done: string[] = [];
    const gate = Promise.withResolvers<void>();
    lanes.add('running', async () => {
      await gate.promise;
      done.push('running');
      return 0;
    });
    lanes.add('running', async () => void done.push('behind it'));
    let tries = 0;
    lanes.add('resting', async () => {
      tries++;
      return 60_000;
    });
    await turn();
    lanes.clear();
    expect(lanes.weight).toBe(1);
    lanes.add('running', async () => void done.push('after it'));
    lanes.add('resting', async () => void done.push('instead'));
    await turn();
    expect(done).toEqual(['instead']);
    const idle = lanes.idle();
    gate.resolve();
    await idle;
    await lanes.below(1);
    expect({ done, tries }).toEqual({ done: ['instead', 'running', 'after it'], tries: 1 });
  });
});
