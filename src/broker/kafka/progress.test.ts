import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PartitionProgress } from './progress.ts';

describe('PartitionProgress', () => {
  it('never passes what is not done, and reaches the end when all is', () => {
    // Offsets rise but need not follow one another: Kafka leaves gaps where it compacts or marks transactions.
    const gaps = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 30 });
    const cases = gaps.chain((steps) => {
      const offsets = steps.map((_, index) => BigInt(steps.slice(0, index + 1).reduce((sum, step) => sum + step, 0)));
      return fc.record({
        offsets: fc.constant(offsets),
        order: fc.shuffledSubarray(offsets, { minLength: offsets.length }),
      });
    });
    fc.assert(
      fc.property(cases, ({ offsets, order }) => {
        const progress = new PartitionProgress();
        for (const offset of offsets) progress.begin(offset);
        expect(progress.position).toBeUndefined();
        const done = new Set<bigint>();
        for (const offset of order) {
          progress.finish(offset);
          done.add(offset);
          const undone = offsets.find((each) => !done.has(each));
          const end = (offsets.at(-1) ?? 0n) + 1n;
          expect(progress.position).toBe(undone === offsets[0] ? undefined : (undone ?? end));
          expect(progress.size).toBe(offsets.length - done.size);
        }
        expect(progress.position).toBe((offsets.at(-1) ?? 0n) + 1n);
      }),
    );
  });

  it('keeps nothing of what was done behind one message that is not', () => {
    const progress = new PartitionProgress();
    progress.begin(0n);
    for (let offset = 1n; offset <= 1000n; offset++) {
      progress.begin(offset);
      progress.finish(offset);
    }
    expect({ size: progress.size, position: progress.position }).toEqual({ size: 1, position: undefined });
    progress.finish(0n);
    expect({ size: progress.size, position: progress.position }).toEqual({ size: 0, position: 1001n });
  });
});
