/** Retired phrases do not come back: the glossary is in vocabulary.ts. */
import { expect, test } from 'vitest';
import { allFindings, findingsIn } from './vocabulary.ts';

test('no file uses a retired phrase', () => {
  const uses = allFindings().map(({ file, line, phrase, say }) => `${file}:${line}: "${phrase}", say: ${say}`);
  expect(uses).toEqual([]);
});

test.each([
  { text: 'The object was let in.', reason: 'a phrase in prose' },
  { text: 'const takenBack = 1;', reason: 'a phrase in an identifier' },
  { text: 'It is told by the broker', reason: 'a single word' },
])('$reason is found', ({ text }) => {
  expect(findingsIn('x.ts', text)).toHaveLength(1);
});

test.each([
  { text: 'The object was admitted.', reason: "the field's word" },
  { text: 'let index = 0;', reason: 'the keyword of the language' },
])('$reason is not', ({ text }) => {
  expect(findingsIn('x.ts', text)).toEqual([]);
});
