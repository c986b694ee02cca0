import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { runCheck } from '../../../test/support/check-command.ts';
import type { CheckResult } from './result.ts';

const database = (owner: string, name = 'users') => `apiVersion: platform.company.com/v1
kind: Database
metadata: {name: ${name}, namespace: team-backend}
spec: {owner: ${owner}}
`;
const configMap = (name: string, data = '{a: b}') =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: shop}\ndata: ${data}\n`;
const policy = (name: string, expression: string, more = '') => `apiVersion: platform.company.com/v1
kind: Policy
metadata: {name: ${name}}
spec:
  selector: {resourceTypes: [core/v1/ConfigMap]}
  rules:
  - name: rule
    expression: ${JSON.stringify(expression)}
    ${more}
`;
const small = policy('small', 'size(object.data) < 2', 'message: One is enough.');

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kidp-check-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

function write(files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
}

async function results(flags: readonly string[], standardInput?: string) {
  const run = { directory, ...(standardInput === undefined ? {} : { standardInput }) };
  const { code, out, err } = await runCheck([...flags, '-o', 'json'], run);
  const found: CheckResult[] = out === '' ? [] : JSON.parse(out);
  return { code, err, found, words: found.map(({ result, policy, rule }) => `${result} ${policy} ${rule}`.trim()) };
}

describe("decides about the platform's kinds as admission does", () => {
  const rows: { reason: string; now: string; old?: string; exit: number; words: string[] }[] = [
    { reason: 'a new object with an owner', now: database('{kind: Team, name: a}'), exit: 0, words: ['skip'] },
    {
      reason: 'an unchanged object',
      now: database('{kind: Team, name: a}'),
      old: database('{kind: Team, name: a}'),
      exit: 0,
      words: ['skip'],
    },
    {
      reason: 'an owner never changes',
      now: database('{kind: Team, name: b}'),
      old: database('{kind: Team, name: a}'),
      exit: 1,
      words: ['fail ownership OwnerImmutable', 'skip'],
    },
    {
      reason: 'only a Team or Application owns',
      now: database('{kind: User, name: a}'),
      exit: 1,
      words: ['fail ownership OwnerKindInvalid', 'skip'],
    },
    {
      reason: 'a team that is among the files is known',
      now: `${database('{kind: Team, name: a}').replace('team-backend}', 'team-backend, labels: {platform.company.com/team: x}}')}---
