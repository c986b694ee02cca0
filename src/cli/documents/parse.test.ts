/** How deep a document may be, and what it costs to find out. */
import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { MOST_LEVELS, parseYaml } from '../../runtime/internal.ts';
import { SourceDocument } from './document.ts';

const read = (text: string) => new SourceDocument('x.yaml', text, () => 0).read();

/** An anchor, so that the quick reader leaves it to the parser. */
const shapes = [
  { shape: 'lists in brackets', of: (levels: number) => `&a ${'['.repeat(levels)}${']'.repeat(levels)}` },
  { shape: 'maps in brackets', of: (levels: number) => `&a ${'{a: '.repeat(levels)}1${'}'.repeat(levels)}` },
  { shape: 'lists in a line', of: (levels: number) => `${'- '.repeat(levels)}&a 1` },
  {
    shape: 'maps in lines',
    of: (levels: number) =>
      `${Array.from({ length: levels }, (_, level) => `${' '.repeat(level)}a:`).join('\n')} &a 1\n`,
  },
];

describe.each(shapes)('$shape', ({ of }) => {
  test('of half the levels that are allowed are read', () => {
    expect(read(of(MOST_LEVELS / 2))).toHaveProperty('value');
  });

  test('more levels are reported, with the position of the first one too many', () => {
    const { problem } = read(of(MOST_LEVELS * 2)) as { problem: { line: number; column: number; message: string } };
    expect(problem.message).toContain('Nested too deeply: more than 500 levels');
    expect(Math.max(problem.line, problem.column)).toBeGreaterThanOrEqual(MOST_LEVELS);
  });
});

test.each([
  { reason: 'brackets in quotes', text: `a: &a "${'['.repeat(5000)}"\n` },
  { reason: 'brackets in a block of text', text: `a: &a |\n  ${'[{'.repeat(5000)}\n` },
  { reason: 'brackets in a comment', text: `a: &a 1 # ${'['.repeat(5000)}\n` },
  { reason: 'brackets in a plain word', text: `a: &a x${'['.repeat(5000)}\n` },
  { reason: 'brackets that are closed again', text: `a: &a [${'[{b: []}], '.repeat(5000)}]\n` },
  { reason: 'items one after the other', text: `a: &a\n${'- - 1\n'.repeat(5000)}` },
  { reason: 'dashes in a folded text', text: `a: &a >\n${'  - - - -\n'.repeat(1000)}` },
])('what only looks deep is read: $reason', ({ text }) => {
  expect(read(text)).toHaveProperty('value');
});

test('one document is wanted where one is read', () => {
  expect(parseYaml('a: [1]\n')).toEqual({ a: [1] });
  expect(() => parseYaml('a: 1\n---\nb: 1\n')).toThrow('several');
  expect(() => parseYaml('a: [')).toThrow();
});

test('three megabytes of levels are rejected in little memory', () => {
  const program = `
    import { parseSource } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)};
    for (const piece of ['[', '{a: ', '- ', '? ', 'a: ', '[{a: ']) {
      const manifests = { objects: [], problems: [] };
      parseSource({ file: 'x.yaml', text: piece.repeat(Math.floor(2_900_000 / piece.length)) }, manifests);
      for (const { line, message } of manifests.problems) console.log(piece, line, message);
    }`;
  // What was there before took more than 2 GB.
  const words = ['--max-old-space-size=64', '--input-type=module', '--eval', program];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  expect(stderr).toBe('');
  expect(stdout.trim().split('\n')).toHaveLength(6);
  for (const line of stdout.trim().split('\n')) expect(line).toMatch(/ 1 Nested too deeply/);
});
