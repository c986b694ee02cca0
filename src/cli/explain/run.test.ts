import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ExplainOptions, explain } from './run.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'kidp-explain-'));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(directory, name), text);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const FILES = {
  'policy.yaml': `apiVersion: platform.company.com/v1
kind: Policy
metadata: {name: replicas}
spec:
  selector:
    resourceTypes: [apps/v1/Deployment]
    matchLabels: {tier: web}
  exclude: {namespaces: [sandbox]}
  matchConditions:
  - {name: not-frozen, expression: "!has(metadata.annotations)"}
  variables:
  - {name: count, expression: "spec.replicas"}
  sensitivePaths: [spec.token]
  rules:
  - {name: few, expression: "variables.count <= 5", message: Run at most 5 copies.}
  - {name: grows, expression: "oldObject == null || oldObject.spec.replicas <= spec.replicas", enforcement: Warn}
  - {name: who, expression: "request.userInfo.username != 'eve'"}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: "has(spec.paused) ? [] : [JSONPatch{op: 'add', path: '/spec/paused', value: false}]"
`,
  'object.yaml': deployment('shop', '{tier: web}'),
  'old.yaml': deployment('shop', '{tier: web}').replace('replicas: 7', 'replicas: 9'),
  'others.yaml': [
    deployment('shop', '{tier: api}'),
    deployment('sandbox', '{tier: web}'),
    deployment('frozen', '{tier: web}, annotations: {frozen: "yes"}'),
  ].join('---\n'),
};

function deployment(namespace: string, labels: string): string {
  return `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: ${namespace}, labels: ${labels}}
spec: {replicas: 7, token: hunter2}
`;
}

async function run(options: Partial<ExplainOptions> & { files?: string[] } = {}) {
  const { files = ['policy.yaml', 'object.yaml'], ...rest } = options;
  let out = '';
  const streams = {
    in: Readable.from([]),
    out: { write: (each: string) => (out += each) },
    err: { write: () => undefined },
  };
  const filename = files.map((file) => join(directory, file));
  const code = await explain({ output: 'text', filename, ...rest }, streams);
  expect(code).toBe(0);
  return out.replaceAll(`${directory}/`, '');
}

test('shows what matched, variables, and each rule with the values of its parts', async () => {
  const out = await run({ rule: 'few' });
  expect(out).toContain('Deployment shop/web (object.yaml:1)\n');
  expect(out).toContain('  changed before it is judged\n    add /spec/paused\n');
  expect(out).toContain('  Policy replicas: matches\n');
  expect(out).toContain('labels: yes');
  expect(out).toContain('    condition not-frozen is true\n');
  expect(out).toContain('    variables.count is 7\n');
  expect(out).toContain('    rule few: denied: spec.replicas is 7, want at most 5. Run at most 5 copies.\n');
  expect(out).toMatch(/ {6}variables\.count <= 5\n {6}\| +\| +\|\n {6}\(hidden\) +7 +false\n/);
  expect(out).not.toContain('grows');
});

test('says what is not known instead of guessing it', async () => {
  const out = await run();
  expect(out).toContain('rule grows: not judged: needs a request');
  expect(out).toContain('rule who: not judged: needs a request: user info');
});

test('takes the old object and the user where they are given', async () => {
  const out = await run({ old: [join(directory, 'old.yaml')], user: 'eve' });
  expect(out).toContain('rule grows: warning: ');
  expect(out).toContain('rule who: denied: ');
});

test('says which field did not match, which exclusion, which condition', async () => {
  const out = await run({ files: ['policy.yaml', 'others.yaml'] });
  expect(out.split('\n').filter((line) => line.startsWith('  Policy'))).toEqual([
    '  Policy replicas: does not match: labels',
    '  Policy replicas: does not match: excluded by namespaces',
    '  Policy replicas: does not match: the condition not-frozen is false',
  ]);
});

test('what is sensitive is not shown, in no form', async () => {
  expect(await run()).not.toContain('hunter2');
  expect(await run({ output: 'json' })).not.toContain('hunter2');
});

test('json has the whole explanation', async () => {
  expect(JSON.parse(await run({ output: 'json', policy: 'replicas' }))).toMatchObject([
    {
      resource: { kind: 'Deployment', name: 'web', file: 'object.yaml' },
      changes: [{ op: 'add', path: '/spec/paused' }],
      policies: [{ policy: 'replicas', matched: 'yes', rules: [{ name: 'few', shown: 'false' }, {}, {}] }],
    },
  ]);
});

describe('bad input', () => {
  test.each([
    { reason: 'no policy', options: { files: ['object.yaml'] }, says: 'no policy' },
    { reason: 'no object', options: { files: ['policy.yaml'] }, says: 'no object' },
    { reason: 'a rule that nothing has', options: { rule: 'fw' }, says: 'did you mean few?' },
    { reason: 'a policy that is not there', options: { policy: 'replica' }, says: 'did you mean replicas?' },
  ])('$reason', async ({ options, says }) => {
    await expect(run(options)).rejects.toThrow(says);
  });
});
