import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { YAMLParseError } from 'yaml';
import { SourceDocument } from '../../../src/cli/documents/document.ts';
import { readQuickly, unusual } from '../../../src/cli/documents/quick.ts';
import { documentsOf } from '../../../src/cli/documents/split.ts';
import { parseYaml, TooDeep } from '../../../src/runtime/internal.ts';
import { ensure } from '../engine/explore.ts';
import type { Target } from '../engine/target.ts';

const root = join(import.meta.dirname, '..', '..', '..');

export const target: Target = {
  about: 'YAML: the quick reader against the full one, and the splitter',
  modules: ['src/cli/documents/', 'src/runtime/yaml/'],
  words: [
    '---\n',
    '...\n',
    ': ',
    '- ',
    '  ',
    '\n',
    '\n  ',
    '\n- ',
    '|',
    '|-',
    '>',
    '&a',
    '*a',
    '<<',
    '!!str',
    '? ',
    '#',
    'null',
    '~',
    'yes',
    'true',
    '0o7',
    '0644',
    '1.0',
    '.inf',
    '2026-01-01',
    '{}',
    '[]',
    '"\\u00e9"',
    "''",
    '%YAML 1.2',
    '\t',
  ],
  seeds: () => [
    ...[
      'examples/quickstart/team.yaml',
      'examples/quickstart/policy.yaml',
      'docs/../.github/workflows/ci.yaml',
    ].flatMap((file) => read(file)),
    'a:\n- 1\n- b: 2\n  c: [x, {y: "z"}]\nd:\n  - e\n',
    `a: "yes"\nb: 'it''s'\nc: "\\n\\u00e9"\nd: |\n  text\n\n   more\ne: |-\n  x\n`,
    '{\n  "a": [1, {"b": null}],\n  "c": "x: y"\n}\n',
    'a: &x {b: 1}\nc: *x\nd: !!str 1\ne: >\n  folded\n  text\n<<: {f: 2}\n',
    'a: 1\n---\n# c\nb: http://x:80/y # d\n...\n---\nc: ~\n',
    'a:\nb:\n  -\n  - c:\n  -Xmx: 1\n? d\n: e\n',
  ],
  run(input) {
    const text = input.toString('utf8');
    try {
      parseYaml(text);
    } catch (error) {
      const isKnown =
        error instanceof TooDeep ||
        error instanceof YAMLParseError ||
        /single document|alias|Merge sources|A key must|keys must be unique/i.test((error as Error).message);
      if (!isKnown) throw error;
    }
    for (const document of documentsOf('x.yaml', text)) {
      const quick = readQuickly(document.text);
      const read = document.read();
      if ('problem' in read)
        ensure(read.problem.message !== '' && (read.problem.line ?? 0) > 0, 'a problem has a message and a line');
      document.place('a.b');
      document.placeInText('a', { line: 1, column: 1 });
      if (quick === unusual) continue;
      const full = readFully(document.text);
      ensure('value' in full, 'the quick reader reads only what the full one accepts', () => JSON.stringify(full));
      ensure(
        isDeepStrictEqual(quick, full.value ?? null),
        'both readers agree',
        () => `${JSON.stringify(quick)} / ${JSON.stringify(full.value)}`,
      );
    }
  },
};

/** The control character in a comment keeps the quick reader out. */
const readFully = (text: string) =>
  new SourceDocument('x.yaml', `--- # \u0085\n${text.replace(/^---[^\n]*(?:\n|$)/, '')}`, () => 0).read();

function read(file: string): string[] {
  try {
    return [readFileSync(join(root, file), 'utf8').slice(0, 3000)];
  } catch {
    return [];
  }
}
