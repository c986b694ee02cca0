import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DelayHeap } from './delay-heap.ts';

it('returns keys by their earliest time, in whatever order they were pushed', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 1000 }))), (pushes) => {
      const heap = new DelayHeap();
      const earliest = new Map<string, number>();
      for (const [name, due] of pushes) {
        heap.push(`k${name}`, due);
        earliest.set(`k${name}`, Math.min(due, earliest.get(`k${name}`) ?? Number.POSITIVE_INFINITY));
      }
      expect(heap.size).toBe(earliest.size);
      const popped: string[] = [];
      for (let due = heap.nextDue(); due !== undefined; due = heap.nextDue()) {
        expect(heap.popDue(due - 1)).toBeUndefined();
        const key = heap.popDue(due) ?? '';
        expect(due).toBe(earliest.get(key));
        popped.push(key);
      }
      expect(new Set(popped)).toEqual(new Set(earliest.keys()));
      expect(popped).toHaveLength(earliest.size);
    }),
  );
});
