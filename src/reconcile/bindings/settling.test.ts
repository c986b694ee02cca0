import { expect, test } from 'vitest';
import { FakeClock } from '../../runtime/testing/index.ts';
import { Settling } from './settling.ts';

test('changes of an object are collected from the first one, and applied once', async () => {
  const clock = new FakeClock();
  const settling = new Settling(clock, 1_000);
  expect(settling.wait('a', false)).toBe(0);
  expect(settling.wait('a', true)).toBe(1_000);
  await clock.advance(600);
  expect(settling.wait('a', true)).toBe(400);
  expect(settling.wait('b', true)).toBe(1_000);
  await clock.advance(400);
  expect(settling.wait('a', true)).toBe(0);
  expect(settling.wait('a', true)).toBe(1_000);
});

test('a change that was undone is forgotten', async () => {
  const clock = new FakeClock();
  const settling = new Settling(clock, 1_000);
  settling.wait('a', true);
  await clock.advance(900);
  expect(settling.wait('a', false)).toBe(0);
  expect(settling.wait('a', true)).toBe(1_000);
});
