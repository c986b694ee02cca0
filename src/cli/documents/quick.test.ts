import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { SourceDocument } from './document.ts';
import { readQuickly, unusual } from './quick.ts';
import { documentsOf } from './split.ts';

/** Reads the same text with the full parser; `unusual` if it rejects the text. The control character keeps the quick reader out. */
function readFully(text: string): unknown {
  const read = new SourceDocument('x.yaml', `--- # \u0085\n${text.replace(/^---\n/, '')}`, () => 0).read();
  return 'problem' in read ? unusual : (read.value ?? null);
}

describe('reads common YAML', () => {
  const rows: { reason: string; text: string; value: unknown }[] = [
    {
      reason: 'maps and lists, indented or not',
      text: 'a:\n- 1\n- b: 2\n  c: [x]\nd:\n  - e\n',
      value: { a: [1, { b: 2, c: ['x'] }], d: ['e'] },
    },
    {
      reason: 'quoted words stay strings',
      text: `a: "yes"\nb: 'it''s'\nc: "\\n\\u00e9"\nd: "a\\_b\\\\_"\n`,
      value: { a: 'yes', b: "it's", c: '\né', d: 'a\u00a0b\\_' },
    },
    {
      reason: 'plain words are converted as Kubernetes does',
      text: 'a: yes\nb: 0644\nc: ~\nd: 1.50\ne: 2024-01-01\n',
      value: { a: true, b: 420, c: null, d: 1.5, e: '2024-01-01' },
    },
    { reason: 'literal blocks', text: 'a: |\n  x\n\n   y\nb: |-\n  z\n# end\n', value: { a: 'x\n\n y\n', b: 'z' } },
    {
      reason: 'extra spaces at the end of a literal block are text',
      text: 'a: |-\n  x\n   \n\nb: |\n  y\n    \nc: 1\n',
      value: { a: 'x\n ', b: 'y\n  \n', c: 1 },
    },
    { reason: 'a dash before a letter begins a key', text: 'a:\n  -Xmx: 1\n', value: { a: { '-Xmx': 1 } } },
    { reason: 'comments and blank lines', text: '# top\na: 1 # one\n\n# between\nb: x#y\n', value: { a: 1, b: 'x#y' } },
    {
      reason: 'JSON over several lines',
      text: '{\n  "a": [1, {"b": null}],\n  "c": "x: y"\n}\n',
      value: { a: [1, { b: null }], c: 'x: y' },
    },
    { reason: 'a missing value is null', text: 'a:\nb:\n  -\n  - c:\n', value: { a: null, b: [null, { c: null }] } },
    {
      reason: 'a URL is one word',
      text: 'a: http://x:80/y\nb: [http://x:80]\n',
      value: { a: 'http://x:80/y', b: ['http://x:80'] },
    },
    { reason: 'an empty document', text: '---\n# nothing\n', value: null },
  ];
  test.each(rows)('$reason', ({ text, value }) => {
    expect(readQuickly(text)).toEqual(value);
    expect(readFully(text)).toEqual(value);
  });
});

describe('leaves everything else to the full parser', () => {
  const rows: { reason: string; text: string }[] = [
    { reason: 'a duplicate key', text: 'a: 1\na: 2\n' },
    { reason: 'a duplicate key in a flow map', text: 'a: {b: 1, b: 2}\n' },
    { reason: 'anchors', text: 'a: &x 1\nb: *x\n' },
    { reason: 'tags', text: 'a: !!str 1\n' },
    { reason: 'folded text', text: 'a: >\n  b\n' },
    { reason: 'a scalar over two lines', text: 'a: b\n  c\n' },
    { reason: 'a map inside a scalar', text: 'a: b: c\n' },
    { reason: 'tabs', text: 'a:\tb\n' },
    { reason: 'a boolean key', text: 'y: 1\n' },
    { reason: 'merge keys', text: '<<: {a: 1}\n' },
    { reason: 'wrong indentation', text: 'a:\n   b: 1\n  c: 2\n' },
    { reason: 'an unclosed bracket', text: 'a: [1\n' },
    { reason: 'a number that JSON cannot represent', text: 'a: .inf\n' },
    { reason: 'two documents in one text', text: 'a: 1\n...\nb: 2\n' },
    { reason: 'a __proto__ key', text: '__proto__: {a: 1}\n' },
  ];
  test.each(rows)('$reason', ({ text }) => {
    expect(readQuickly(text)).toBe(unusual);
  });
});

