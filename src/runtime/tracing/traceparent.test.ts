import { expect, test } from 'vitest';
import { childTraceparent, newTraceparent, parseTraceparent } from './traceparent.ts';

const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = '00f067aa0ba902b7';

test.each([
  { text: `00-${trace}-${parent}-01`, sampled: true, reason: 'the example of the standard' },
  { text: `00-${trace}-${parent}-00`, sampled: false, reason: 'not sampled' },
  { text: `00-${trace}-${parent}-03`, sampled: true, reason: 'other flags are left alone' },
  { text: `cc-${trace}-${parent}-01-what-the-future-brings`, sampled: true, reason: 'a later version may say more' },
])('$text: $reason', ({ text, sampled }) => {
  expect(parseTraceparent(text)).toEqual({ traceId: trace, parentId: parent, sampled });
});

test.each([
  { text: undefined, reason: 'none' },
  { text: '', reason: 'empty' },
  { text: `00-${trace}-${parent}-01-more`, reason: 'this version says no more' },
  { text: `ff-${trace}-${parent}-01`, reason: 'a version that is none' },
  { text: `00-${'0'.repeat(32)}-${parent}-01`, reason: 'no trace' },
  { text: `00-${trace}-${'0'.repeat(16)}-01`, reason: 'no parent' },
  { text: `00-${trace.toUpperCase()}-${parent}-01`, reason: 'upper case' },
  { text: `00-${trace}-${parent}-1`, reason: 'too short' },
  { text: `00-${trace}-${parent}-01\n`, reason: 'a line too much' },
])('$text is none: $reason', ({ text }) => {
  expect(parseTraceparent(text)).toBeUndefined();
  expect(parseTraceparent(childTraceparent(text))?.traceId).not.toBe(trace);
});

test('a child is of the same trace, with a parent of its own', () => {
  const first = newTraceparent();
  const [before, after] = [parseTraceparent(first), parseTraceparent(childTraceparent(first))];
  expect(after).toMatchObject({ traceId: before?.traceId, sampled: true });
  expect(after?.parentId).not.toBe(before?.parentId);
});
