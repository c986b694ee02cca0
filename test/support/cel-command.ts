/** Runs the commands of `kidp cel` in the process of the test: files and words in, exit code and texts out. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { afterAll, beforeAll } from 'vitest';
import type { CelOptions, CelStreams } from '../../src/cli/cel/session.ts';

const widget = (spec: string) => `
apiVersion: example.com/v1
kind: Widget
metadata: {name: small, namespace: shop, creationTimestamp: null, labels: {tier: front}}
spec: ${spec}
`;
const files: Record<string, string> = {
  'widget.yaml': widget(
    '{replicas: 3, big: 9007199254740993, huge: 99999999999999999999, when: "2024-01-02T03:04:05Z"}',
  ),
  'old.yaml': widget('{replicas: 2}'),
  'widget.json': '{"spec": {"ratio": 1.0, "replicas": 1}}',
  'flow.yaml': '{spec: {replicas: 7}}',
  'wrong.yaml': widget('{replicas: many}'),
  'two.yaml': 'a: 1\n---\nb: 2\n',
  'broken.yaml': 'a: [\n',
  'empty.yaml': '# nothing\n',
  'alias.yaml': 'a: *nowhere\n',
  'no-versions.yaml': 'kind: CustomResourceDefinition\nspec: {names: {kind: Widget}}\n',
  'crd.yaml': `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              replicas: {type: integer}
              big: {type: integer}
              when: {type: string, format: date-time}
              names: {type: array, maxItems: 5, items: {type: string, maxLength: 10}}
`,
};
let folder: string;

/** Writes the files of the tests before, and removes them after. */
export function withCelFiles(): void {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'kidp-cel-'));
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  });
  afterAll(() => rmSync(folder, { recursive: true }));
}

type Command<Expression> = (expression: Expression, options: CelOptions, streams: CelStreams) => Promise<number>;

/** Runs a command of `kidp cel` on those files, which options name without a path. */
export async function runCel<Expression>(
  command: Command<Expression>,
  expression: Expression,
  options: Partial<CelOptions> = {},
  input: readonly (string | Buffer)[] = [],
) {
  let out = '';
  let err = '';
  const paths = Object.entries(options)
    .filter(([name, value]) => /^(filename|old|params|schema)$/.test(name) && value !== '-')
    .map(([name, value]) => [name, join(folder, String(value))]);
  const streams = {
    in: Readable.from(input),
    out: new Writable({
      decodeStrings: false,
      write(text, _, done) {
        out += text;
        done();
      },
    }),
    err: { write: (text: string) => (err += text) },
  };
  const all: CelOptions = { environment: 'kubernetes-1.36', output: 'text', ...options, ...Object.fromEntries(paths) };
  const code = await command(expression, all, streams);
  return { code, out, err };
}
