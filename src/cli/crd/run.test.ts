/** Tests where `kidp crd` reads definitions from, and how it reports bad input. The expected output is in src/cli/crd/golden. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { runCrd, widget } from '../../../test/support/crd-command.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kidp-crd-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

function write(files: Record<string, string | Buffer>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
}

const run = (...words: string[]) => runCrd(words, { directory });
const verdicts = async (...words: string[]) => {
  const { code, out, err } = await run(...words, '-o', 'json');
  const answer = JSON.parse(out);
  return { code, err, verdict: answer.verdict ?? answer.map((each: { verdict: string }) => each.verdict) };
};

describe('bad input is reported with its position and exit code 2', () => {
  const schema = (text: string) => widget(1).replace(/type: object\n {8}properties:[\s\S]*/, text);
  const levels = (number: number) => {
    const open = Array.from({ length: number }, () => '{type: object, properties: {a: ').join('');
    return schema(`${open}{type: string}${'}}'.repeat(number)}\n`);
  };
  const bomb = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
    .map((name, index, names) => `${name}: &${name} [${Array(9).fill(index === 0 ? 'x' : `*${names[index - 1]}`)}]`)
    .join('\n');
  test.each([
    {
      reason: 'another kind',
      text: 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n',
      err: /bad\.yaml:2:1: this is a Pod/,
    },
    { reason: 'nothing', text: '# nothing\n', err: /bad\.yaml:1:1: no CustomResourceDefinition/ },
    { reason: 'no object', text: '- 1\n', err: /bad\.yaml:1:1: not a Kubernetes object/ },
    {
      reason: 'v1beta1',
      text: widget(1).replace('k8s.io/v1', 'k8s.io/v1beta1'),
      err: /bad\.yaml:1:1: .*v1beta1 is no longer served since Kubernetes 1\.22.*apiextensions\.k8s\.io\/v1/,
    },
    {
      reason: 'the same definition twice',
      text: `${widget(1)}---\n${widget(2)}`,
      err: /bad\.yaml:23:12: widgets\.example\.com is already defined in .*bad\.yaml:1/,
    },
    {
      reason: 'two definitions where one is expected',
      text: `${widget(1)}---\n${widget(2, 'gadgets')}`,
      err: /bad\.yaml:21:1: there are 2 definitions in this file .* --name/,
    },
    {
      reason: 'not structural',
      text: schema('{type: object, properties: {a: {minimum: 1}}}\n'),
      err: /bad\.yaml:14:\d+: .*has no type/,
    },
    {
      reason: 'a $ref to itself',
      text: schema('{type: object, properties: {a: {$ref: "#/properties/a"}}}\n'),
      err: /bad\.yaml:14:\d+: .*\$ref/,
    },
    { reason: '150 levels', text: levels(150), err: /bad\.yaml:14:\d+: .*nested more than/ },
    { reason: '1,000 levels', text: levels(1000), err: /bad\.yaml:14:\d+: .*Nested/ },
    { reason: 'YAML that does not parse', text: 'a: [1\nb: 2\n', err: /bad\.yaml:2:\d+: .*YAML/ },
    {
      reason: 'a duplicate key',
      text: `${widget(1)}kind: Again\n`,
      err: /bad\.yaml:20:1: Map keys must be unique/,
    },
    { reason: 'aliases of aliases', text: `${widget(1)}${bomb}\n`, err: /bad\.yaml:1:1: Excessive alias count/ },
    {
      reason: '5 MB',
      text: `${widget(1)}# ${'x'.repeat(5e6)}\n`,
      err: /bad\.yaml:1:1: this document is 4\.\d MB large/,
    },
    {
      reason: '5 MB of values',
      text: `${widget(1)}x:\n${'- 1\n'.repeat(1.25e6)}`,
      err: /bad\.yaml:1:1: this document is/,
    },
  ])('$reason', async ({ text, err }) => {
    write({ 'good.yaml': widget(1), 'bad.yaml': text });
    expect(await run('diff', 'bad.yaml', 'good.yaml')).toEqual({ code: 2, out: '', err: expect.stringMatching(err) });
    expect((await run('diff', 'good.yaml', 'bad.yaml')).code).toBe(2);
    expect((await run('migrate', 'good.yaml', 'bad.yaml')).code).toBe(2);
  });

  describe('a definition that the API server would reject', () => {
    const rows = [
      {
        reason: 'a default of another type',
        field: '{type: integer, default: big}',
        err: /new\.yaml:19:37: The default "big" is not accepted by its schema/,
      },
      {
        reason: 'an invalid pattern',
        field: '{type: string, pattern: "(?<=x)y["}',
        err: /new\.yaml:19:36: The pattern "\(\?<=x\)y\[" cannot be compiled/,
      },
      {
        reason: 'a rule that does not compile',
        field: '{type: integer, x-kubernetes-validations: [{rule: self.nope > 1}]}',
        err: /new\.yaml:19:65: The rule "self\.nope > 1" cannot be compiled/,
      },
    ];
    const definition = (field: string) => widget(1).replace(/\{type: integer, maximum: 1\}/, field);

    test.each(rows)('is bad input if the invalid part is new, but not if it existed before: $reason', async ({
      field,
      err,
    }) => {
      write({
        'old.yaml': widget(1),
        'new.yaml': definition(field),
        'next.yaml': `${definition(field)}              b: {type: string}\n`,
      });
      expect(await run('diff', 'old.yaml', 'new.yaml')).toEqual({ code: 2, out: '', err: expect.stringMatching(err) });
      expect((await run('migrate', 'old.yaml', 'new.yaml')).code).toBe(2);
      expect((await run('diff', 'new.yaml', 'next.yaml')).code).toBe(0);
      expect((await run('diff', 'new.yaml', 'old.yaml')).code).not.toBe(2);
    });
  });

  test.each([
    { reason: 'no such file', words: ['diff', 'none.yaml', 'good.yaml'], err: /none\.yaml: no such file/ },
    {
      reason: 'no such format',
      words: ['diff', 'good.yaml', 'good.yaml', '-o', 'xml'],
      err: /--output "xml" is unknown/,
    },
    {
      reason: 'no such class',
      words: ['diff', 'good.yaml', 'good.yaml', '--fail-on', 'safe'],
      err: /--fail-on "safe"/,
    },
    {
      reason: 'no such name',
      words: ['diff', 'good.yaml', 'good.yaml', '--name', 'x'],
      err: /no CustomResourceDefinition x/,
    },
    { reason: 'standard input twice', words: ['diff', '-', '-'], err: /both sides are standard input/ },
    { reason: 'the cluster twice', words: ['diff', 'cluster:', 'cluster:'], err: /both sides are the cluster/ },
    { reason: 'half a revision', words: ['diff', 'git:main', 'good.yaml'], err: /want git:REVISION:PATH/ },
    { reason: 'no kubeconfig', words: ['diff', 'cluster:', 'good.yaml', '--kubeconfig', 'none'], err: /none/ },
    { reason: 'no archive', words: ['diff', 'bad.tgz', 'good.yaml'], err: /bad\.tgz: this chart cannot be read/ },
  ])('$reason', async ({ words, err }) => {
    write({ 'good.yaml': widget(1), 'bad.tgz': 'no archive' });
    expect(await run(...words)).toEqual({ code: 2, out: '', err: expect.stringMatching(err) });
  });

  test('formats that can represent bad input include it', async () => {
    write({ 'good.yaml': widget(1), 'bad.yaml': widget(1).replace('k8s.io/v1', 'k8s.io/v1beta1') });
    const github = await run('diff', 'good.yaml', 'bad.yaml', '-o', 'github');
    expect(github).toMatchObject({ code: 2, out: expect.stringMatching(/^::error file=bad\.yaml,line=1,col=1,/) });
    const sarif = await run('diff', 'good.yaml', 'bad.yaml', '-o', 'sarif');
    const [{ invocations, results }] = JSON.parse(sarif.out).runs;
    expect(sarif.code).toBe(2);
    expect(results).toEqual([]);
    expect(invocations[0]).toMatchObject({
      executionSuccessful: false,
      toolExecutionNotifications: [{ descriptor: { id: 'input/old-api-version' } }],
    });
  });
});

