import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CheckOptions, type CheckResult, check } from './check.ts';
import { exitCodeOf } from './failure.ts';

const database = (owner: string, name = 'users') => `
apiVersion: platform.company.com/v1
kind: Database
metadata: {name: ${name}, namespace: team-backend}
spec:
  owner: ${owner}
`;
const files: Record<string, string> = {
  'database.yaml': database('{kind: Team, name: backend-team}'),
  'moved.yaml': database('{kind: Team, name: other-team}'),
  'wrong-kind.yaml': database('{kind: User, name: me}'),
  'two.yaml': `${database('{kind: Team, name: a}')}---${database('{kind: User, name: b}', 'second')}`,
  'list.yaml':
    'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: platform.company.com/v1, kind: Cache, metadata: {name: c}, spec: {owner: {kind: Team, name: t}}}\n',
  'config-map.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n',
  'broken.yaml': 'apiVersion: v1\nkind: [\n',
  'no-name.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n',
  'text.yaml': 'only words\n',
  'empty.yaml': '# nothing\n',
  'alias.yaml': 'apiVersion: v1\nkind: *nowhere\n',
  'bomb.yaml': `a: &a [x, x]\n${[...'bcdefgh'].map((c, i) => `${c}: &${c} [${`*${'abcdefgh'[i]}, `.repeat(9)}*${'abcdefgh'[i]}]`).join('\n')}\n`,
};
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-check-'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function run(options: Partial<CheckOptions>, standardInput = '') {
  let out = '';
  const streams = {
    in: Readable.from([standardInput]),
    out: { write: (text: string) => (out += text) },
    err: process.stderr,
  };
  const path = (name: string) => (name === '-' ? name : join(folder, name));
  const code = await check(
    {
      output: 'json',
      ...options,
      filename: (options.filename ?? []).map(path),
      ...(options.old === undefined ? {} : { old: options.old.map(path) }),
    },
    streams,
  );
  return { code, out };
}

describe('decides as admission does', () => {
  const rows: { reason: string; filename: string[]; old?: string[]; code: number; results: string[] }[] = [
    { reason: 'a new object with an owner is let in', filename: ['database.yaml'], code: 0, results: ['pass'] },
    {
      reason: 'an unchanged object is let in',
      filename: ['database.yaml'],
      old: ['database.yaml'],
      code: 0,
      results: ['pass'],
    },
    {
      reason: 'an owner never changes',
      filename: ['moved.yaml'],
      old: ['database.yaml'],
      code: 1,
      results: ['fail OwnerImmutable'],
    },
    { reason: 'without the old object it is a new one', filename: ['moved.yaml'], code: 0, results: ['pass'] },
    {
      reason: 'only a Team or Application owns',
      filename: ['wrong-kind.yaml'],
      code: 1,
      results: ['fail OwnerKindInvalid'],
    },
    {
      reason: 'each document of a file is judged',
      filename: ['two.yaml'],
      code: 1,
      results: ['pass', 'fail OwnerKindInvalid'],
    },
    { reason: 'a List is taken apart', filename: ['list.yaml'], code: 0, results: ['skip', 'pass'] },
    { reason: 'what nothing looks at is never a pass', filename: ['config-map.yaml'], code: 0, results: ['skip'] },
  ];
  test.each(rows)('$reason', async ({ filename, old, code, results }) => {
    const answer = await run({ filename, ...(old === undefined ? {} : { old }) });
    const found: CheckResult[] = JSON.parse(answer.out);
    expect(answer.code).toBe(code);
    expect(found.map(({ result, rule }) => (rule === '' ? result : `${result} ${rule}`))).toEqual(results);
  });
});

test('reads standard input', async () => {
  const { out } = await run({ filename: ['-'] }, files['wrong-kind.yaml']);
  expect(JSON.parse(out)[0]).toMatchObject({ result: 'fail', resource: { file: '<stdin>', line: 2, name: 'users' } });
});

test('text names file, line, object, gate and what to do', async () => {
  const { out } = await run({ filename: ['two.yaml', 'config-map.yaml'], output: 'text' });
  expect(out).toMatch(/two\.yaml:\d+: Database team-backend\/second: ownership \(OwnerKindInvalid\): .*\n/);
  expect(out).toMatch(/2 of 3 objects judged, 1 violations, 1 that nothing looks at\n$/);
});

describe('bad input is exit code 2 and one sentence', () => {
  const rows: { reason: string; filename: string[]; output?: string; message: RegExp }[] = [
    { reason: 'YAML that does not parse has a place', filename: ['broken.yaml'], message: /broken\.yaml:\d+:\d+: / },
    { reason: 'a file that is not there', filename: ['absent.yaml'], message: /absent\.yaml: there is no such file/ },
    {
      reason: 'an object without a name',
      filename: ['no-name.yaml'],
      message: /no-name\.yaml:1:1: ConfigMap has no metadata\.name/,
    },
    { reason: 'words are no object', filename: ['text.yaml'], message: /text\.yaml:1:1: this is no Kubernetes object/ },
    { reason: 'an alias that leads nowhere', filename: ['alias.yaml'], message: /alias\.yaml:1:1: .*nowhere/ },
    { reason: 'a document that unfolds without end', filename: ['bomb.yaml'], message: /bomb\.yaml:1:1: .*alias/ },
    { reason: 'nothing at all is not clean', filename: ['empty.yaml'], message: /there is no Kubernetes object/ },
    { reason: 'an output there is not', filename: ['database.yaml'], output: 'toml', message: /choose text or json/ },
  ];
  test.each(rows)('$reason', async ({ filename, output, message }) => {
    const failure = await run({ filename, ...(output === undefined ? {} : { output }) }).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(Error);
    expect((failure as Error).message).toMatch(message);
    expect(exitCodeOf(failure)).toBe(2);
  });
});
