/** Quoted texts whose later lines begin too far to the left: kubectl reads them. */
import { describe, expect, test } from 'vitest';
import { SourceDocument } from './document.ts';
import { indentedQuotes } from './quotes.ts';

const read = (text: string) => new SourceDocument('a.yaml', text, () => 0).read();

describe('are read as Go reads them', () => {
  test.each([
    { reason: 'as far as the key', text: 'a:\n  b: "one\n  two"\n  c: 1\n', value: { a: { b: 'one two', c: 1 } } },
    {
      reason: 'further left than the key',
      text: 'a:\n  b: "one\ntwo"\n  c: 1\n',
      value: { a: { b: 'one two', c: 1 } },
    },
    { reason: 'single quotes', text: "a:\n  b: 'it''s\n  \n  two'\n", value: { a: { b: "it's\ntwo" } } },
    { reason: 'an item', text: 'a:\n- "one\n  two\nthree"\n- 2\n', value: { a: ['one two three', 2] } },
    { reason: 'a field of an item', text: 'a:\n- b: "one\n  two"\n  c: 1\n', value: { a: [{ b: 'one two', c: 1 }] } },
    { reason: 'a quoted key', text: 'a:\n  "b": "one\n  two"\n', value: { a: { b: 'one two' } } },
    {
      reason: 'escapes',
      text: 'a:\n  b: "say \\"x\\" \\\n  and\\\\\n  \\ y"\n',
      value: { a: { b: 'say "x" and\\  y' } },
    },
    {
      reason: 'two of them',
      text: 'a:\n  b: "one\n  two"\n  c: "three\n  four"\n',
      value: { a: { b: 'one two', c: 'three four' } },
    },
    {
      reason: 'beside literal text that looks like one',
      text: 'a:\n  b: |\n    c: "one\n    two\n  d: "three\n  four"\n',
      value: { a: { b: 'c: "one\ntwo\n', d: 'three four' } },
    },
    {
      reason: 'beside an item of literal text',
      text: 'a:\n- |\n  c: "one\n- "three\n  four"\n- "five\n six"\n',
      value: { a: ['c: "one\n', 'three four', 'five six'] },
    },
  ])('$reason', ({ text, value }) => {
    expect(read(text)).toEqual({ value });
  });
});

test('what is after them is still at its place', () => {
  const document = new SourceDocument('a.yaml', 'a:\n  b: "one\n  two"\n  c: abc\n', () => 0);
  expect(document.place('a.c')).toEqual({ line: 4, column: 3 });
  expect(document.placeInText('a.c', { line: 1, column: 2 })).toEqual({ line: 4, column: 7 });
});

test.each([
  { reason: 'a text that never ends', text: 'a:\n  b: "one\n  two\n' },
  { reason: 'a list that never ends', text: 'a: [1\n' },
])('a slip stays one: $reason', ({ text }) => {
  expect(read(text)).toHaveProperty('problem.code', 'yaml');
  expect(indentedQuotes(text)).toBe(text);
});