describe('definitions are read the way Kubernetes reads them', () => {
  test('null fields and an empty status are ignored', async () => {
    const generated = `${widget(1).replace('names: {', 'conversion:\n  names: {singular: null, ')}status:\n  conditions: []\n  storedVersions: []\n`;
    write({ 'old.yaml': widget(1), 'new.yaml': generated });
    expect(await verdicts('diff', 'old.yaml', 'new.yaml')).toEqual({ code: 0, err: '', verdict: 'safe' });
  });

  test('numbers beyond 2^53 are accepted', async () => {
    const large = widget(1).replace('maximum: 1}', 'maximum: 9223372036854775807}');
    write({ 'old.yaml': large, 'new.yaml': widget(10) });
    const { out } = await run('diff', 'old.yaml', 'new.yaml', '-o', 'json');
    expect(JSON.parse(out).changes[0]).toMatchObject({ kind: 'maximum-lowered', before: 2 ** 63, after: 10 });
  });

  test('only terminals get colour', async () => {
    write({ 'old.yaml': widget(2), 'new.yaml': widget(1) });
    vi.stubEnv('NO_COLOR', undefined);
    const screen = await runCrd(['diff', 'old.yaml', 'new.yaml'], { directory, tty: true });
    expect(screen.out).toContain('\u001b[31mbreaking\u001b[0m');
    expect((await run('diff', 'old.yaml', 'new.yaml')).out).not.toContain('\u001b');
  });
});

