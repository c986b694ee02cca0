import { expect, test } from 'vitest';
import { inSlices } from './slices.ts';

function* steps(count: number, seen: number[] = []) {
  for (let step = 0; step < count; step += 1) {
    const until = performance.now() + 1;
    while (performance.now() < until);
    seen.push(step);
    yield undefined;
  }
  return 'done';
}

test('the event loop runs between slices', async () => {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  expect(await inSlices(steps(200))).toBe('done');
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
});

test('steps that run at the same time share a slice', async () => {
  const seen: number[] = [];
  const results = await Promise.all([inSlices(steps(50, seen)), inSlices(steps(50, seen))]);
  expect(results).toEqual(['done', 'done']);
  // Neither has waited for the end of the other.
  expect(seen.indexOf(49)).toBeGreaterThan(60);
});

test('no step runs after the deadline', async () => {
  const seen: number[] = [];
  expect(await inSlices(steps(10, seen), Date.now() - 1)).toBeUndefined();
  expect(await inSlices(steps(100_000, seen), Date.now() + 50)).toBeUndefined();
  expect(seen.length).toBeLessThan(100_000);
});
