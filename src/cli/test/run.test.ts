import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { test as runTest, type TestOptions } from './run.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'kidp-test-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const POLICY = `apiVersion: platform.company.com/v1
kind: Policy
metadata:
  name: require-backup
spec:
  selector:
    resourceTypes: [Database]
    matchLabels: {environment: production}
  rules:
  - name: require-backup
    expression: has(spec.backup) && spec.backup.enabled
    message: Set spec.backup.enabled to true.
  tests:
  - name: with a backup
    object:
      apiVersion: platform.company.com/v1
      kind: Database
      metadata: {name: users, labels: {environment: production}}
      spec: {backup: {enabled: true}}
    expect: {allowed: true}
  - name: without
    object:
      apiVersion: platform.company.com/v1
      kind: Database
      metadata: {name: users, labels: {environment: production}}
      spec: {}
    expect: {allowed: false, message: Set spec.backup}
`;

async function run(text: string, options: Partial<TestOptions> = {}) {
  const file = join(directory, 'policy.yaml');
  writeFileSync(file, text);
  let [out, err] = ['', ''];
  const streams = {
    in: Readable.from([]),
    out: { write: (each: string) => (out += each) },
    err: { write: (each: string) => (err += each) },
  };
  const code = await runTest({ paths: [file], output: 'text', ...options }, streams);
  return { code, out: out.replaceAll(directory, ''), err: err.replaceAll(directory, '') };
}

test('tests that pass', async () => {
  const { code, out } = await run(POLICY);
  expect(out).toBe(' ok  require-backup: 2 of 2 tests passed\n\n1 policy, 2 tests: 2 passed, 0 failed\n');
  expect(code).toBe(0);
});

test('a test that fails shows what came instead, with its place', async () => {
  const { code, out } = await run(POLICY.replace('allowed: true', 'allowed: false, message: "no"'));
  expect(out).toContain('FAIL require-backup: 1 of 2 tests passed\n       /policy.yaml:14:5: with a backup\n');
  expect(out).toContain('         allowed: expected false, got true\n');
  expect(code).toBe(1);
});

test('coverage names what no test reaches, with its place', async () => {
  const { code, out } = await run(POLICY, { coverage: true });
  expect(out).toContain('require-backup: 2 of 2 tests passed, coverage 75 %');
  expect(out).toContain('/policy.yaml:11:37: spec.backup.enabled was never false');
  expect(out).toContain('rules seen both ways: 1 of 1; parts of expressions reached: 3 of 4 (75 %)');
  expect(code).toBe(0);
});

test('a rule that never fails is named', async () => {
  const { out } = await run(POLICY.replace(/ {2}- name: without[\s\S]*$/, ''), { coverage: true });
  expect(out).toContain('/policy.yaml:10:5: rule require-backup was never seen to fail');
});

describe('coverage below what is wanted fails', () => {
  test.each([
    { minCoverage: 75, code: 0 },
    { minCoverage: 76, code: 1 },
  ])('$minCoverage %', async ({ minCoverage, code }) => {
    expect((await run(POLICY, { minCoverage })).code).toBe(code);
  });

  test('and a policy without tests reaches nothing', async () => {
    const { code, out } = await run(POLICY.replace(/ {2}tests:[\s\S]*$/, ''), { minCoverage: 1 });
    expect(out).toContain('FAIL require-backup: no tests, coverage 0 % where 1 % is wanted');
    expect(code).toBe(1);
  });
});

test('an expression that does not fit the schema fails with the nearest field', async () => {
  const { code, out } = await run(POLICY.replaceAll('spec.backup', 'spec.backups'));
  expect(out).toContain(
    "/policy.yaml:11:42: error: spec.rules[0].expression:1:26: undefined field 'backups', did you mean 'backup'?",
  );
  expect(code).toBe(1);
});

