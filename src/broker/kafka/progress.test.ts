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
          const before = offsets.filter((each) => undone === undefined || each < undone).at(-1);
          expect(progress.position).toBe(before === undefined ? undefined : before + 1n);
        }
        expect(progress.position).toBe((offsets.at(-1) ?? 0n) + 1n);
      }),
    );
  });
});