describe('where definitions come from', () => {
  test('standard input, JSON and lists', async () => {
    const list = { apiVersion: 'v1', kind: 'List', items: [parse(widget(2))] };
    write({ 'old.json': JSON.stringify(list) });
    const { code, out } = await runCrd(['diff', 'old.json', '-'], { directory, standardInput: widget(1) });
    expect(code).toBe(1);
    expect(out).toMatch(/\+ <stdin>:19:37: size: \{type: integer, maximum: 1\}/);
  });

  test('equal definitions in two files count once, different ones are paired by path, others are ambiguous', async () => {
    write({ 'old/a.yaml': widget(1), 'old/copy/a.yaml': widget(1), 'new/a.yaml': widget(2) });
    expect(await verdicts('diff', 'old', 'new')).toEqual({ code: 0, err: '', verdict: 'safe' });
    write({ 'old/copy/a.yaml': widget(3), 'new/copy/a.yaml': widget(2) });
    expect(await verdicts('diff', 'old', 'new')).toEqual({ code: 1, err: '', verdict: ['safe', 'breaking'] });
    write({ 'new/copy/b.yaml': widget(4) });
    expect((await run('diff', 'old', 'new')).err).toMatch(
      /new\/copy\/b\.yaml:3:12: widgets\.example\.com is already defined in .*new\/a\.yaml:1/,
    );
  });

  test('kustomize builds directories; without it the source files are read unbuilt', async () => {
    write({
      'old/kustomization.yaml': 'resources: [bases/a.yaml]\n',
      'old/bases/a.yaml': widget(2),
      'new/a.yaml': widget(1),
      'bin/kustomize': `#!/bin/sh\ncat <<'EOF'\n${widget(1)}EOF\n`,
    });
    chmodSync(join(directory, 'bin/kustomize'), 0o755);
    vi.stubEnv('PATH', `${join(directory, 'bin')}${delimiter}${process.env.PATH}`);
    expect(await verdicts('diff', 'old', 'new')).toEqual({ code: 0, err: '', verdict: 'safe' });
    vi.stubEnv('PATH', '');
    const { code, err } = await run('diff', 'old', 'new');
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/^note: .*files are compared as they are/) });
  });

  test('a chart without helm: the definitions in crds/, including subcharts, and a note', async () => {
    write({
      'chart/Chart.yaml': 'apiVersion: v2\nname: shop\nversion: 1.0.0\n',
      'chart/crds/a.yaml': widget(2),
      'chart/charts/sub/Chart.yaml': 'apiVersion: v2\nname: sub\nversion: 1.0.0\n',
      'chart/charts/sub/crds/b.yaml': widget(2, 'gadgets'),
      'chart/charts/packed-1.0.0.tgz': packed({ 'packed/crds/c.yaml': widget(2, 'gizmos') }),
      'new.tgz': packed({
        'shop/Chart.yaml': 'name: shop\n',
        'shop/crds/a.yaml': widget(1),
        [`shop/crds/${'long'.repeat(30)}.yaml`]: widget(2, 'gadgets'),
        'shop/templates/x.yaml': '{{ x }}',
      }),
    });
    vi.stubEnv('PATH', '');
    const { code, out, err } = await run('diff', 'chart', 'new.tgz');
    expect(code).toBe(1);
    expect(err.match(/helm is not on the PATH: only the definitions in crds\//g)).toHaveLength(2);
    expect(out).toMatch(/- chart\/crds\/a\.yaml:19:37: .*\n.*\+ new\.tgz:shop\/crds\/a\.yaml:19:37/);
    expect(out).toMatch(
      /gizmos\.example\.com: breaking[\s\S]*- chart\/charts\/packed-1\.0\.0\.tgz:packed\/crds\/c\.yaml:1:1/,
    );
    expect(out).toMatch(/3 definitions compared, 2 changed/);
  });
});

