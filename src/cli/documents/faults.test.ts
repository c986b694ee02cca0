import { describe, expect, test } from 'vitest';
import { SourceDocument } from './document.ts';

const read = (text: string) => new SourceDocument('x.yaml', text, () => 0).read();

describe('documents that take too long to parse, or are invalid', () => {
  const aliases = (count: number) => Array.from({ length: count }, (_, index) => `k${index}: *a`).join('\n');
  const nested = (levels: number) =>
    `${Array.from({ length: levels }, (_, level) => `${' '.repeat(level)}a:`).join('\n')} 1\n`;
  const bomb = ['a: &a [x, x]', ...'bcdefghij'].map((key, index, all) =>
    index === 0 ? key : `${key}: &${key} [${Array(9).fill(`*${index === 1 ? 'a' : all[index - 1]}`)}]`,
  );
  test.each([
    { reason: 'a duplicate key', text: 'a: !!str 1\nb: 2\na: 3\n', line: 3, message: /unique/ },
    { reason: 'a duplicate key in a flow map', text: 'a: !!str 1\nb: {c: 1, c: 2}\n', line: 2, message: /unique/ },
    { reason: 'an alias within itself', text: 'a: 1\nb: &b\n  c: [*b]\n', line: 3, message: /\*b is an alias/ },
    {
      reason: 'too many aliases',
      text: `a: &a x\n${aliases(5000)}\n`,
      line: 1002,
      message: /more than 1000 aliases/,
    },
    { reason: 'aliases of aliases', text: `${bomb.join('\n')}\n`, line: 1, message: /Excessive alias count/ },
    { reason: 'too many levels', text: nested(3000), line: 501, message: /Nested too deeply/ },
    { reason: 'too many brackets', text: '['.repeat(20_000), line: 1, message: /Nested too deeply/ },
    { reason: 'keys of keys', text: `${'? '.repeat(400)}x\n`, line: 1, message: /A key must be a scalar/ },
    {
      reason: 'a map as a key, as in a template',
      text: 'a: 1\nb: {{ c }}\n',
      line: 2,
      message: /A key must be a scalar/,
    },
  ])('$reason', ({ text, line, message }) => {
    expect(read(text)).toEqual({
      problem: {
        code: 'yaml',
        file: 'x.yaml',
        line,
        column: expect.any(Number),
        message: expect.stringMatching(message),
      },
    });
  });

  test('100,000 keys that need the full parser are read in linear time', () => {
    const keys = Array.from({ length: 100_000 }, (_, index) => `k${index}: 1`);
    const answer = read(`t: !!str 1\n${keys.join('\n')}\n`);
    expect('value' in answer && Object.keys(answer.value as object).length).toBe(100_001);
  });
});