apiVersion: platform.company.com/v1
kind: Team
metadata: {name: a}
spec: {namespace: team-backend, costTags: {}}
`,
      exit: 1,
      words: ['fail labels LabelManaged', 'skip', 'skip'],
    },
    {
      reason: 'a team that is not is not guessed at',
      now: database('{kind: Team, name: a}').replace(
        'team-backend}',
        'team-backend, labels: {platform.company.com/team: x}}',
      ),
      exit: 0,
      words: ['skip'],
    },
  ];
  test.each(rows)('$reason', async ({ now, old, exit, words }) => {
    write({ 'now.yaml': now, ...(old === undefined ? {} : { 'old.yaml': old }) });
    const answer = await results(['-f', 'now.yaml', ...(old === undefined ? [] : ['--old', 'old.yaml'])]);
    expect(answer).toMatchObject({ code: exit, words });
  });
});

test('an object that no policy matched is reported as such, never as passed', async () => {
  write({
    'policy.yaml': small,
    'objects.yaml': `${configMap('a')}---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n`,
  });
  const { code, found, words } = await results(['-f', 'policy.yaml', 'objects.yaml']);
  expect(code).toBe(0);
  expect(words).toEqual(['pass small rule', 'skip']);
  expect(found[1]).toMatchObject({
    resource: { kind: 'Service', name: 's' },
    message: 'no policy matched this object',
  });
});

test('reads standard input', async () => {
  write({ 'policy.yaml': small });
  const { code, found } = await results(['-f', 'policy.yaml', '-f', '-'], configMap('a', '{a: b, c: d}'));
  expect(code).toBe(1);
  expect(found[0]).toMatchObject({ result: 'fail', resource: { file: '<stdin>', line: 4, column: 1, name: 'a' } });
});

test('colour is for screens', async () => {
  write({ 'policy.yaml': small, 'a.yaml': configMap('a', '{a: b, c: d}') });
  vi.stubEnv('NO_COLOR', undefined);
  const flags = ['-f', 'policy.yaml', 'a.yaml'];
  expect((await runCheck(flags, { directory, tty: true })).out).toContain('\u001b[31mdenied\u001b[0m');
  expect((await runCheck(flags, { directory })).out).not.toContain('\u001b');
  vi.stubEnv('NO_COLOR', '1');
  expect((await runCheck(flags, { directory, tty: true })).out).not.toContain('\u001b');
});

test('params that are not judged come from --params', async () => {
  write({
    'policy.yaml': policy('known', 'params.data.a == "x"').replace(
      '  rules:',
      '  params: {apiVersion: v1, kind: Secret, name: settings, namespace: shop}\n  rules:',
    ),
    'a.yaml': configMap('a'),
    'params.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: settings, namespace: shop}\ndata: {a: y}\n',
  });
  expect(await results(['-f', 'policy.yaml', 'a.yaml'])).toMatchObject({ code: 0, words: ['skip known rule'] });
  const given = await results(['-f', 'policy.yaml', 'a.yaml', '--params', 'params.yaml']);
  expect(given).toMatchObject({ code: 1, words: ['fail known rule'] });
});

describe('bad input is exit code 2, all of it at once', () => {
  const rows: { reason: string; files: Record<string, string>; flags?: string[]; err: RegExp }[] = [
    {
      reason: 'YAML that does not parse',
      files: { 'a.yaml': 'a: 1\nkind: [\n' },
      err: /a\.yaml:3:1: .*Correct the YAML/,
    },
    {
      reason: 'a key that comes twice',
      files: { 'a.yaml': `${configMap('a')}data: {}\n` },
      err: /a\.yaml:5:1: .*unique/,
    },
    {
      reason: 'an object without a name',
      files: { 'a.yaml': 'apiVersion: v1\nkind: Pod\nmetadata: {}\n' },
      err: /a\.yaml:1:1: Pod has no metadata\.name/,
    },
    {
      reason: 'words are no object',
      files: { 'a.yaml': 'only words\n' },
      err: /a\.yaml:1:1: not a Kubernetes object/,
    },
    {
      reason: 'an item of a list that is none',
      files: { 'a.yaml': 'apiVersion: v1\nkind: List\nitems:\n- 1\n' },
      err: /a\.yaml:4:3: not a Kubernetes object/,
    },
    {
      reason: 'an alias that leads nowhere',
      files: { 'a.yaml': 'apiVersion: v1\nkind: *nowhere\n' },
      err: /a\.yaml:.*nowhere/,
    },
    {
      reason: 'a document that unfolds without end',
      files: {
        'a.yaml': `a: &a [x, x]\n${[...'bcdefgh'].map((c, i) => `${c}: &${c} [${`*${'abcdefgh'[i]}, `.repeat(9)}*${'abcdefgh'[i]}]`).join('\n')}\n`,
      },
      err: /a\.yaml:1:1: .*alias/,
    },
    {
      reason: 'a number that JSON has not',
      files: { 'a.yaml': configMap('a', '{a: .inf}') },
      err: /a\.yaml:4:11: \.inf is a number that JSON cannot represent/,
    },
    { reason: 'nothing at all is not clean', files: { 'a.yaml': '# nothing\n' }, err: /no Kubernetes object found/ },
    {
      reason: 'a directory without manifests',
      files: { 'sub/a.txt': 'x' },
      flags: ['-f', 'sub'],
      err: /sub: no \.yaml/,
    },
    {
      reason: 'a file that is not there',
      files: {},
      flags: ['-f', 'absent.yaml'],
      err: /absent\.yaml: no such file/,
    },
    {
      reason: 'a kind that the platform has not',
      files: { 'a.yaml': database('{}').replace('Database', 'Databse') },
      err: /a\.yaml:2:1: .*no kind Databse: did you mean Database\?/,
    },
    {
      reason: 'a version that the platform has not',
      files: { 'a.yaml': database('{}').replace('/v1', '/v2') },
      err: /a\.yaml:1:1: there is no platform\.company\.com\/v2/,
    },
    {
      reason: 'a policy that does not compile, at the place in its expression',
      files: { 'a.yaml': policy('p', 'object.data.a ==') },
      err: /a\.yaml:8:\d+: Policy p: spec\.rules\[0\]\.expression: /,
    },
    {
      reason: 'a policy with a field that there is not',
      files: { 'a.yaml': policy('p', 'true').replace('selector', 'seletcor') },
      err: /a\.yaml:5:3: Policy p: .*seletcor/,
    },
    {
      reason: 'two policies of one name',
      files: { 'a.yaml': policy('p', 'true'), 'b.yaml': policy('p', 'true') },
      err: /b\.yaml:3:12: Policy p is already defined in a\.yaml:1/,
    },
    {
      reason: 'everything at once',
      files: { 'a.yaml': 'x', 'b.yaml': 'kind: [' },
      err: /a\.yaml:1:1: [^\n]*\n.*b\.yaml:1:8: /,
    },
    {
      reason: 'an output there is not',
      files: { 'a.yaml': configMap('a') },
      flags: ['-f', 'a.yaml', '-o', 'toml'],
      err: /--output "toml" is unknown: want text, json, yaml, sarif, junit or github/,
    },
    {
      reason: 'a date that is none',
      files: { 'a.yaml': configMap('a') },
      flags: ['-f', 'a.yaml', '--now', 'soon'],
      err: /--now "soon" is not a date/,
    },
    {
      reason: 'a group of nobody',
      files: { 'a.yaml': configMap('a') },
      flags: ['-f', 'a.yaml', '--group', 'x'],
      err: /--group requires --user/,
    },
    {
      reason: 'labels of no namespace',
      files: { 'a.yaml': configMap('a') },
      flags: ['-f', 'a.yaml', '--namespace-labels', 'x'],
      err: /--namespace-labels "x" is invalid/,
    },
  ];
  test.each(rows)('$reason', async ({ files, flags, err }) => {
    write(files);
    const answer = await runCheck(flags ?? ['-f', '.'], { directory });
    expect(answer).toMatchObject({ code: 2, out: '' });
    expect(answer.err).toMatch(err);
  });

  test('a link that leads nowhere', async () => {
    write({ 'policy.yaml': small, 'apps/a.yaml': configMap('a') });
    symlinkSync('gone.yaml', join(directory, 'apps/b.yaml'));
    expect(await runCheck(['-f', 'policy.yaml', '-f', 'apps'], { directory })).toMatchObject({
      code: 2,
      err: expect.stringMatching(/apps\/b\.yaml: this link is broken/),
    });
  });

  test('a file that cannot be read', async () => {
    write({ 'a.yaml': configMap('a') });
    chmodSync(join(directory, 'a.yaml'), 0);
    // Root reads everything.
    if (process.getuid?.() === 0) mkdirSync(join(directory, 'b.yaml'));
    const { code, err } = await runCheck(process.getuid?.() === 0 ? ['-f', 'b.yaml'] : ['-f', '.'], { directory });
    expect(code).toBe(2);
    expect(err).toMatch(/cannot be read|no \.yaml/);
  });

  test.each(['--kubeconfig', '--server-dry-run'])('a cluster that does not answer (%s)', async (flag) => {
    const cluster = { name: 'c', cluster: { server: 'https://127.0.0.1:1' } };
    const contexts = [{ name: 'x', context: { cluster: 'c' } }];
    write({
      'a.yaml': configMap('a'),
      config: JSON.stringify({ clusters: [cluster], contexts, 'current-context': 'x' }),
    });
    const more = flag === '--kubeconfig' ? [] : [flag];
    const flags = ['-f', 'a.yaml', '--kubeconfig', join(directory, 'config'), ...more];
    expect(await runCheck(flags, { directory })).toMatchObject({
      code: 2,
      err: expect.stringMatching(/request to the cluster failed/),
    });
  });

  test.each(['sarif', 'junit', 'github'])('%s has a place for it', async (format) => {
    write({ 'a.yaml': 'kind: [' });
    const { code, out } = await runCheck(['-f', 'a.yaml', '-o', format], { directory });
    expect(code).toBe(2);
    expect(out).toMatch(
      {
        sarif: /"executionSuccessful": false/,
        junit: /<error type="yaml"/,
        github: /^::error file=a\.yaml,line=1,col=8/,
      }[format] ?? /never/,
    );
  });
});

describe('--base', () => {
  const git = (...words: string[]) =>
    execFileSync(
      'git',
      ['-C', directory, '-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...words],
      { encoding: 'utf8' },
    );
  const commit = () => {
    git('init', '-q');
    git('add', '.');
    git('commit', '-qm', 'base');
  };
  const two = '{a: b, c: d}';
  const rows: {
    reason: string;
    base: Record<string, string>;
    now: Record<string, string>;
    exit: number;
    known: string[];
    fresh: string[];
  }[] = [
    {
      reason: 'what was wrong before is known',
      base: { 'p/policy.yaml': small, 'm/a.yaml': configMap('a', two) },
      now: {},
      exit: 0,
      known: ['a'],
      fresh: [],
    },
    {
      reason: 'what is new fails',
      base: { 'p/policy.yaml': small, 'm/a.yaml': configMap('a', two) },
      now: { 'm/b.yaml': configMap('b', two) },
      exit: 1,
      known: ['a'],
      fresh: ['b'],
    },
    {
      reason: 'what gets worse fails',
      base: { 'p/policy.yaml': small, 'm/a.yaml': configMap('a') },
      now: { 'm/a.yaml': configMap('a', two) },
      exit: 1,
      known: [],
      fresh: ['a'],
    },
    {
      reason: 'what moves to another file and line is the same',
      base: { 'p/policy.yaml': small, 'm/a.yaml': configMap('a', two) },
      now: { 'm/a.yaml': '# empty\n', 'm/z.yaml': `\n\n${configMap('a', two)}` },
      exit: 0,
      known: ['a'],
      fresh: [],
    },
    {
      reason: 'a new policy fails nobody for what was there before it',
      base: { 'p/other.yaml': policy('other', 'true'), 'm/a.yaml': configMap('a', two) },
      now: { 'p/policy.yaml': small },
      exit: 0,
      known: ['a'],
      fresh: [],
    },
    {
      reason: 'an exception that is taken away fails',
      base: {
        'p/policy.yaml': small,
        'p/exception.yaml':
          'apiVersion: platform.company.com/v1\nkind: PolicyException\nmetadata: {name: e, namespace: policy-exceptions}\nspec: {policies: [{name: small}], selector: {}, reason: x, requester: ops}\n',
        'm/a.yaml': configMap('a', two),
      },
      now: { 'p/exception.yaml': '# gone\n' },
      exit: 1,
      known: [],
      fresh: ['a'],
    },
  ];
  test.each(rows)('$reason', async ({ base, now, exit, known, fresh }) => {
    write(base);
    commit();
    write(now);
    const { code, found } = await results(['-f', 'p', '-f', 'm', '--base', 'HEAD']);
    const failures = found.filter(({ result }) => result === 'fail');
    expect(failures.filter((each) => each.known === true).map(({ resource }) => resource.name)).toEqual(known);
    expect(failures.filter((each) => each.known !== true).map(({ resource }) => resource.name)).toEqual(fresh);
    expect(code).toBe(exit);
    expect(git('diff', '--cached')).toBe('');
  });

  test('every format says what is known', async () => {
    write({ 'p/policy.yaml': small, 'm/a.yaml': configMap('a', two) });
    commit();
    const run = async (format: string) =>
      (await runCheck(['-f', '.', '--base', 'HEAD', '-o', format], { directory })).out;
    expect(await run('text')).toMatch(
      /^m\/a\.yaml:4:1: known: ConfigMap shop\/a: .*\n\n.*\n1 finding known since HEAD\n/,
    );
    expect(await run('github')).toMatch(/^::notice file=m\/a\.yaml/);
    expect(await run('junit')).toMatch(/<skipped message="known since HEAD: /);
    expect(JSON.parse(await run('sarif')).runs[0].results[0]).toMatchObject({ baselineState: 'unchanged' });
  });

  test('a revision that git does not know, and files that it does not keep', async () => {
    write({ 'p/policy.yaml': small, 'm/a.yaml': configMap('a', two) });
    expect(await runCheck(['-f', '.', '--base', 'HEAD'], { directory })).toMatchObject({
      code: 2,
      err: expect.stringMatching(/not in a git repository/),
    });
    commit();
    expect(await runCheck(['-f', '.', '--base', 'nowhere'], { directory })).toMatchObject({
      code: 2,
      err: expect.stringMatching(/unknown git revision "nowhere": fetch it first/),
    });
    expect(await runCheck(['-f', '.', '--base', '--help'], { directory })).toMatchObject({ code: 2 });
  });
});

describe('kustomize and Helm', () => {
  /** A kustomize that answers with a manifest; Helm is the real one, in test/helm. */
  function fakeKustomize(manifest: string): void {
    write({ 'bin/kustomize': `#!/bin/sh\ncat <<'END'\n${manifest}END\n` });
    chmodSync(join(directory, 'bin/kustomize'), 0o755);
  }
  const kustomization = 'resources: [a.yaml]\n';

  test('a directory of kustomize is built by it, and what it builds upon is not judged alone', async () => {
    write({
      'policy.yaml': small,
      'apps/base/kustomization.yaml': kustomization,
      'apps/base/a.yaml': 'not: a manifest\n',
      'apps/prod/kustomization.yaml': 'resources: [../base]\n',
      'apps/prod/patch.yaml': 'neither: this\n',
      'apps/plain/b.yaml': configMap('plain'),
    });
    fakeKustomize(configMap('built', '{a: b, c: d}'));
    vi.stubEnv('PATH', `${join(directory, 'bin')}${delimiter}${process.env.PATH}`);
    const { code, found } = await results(['-f', 'policy.yaml', '-f', 'apps']);
    expect(code).toBe(1);
    expect(found.map(({ result, resource }) => [result, resource.name, resource.file])).toEqual([
      ['pass', 'plain', 'apps/plain/b.yaml'],
      ['fail', 'built', 'apps/prod/kustomization.yaml'],
    ]);
  });

  test('what kustomize has built is found where it was written', async () => {
    write({
      'policy.yaml': small,
      'apps/base/kustomization.yaml': 'resources: [a.yaml]\n',
      'apps/base/a.yaml': `# Two of them.\n${configMap('a', '{a: b, c: d}')}---\n${configMap('b', '{a: b, c: d}')}`,
      'apps/prod/kustomization.yaml': 'namePrefix: x-\nresources: [../base, gone.yaml]\n',
    });
    fakeKustomize(`${configMap('b', '{a: b, c: d, e: f}')}---\n${configMap('x-a', '{a: b, c: d}')}`);
    vi.stubEnv('PATH', `${join(directory, 'bin')}${delimiter}${process.env.PATH}`);
    const { found } = await results(['-f', 'policy.yaml', '-f', 'apps/prod']);
    expect(found.map(({ resource: { name, file, line } }) => [name, file, line])).toEqual([
      ['b', 'apps/base/a.yaml', 10],
      ['x-a', 'apps/prod/kustomization.yaml', 1],
    ]);
  });

  test('patches are not judged, wherever they lie', async () => {
    write({
      'policy.yaml': small,
      'apps/kustomization.yaml':
        'resources: [a.yaml]\npatches: [{path: ../patches/a.yaml}]\npatchesStrategicMerge: [../patches/b.yaml]\n',
      'patches/a.yaml': configMap('a', '{a: b, c: d}'),
      'patches/b.yaml': configMap('b', '{a: b, c: d}'),
      'patches/c.yaml': configMap('c', '{a: b, c: d}'),
    });
    fakeKustomize(configMap('built'));
    vi.stubEnv('PATH', `${join(directory, 'bin')}${delimiter}${process.env.PATH}`);
    const { found } = await results(['-f', 'policy.yaml', '-f', '.']);
    expect(found.map(({ result, resource: { name } }) => [result, name])).toEqual([
      ['fail', 'c'],
      ['pass', 'built'],
    ]);
  });

  test('without the tool it says what to do', async () => {
    write({ 'k/kustomization.yaml': kustomization, 'chart/Chart.yaml': 'name: shop\n' });
    vi.stubEnv('PATH', join(directory, 'bin'));
    const { code, err } = await runCheck(['-f', 'k', '-f', 'chart'], { directory });
    expect(code).toBe(2);
    expect(err).toMatch(
      /neither kustomize nor kubectl is on the PATH: install one, or check its output with "kustomize build .*k \| kidp check -f -"/,
    );
    expect(err).toMatch(/helm is not on the PATH/);
  });

  test('errors of the tool are reported', async () => {
    write({
      'k/kustomization.yaml': kustomization,
      'bin/kustomize': '#!/bin/sh\necho "no such file a.yaml" >&2\nexit 1\n',
    });
    chmodSync(join(directory, 'bin/kustomize'), 0o755);
    vi.stubEnv('PATH', join(directory, 'bin') + delimiter + process.env.PATH);
    expect(await runCheck(['-f', 'k'], { directory })).toMatchObject({
      code: 2,
      err: expect.stringMatching(/failed: no such file a\.yaml/),
    });
  });
});

test('a policy with a label of the platform is refused as at admission', async () => {
  write({ 'policy.yaml': small.replace('{name: small}', '{name: small, labels: {platform.company.com/x: z}}') });
  expect(await results(['-f', 'policy.yaml'])).toMatchObject({ code: 1, words: ['fail labels LabelReserved'] });
});

test('a policy about policies sees their defaults, and is not evaluated against itself', async () => {
  const managed = 'object.metadata.labels["platform.company.com/managed-by"] == "kidp"';
  write({ 'all.yaml': policy('all', managed).replace('core/v1/ConfigMap', 'Policy'), 'small.yaml': small });
  const { code, found } = await results(['-f', '.']);
  expect(found.map(({ result, policy, resource }) => [result, policy, resource.name])).toEqual([
    ['pass', 'all', 'small'],
  ]);
  expect(code).toBe(0);
});