describe('without a git repository', () => {
  test.each([
    {
      reason: 'without --base',
      words: ['check', 'a.yaml'],
      err: /kidp: kidp crd check: the files are not in a git/,
    },
    {
      reason: 'with --base',
      words: ['check', 'a.yaml', '--base', 'main'],
      err: /kidp: --base: the files are not in/,
    },
  ])('check names the alternative: $reason', async ({ words, err }) => {
    write({ 'a.yaml': widget(1) });
    const found = await run(...words);
    expect(found).toMatchObject({ code: 2, err: expect.stringMatching(err) });
    expect(found.err).toContain('check files of one, or compare two files with "kidp crd diff OLD NEW"');
  });
});

describe('git', () => {
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...words], {
      cwd: directory,
      encoding: 'utf8',
    });
  const commit = (message: string) => {
    git('add', '.');
    git('commit', '-qm', message);
  };
  beforeEach(() => {
    git('init', '-q', '-b', 'main');
    write({ 'crds/a.yaml': widget(2), 'crds/same.yaml': widget(2, 'gadgets'), 'README.md': '# x\n' });
    commit('base');
  });

  test('a path at a revision', async () => {
    write({ 'crds/a.yaml': widget(1) });
    const words = ['diff', `git:main:${directory}/crds/a.yaml`, 'crds/a.yaml'];
    const { code, out } = await run(...words);
    expect(code).toBe(1);
    expect(out).toMatch(/- git:main:crds\/a\.yaml:19:37: .*\n.*\+ crds\/a\.yaml:19:37/);
    expect((await run('diff', `git:main:${directory}/none`, 'crds/a.yaml')).err).toMatch(/none does not exist at main/);
    expect((await run('diff', `git:none:${directory}/crds`, 'crds')).err).toMatch(/unknown git revision "none"/);
  });

  test('check compares a branch with its merge base', async () => {
    git('update-ref', 'refs/remotes/origin/main', 'main');
    expect(await verdicts('check', 'crds')).toEqual({ code: 0, err: '', verdict: ['safe', 'safe'] });
    write({ 'crds/a.yaml': widget(1) });
    commit('narrow');
    const { code, out } = await run('check', 'crds');
    expect(code).toBe(1);
    expect(out).toMatch(/- git:[0-9a-f]{10}:crds\/a\.yaml:19:37: .*\n.*\+ crds\/a\.yaml:19:37/);
    expect(await verdicts('check', 'crds', '--base', 'HEAD')).toMatchObject({ code: 0 });
    // Commits on main after the merge base are not changes of this branch.
    git('checkout', '-qb', 'else', 'main~1');
    write({ 'crds/more.yaml': widget(1, 'gizmos') });
    commit('more');
    git('update-ref', 'refs/remotes/origin/main', 'else');
    git('checkout', '-q', 'main');
    expect((await verdicts('check', 'crds')).verdict).toEqual(['safe', 'breaking']);
  });

  test('check accepts deleted and new paths', async () => {
    write({ 'new/b.yaml': widget(1, 'gizmos') });
    rmSync(join(directory, 'crds'), { recursive: true });
    expect(await verdicts('check', 'crds', 'new')).toEqual({
      code: 1,
      err: '',
      verdict: ['breaking', 'safe', 'breaking'],
    });
    expect((await run('check', 'neither')).err).toMatch(/neither: no such file/);
  });
});

/** Packages files the way `helm package` does: a compressed tar archive. */
function packed(files: Record<string, string>): Buffer {
  const block = (content: Buffer) => Buffer.concat([content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
  const entry = (name: string, content: Buffer, type: string) => {
    const header = Buffer.alloc(512);
    header.write(name.slice(0, 100), 0);
    header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
    header.write(type, 156);
    return Buffer.concat([header, block(content)]);
  };
  const entries = Object.entries(files).flatMap(([name, text]) => [
    ...(name.length > 100 ? [entry('PaxHeaders', Buffer.from(`${name.length + 10} path=${name}\n`), 'x')] : []),
    entry(name, Buffer.from(text), '0'),
  ]);
  return gzipSync(Buffer.concat([...entries, Buffer.alloc(1024)]));
}