describe('never reads a text differently than the full parser', () => {
  test('generated data, written in every style', () => {
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(
        'yes',
        '0644',
        '1.0',
        '~',
        'a: b',
        '- x',
        '# c',
        'x #',
        ' lead',
        'trail ',
        'two\nlines\n',
        '\n\nx',
        '|',
        "it's",
        'say "x"',
        '1e3',
        '0x1f',
        '',
      ),
    );
    const key = fc.oneof(text, fc.constantFrom('a', 'b', 'app.kubernetes.io/name', 'n', '1', 'on'));
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(
          text,
          fc.integer(),
          fc.double({ noNaN: true, noDefaultInfinity: true }),
          fc.boolean(),
          fc.constant(null),
        ),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4 }),
      ),
    }));
    const style = fc.record({
      indent: fc.constantFrom(1, 2, 4),
      indentSeq: fc.boolean(),
      singleQuote: fc.constantFrom(true, false, null),
      collectionStyle: fc.constantFrom('any' as const, 'block' as const, 'flow' as const),
      blockQuote: fc.constantFrom(true, 'literal' as const, false),
      lineWidth: fc.constantFrom(0, 80),
    });
    let quick = 0;
    fc.assert(
      fc.property(value, style, (data, options) => {
        if (agrees(stringify(data, options))) quick++;
      }),
      { numRuns: 1500 },
    );
    expect(quick).toBeGreaterThan(300);
  });

  test('generated lines in any order', () => {
    const word = fc.constantFrom(
      'a',
      'b',
      '1',
      'yes',
      '"q"',
      "'s'",
      '[x, 1]',
      '{k: v}',
      '{}',
      '[',
      '}',
      'x # c',
      '#c',
      '|',
      '|-',
      '>',
      '- y',
      '-',
      '&n x',
      '*n',
      '!t',
      'http://u:1',
      'p: q',
      '? z',
      ':',
      '"un',
      '',
      '~',
      '0x1',
      '--- x',
    );
    const line = fc
      .tuple(
        fc.constantFrom('', '', ' ', '  ', '    '),
        fc.constantFrom('', 'a:', 'b:', 'c-d/e.f: ', '"k": ', '- ', '- a: ', '- - ', '# ', '-', '-X: ', '   '),
        fc.constantFrom('', ' '),
        word,
      )
      .map((parts) => parts.join(''));
    let quick = 0;
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 6 }), fc.boolean(), (lines, newline) => {
        if (agrees(lines.join('\n') + (newline ? '\n' : ''))) quick++;
      }),
      { numRuns: 12_000 },
    );
    expect(quick).toBeGreaterThan(100);
  });

  test.each([
    { folder: 'manifests', least: 30 },
    { folder: 'policies', least: 1 },
    { folder: 'examples', least: 10 },
    { folder: 'docs', least: 10 },
  ])('the YAML of $folder', ({ folder, least }) => {
    const documents = textsIn(folder).flatMap((text) => documentsOf('x.yaml', text));
    expect(documents.filter(({ text }) => agrees(text.replace(/^---(?=[ \n])[^\n]*\n/, ''))).length).toBeGreaterThan(
      least,
    );
  });
});

const root = join(import.meta.dirname, '..', '..', '..');

/** The YAML and JSON files of a folder, and the YAML snippets of its Markdown files. */
function textsIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    if (!/\.(ya?ml|json|md)$/.test(name)) return [];
    const text = readFileSync(join(root, folder, name), 'utf8');
    return name.endsWith('.md')
      ? [...text.matchAll(/^```ya?ml\n(.*?)^```/gms)].map(([, snippet = '']) => snippet)
      : [text];
  });
}

/** Compares the two readers; returns whether the quick reader has read the text at all. */
function agrees(text: string): boolean {
  // Callers split a file into documents first.
  if (/^(?:---|\.\.\.)/m.test(text)) return false;
  const quick = readQuickly(text);
  if (quick === unusual) return false;
  expect(quick, JSON.stringify(text)).toStrictEqual(readFully(text));
  return true;
}