test('definitions among the files are schemas too', async () => {
  const definition = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`;
  const policy = `apiVersion: platform.company.com/v1
kind: Policy
metadata: {name: p}
spec:
  selector: {resourceTypes: [example.com/v1/Widget]}
  rules:
  - {name: r, expression: "spec.sizes > 1"}
`;
  expect((await run(policy)).out).toContain(
    'warning: spec.selector.resourceTypes[0]: kind example.com/v1/Widget was not found',
  );
  expect((await run(policy + definition)).out).toContain("did you mean 'size'?");
});

describe('other outputs', () => {
  test('json', async () => {
    const { out } = await run(POLICY, { output: 'json' });
    expect(JSON.parse(out)).toMatchObject([
      {
        policy: 'require-backup',
        file: '/policy.yaml',
        line: 4,
        tests: [
          { name: 'with a backup', passed: true, line: 14 },
          { name: 'without', passed: true },
        ],
        rules: [{ rule: 'require-backup', held: true, violated: true }],
        coverage: {
          percent: 75,
          missing: [{ path: 'spec.rules[0].expression', never: 'false', line: 11, column: 37 }],
        },
      },
    ]);
  });

  test('junit', async () => {
    const { out } = await run(POLICY.replace('allowed: true', 'allowed: false'), { output: 'junit', minCoverage: 80 });
    expect(out).toContain('<testsuites name="kidp test" tests="4" failures="2">');
    expect(out).toContain('<failure message="allowed: expected false, got true">');
    expect(out).toContain('<failure message="75 %, at least 80 % is wanted">');
  });
});

describe('bad input', () => {
  test.each([
    { reason: 'no policy', text: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n', says: 'no Policy' },
    {
      reason: 'an expression that does not parse',
      text: POLICY.replace('has(spec.backup) &&', 'has(spec.backup &&'),
      says: /policy.yaml:11:\d+: /,
    },
    {
      reason: 'a field that there is not',
      text: POLICY.replace('message:', 'mesage:'),
      says: /policy.yaml:12:5: .*did you mean message\?/,
    },
    { reason: 'YAML that does not parse', text: 'a: [', says: /policy.yaml:1:/ },
  ])('$reason', async ({ text, says }) => {
    await expect(run(text)).rejects.toThrow(says);
  });
});

test('the starter policies pass, and their tests reach all of them', async () => {
  let out = '';
  const streams = {
    in: Readable.from([]),
    out: { write: (each: string) => (out += each) },
    err: { write: () => undefined },
  };
  const paths = [join(import.meta.dirname, '..', '..', '..', 'policies')];
  expect(await runTest({ paths, output: 'json', minCoverage: 100 }, streams)).toBe(0);
  const tested = JSON.parse(out) as {
    policy: string;
    issues: unknown[];
    rules: { held: boolean; violated: boolean }[];
  }[];
  expect(tested.length).toBeGreaterThan(25);
  expect(tested.flatMap(({ issues }) => issues)).toEqual([]);
  expect(tested.flatMap(({ rules }) => rules).filter(({ held, violated }) => !held || !violated)).toEqual([]);
});

test('the policies of the guide pass their tests', async () => {
  const guide = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'policies.md'), 'utf8');
  const policies = [...guide.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text]) => text);
  expect(policies.length).toBeGreaterThan(1);
  const { code, out } = await run(policies.join('---\n'), { coverage: true });
  expect(out).toContain('4 passed, 0 failed');
  expect(code).toBe(0);
});

describe('policies of Kubernetes itself carry no tests', () => {
  const native = (kind: string) => `apiVersion: admissionregistration.k8s.io/v1
kind: ${kind}
metadata: {name: native}
spec: {}
`;
  const words = /policy\.yaml:2:1: ValidatingAdmissionPolicy native is not tested: only a Policy .* carries tests/;

  test('alone they are bad input', async () => {
    const both = `${native('ValidatingAdmissionPolicy')}---\n${native('ValidatingAdmissionPolicyBinding')}`;
    await expect(run(both)).rejects.toMatchObject({ code: 'input/no-tests', message: expect.stringMatching(words) });
  });

  test('beside others they are noted', async () => {
    const { code, err } = await run(`${native('ValidatingAdmissionPolicy')}---\n${POLICY}`);
    expect({ code, err }).toEqual({ code: 0, err: expect.stringMatching(words) });
  });
});
