/** Tests quoted scalars whose continuation lines have too little indentation, which kubectl accepts. */
import { describe, expect, test } from 'vitest';
import { SourceDocument } from './document.ts';
import { indentedQuotes } from './quotes.ts';

const read = (text: string) => new SourceDocument('a.yaml', text, () => 0).read();

describe('quoted scalars are read the way Go reads them', () => {
  test.each([
    {
      reason: 'at the column of the key',
      text: 'a:\n  b: "one\n  two"\n  c: 1\n',
      value: { a: { b: 'one two', c: 1 } },
    },
    {
      reason: 'left of the key',
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
      reason: 'beside a block scalar that looks like one',
      text: 'a:\n  b: |\n    c: "one\n    two\n  d: "three\n  four"\n',
      value: { a: { b: 'c: "one\ntwo\n', d: 'three four' } },
    },
    {
      reason: 'beside an item that is a block scalar',
      text: 'a:\n- |\n  c: "one\n- "three\n  four"\n- "five\n six"\n',
      value: { a: ['c: "one\n', 'three four', 'five six'] },
    },
  ])('$reason', ({ text, value }) => {
    expect(read(text)).toEqual({ value });
  });
});

test('positions after them do not change', () => {
  const document = new SourceDocument('a.yaml', 'a:\n  b: "one\n  two"\n  c: abc\n', () => 0);
  expect(document.place('a.c')).toEqual({ line: 4, column: 3 });
  expect(document.placeInText('a.c', { line: 1, column: 2 })).toEqual({ line: 4, column: 7 });
});

test.each([
  { reason: 'a text that never ends', text: 'a:\n  b: "one\n  two\n' },
  { reason: 'a list that never ends', text: 'a: [1\n' },
])('invalid YAML stays invalid: $reason', ({ text }) => {
  expect(read(text)).toHaveProperty('problem.code', 'yaml');
  expect(indentedQuotes(text)).toBe(text);
});
