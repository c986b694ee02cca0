import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runImpact } from '../../../test/support/check-command.ts';

const policy = `apiVersion: platform.company.com/v1
kind: Policy
metadata: {name: small}
spec:
  selector: {resourceTypes: [core/v1/ConfigMap]}
  rules:
  - {name: one, expression: size(object.data) < 2, message: One is enough.}
  - {name: named, expression: "object.metadata.name != 'a0'", message: No zero., enforcement: Warn}
  - {name: asked, expression: "request.userInfo.username != ''"}
`;
const objects = Array.from(
  { length: 8 },
  (_, index) => `apiVersion: v1
kind: ConfigMap
metadata: {name: a${index}, namespace: shop}
data: ${index % 2 === 0 ? '{a: b}' : '{a: b, c: d}'}
`,
).join('---\n');

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'kidp-impact-'));
  const files = {
    'policy.yaml': policy,
    'objects.yaml': objects,
    'service.yaml': 'apiVersion: v1\nkind: Service\nmetadata: {name: s}\n',
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
});
afterAll(() => rmSync(directory, { recursive: true }));

test('counts what would be denied, the first of them by name', async () => {
  const { code, out } = await runImpact(['-f', '.', '--first', '2'], { directory });
  expect(code).toBe(0);
  const text = out.replace(/\(\d+\.\d+ s\)/, '(TIME)');
  expect(text).toBe(`small (one): denies 4
  ConfigMap shop/a1 (objects.yaml:6): data has size 2, want less than 2. One is enough.
  ConfigMap shop/a3 (objects.yaml:16): data has size 2, want less than 2. One is enough.
  and 2 more
small (named): denies 0, warns of 1
small (asked): denies 0, cannot decide 8

4 of 9 objects would be denied and 1 warned of; policies are about 8 of them (TIME)
`);
});

test('as JSON', async () => {
  const { out } = await runImpact(['-f', '.', '-o', 'json'], { directory });
  const [rule] = JSON.parse(out).rules;
  expect(JSON.parse(out)).toMatchObject({ objects: 9, matched: 8, denied: 4, warned: 1, complete: true, missing: [] });
  expect(rule).toMatchObject({
    policy: 'small',
    rule: 'one',
    denied: 4,
    first: [{ name: 'a1', namespace: 'shop', line: 6 }, {}, {}, {}],
  });
});

describe('bad input is exit code 2', () => {
  const rows: { reason: string; flags: string[]; err: RegExp }[] = [
    { reason: 'no policy', flags: ['-f', 'objects.yaml'], err: /no policy found/ },
    { reason: 'nothing but policies', flags: ['-f', 'policy.yaml'], err: /only policies found: add manifests/ },
    { reason: 'a format that is for check alone', flags: ['-f', '.', '-o', 'sarif'], err: /want text or json/ },
    { reason: 'a file that is not there', flags: ['-f', 'absent.yaml'], err: /no such file/ },
  ];
  test.each(rows)('$reason', async ({ flags, err }) => {
    const answer = await runImpact(flags, { directory });
    expect(answer).toMatchObject({ code: 2, out: '' });
    expect(answer.err).toMatch(err);
  });
});
