/** Tests `kidp crd check` on whole repositories: it skips files that only mention definitions, and pairs the others. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { runCrd, widget } from '../../../test/support/crd-command.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kidp-crd-tree-'));
  git('init', '-q', '-b', 'main');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(directory, { recursive: true });
});

const git = (...words: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...words], {
    cwd: directory,
    encoding: 'utf8',
  });
function write(files: Record<string, string | Buffer>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
}
const commit = () => {
  git('add', '--all');
  git('commit', '-qm', 'base');
};
const remove = (name: string) => rmSync(join(directory, name), { recursive: true });
const check = (...words: string[]) => runCrd(['check', '.', ...words], { directory });
/** Returns the comparisons as `name verdict`, with the file if it is reported. */
const verdicts = async (...words: string[]) => {
  const { code, out, err } = await check(...words, '-o', 'json');
  const answer = JSON.parse(out);
  const list = Array.isArray(answer) ? answer : [answer];
  return {
    code,
    err,
    verdictLines: list.map(({ name, file, verdict }) =>
      [name, file, verdict].filter((each) => each !== undefined).join(' '),
    ),
  };
};
const alone = (text: string) => ({
  code: 0,
  err: expect.stringMatching(new RegExp(`^${text}$`)),
  verdictLines: ['safe'],
});
const leftAlone = (file: string) =>
  `note: 1 file that mentions definitions but cannot be read as one was skipped: ${file}.*\n`;

const workflow = 'name: x\ninputs: {crds: {description: Compares CustomResourceDefinitions.}}\n';
const template = `{{- range .Values.names }}\n---\n${widget(1, 'templated')}{{- end }}\n`;
const patch =
  'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n';
const huge = (text: string) => `${text}${'# x\n'.repeat(13_000_000)}`;

describe('in a directory, files that are not definitions are skipped', () => {
  test.each([
    { reason: 'a workflow', files: { 'action.yml': workflow }, err: '' },
    { reason: 'a schema for editors', files: { 'a.json': '{"enum": ["CustomResourceDefinition"]}' }, err: '' },
    { reason: 'a list', files: { 'a.yaml': '- kind: CustomResourceDefinition\n' }, err: '' },
    {
      reason: 'another object that mentions them',
      files: { 'a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: CustomResourceDefinition}\n' },
      err: '',
    },
    {
      reason: 'a kind of that name in another group',
      files: { 'a.yaml': 'apiVersion: example.com/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n' },
      err: '',
    },
    { reason: 'a template', files: { 'a.yaml': template }, err: leftAlone('a.yaml:') },
    {
      reason: 'a template that can be read as YAML',
      files: { 'a.yaml': widget(1, '"{{ .plural }}"') },
      err: leftAlone('a.yaml:'),
    },
    { reason: 'a patch', files: { 'a.yaml': patch }, err: leftAlone('a.yaml:') },
    {
      reason: 'YAML with a syntax error',
      files: { 'a.yaml': 'CustomResourceDefinition: [\n' },
      err: leftAlone('a.yaml:'),
    },
    {
      reason: 'bytes',
      files: { 'a.yaml': Buffer.from('\u0000\u0001: CustomResourceDefinition: \u00ff [', 'latin1') },
      err: leftAlone('a.yaml:'),
    },
    { reason: '50 MB', files: { 'a.yaml': huge('a: CustomResourceDefinition\n') }, err: leftAlone('a.yaml:1:1:') },
    { reason: 'node_modules', files: { 'node_modules/a/a.yaml': widget(1, 'other') }, err: '' },
    { reason: 'files that git ignores', files: { '.gitignore': 'dist/\n', 'dist/a.yaml': widget(1) }, err: '' },
  ])('$reason', async ({ files, err }) => {
    write({ 'crds/a.yaml': widget(2), ...(files as Record<string, string>) });
    // The file is new in the first check, and unchanged in the second.
    git('add', 'crds');
    git('commit', '-qm', 'base');
    expect(await verdicts()).toEqual(alone(err));
    commit();
    expect(await verdicts()).toEqual(alone(err));
  });

  test('circular links, broken links, links to directories, and pipes', async () => {
    write({ 'crds/a.yaml': widget(2) });
    symlinkSync('.', join(directory, 'crds/loop'));
    symlinkSync('self.yaml', join(directory, 'crds/self.yaml'));
    symlinkSync('gone.yaml', join(directory, 'crds/gone.yaml'));
    symlinkSync('..', join(directory, 'crds/up.yaml'));
    symlinkSync('a.yaml', join(directory, 'crds/same.yaml'));
    commit();
    execFileSync('mkfifo', [join(directory, 'crds/pipe.yaml')]);
    const { code, err, verdictLines } = await verdicts();
    expect({ code, verdictLines }).toEqual({ code: 0, verdictLines: ['safe'] });
    expect(err).toMatch(/^note: 2 files that mention .* the first: crds\/gone\.yaml: this link is broken/);
  });

  test('a file given by name is not skipped', async () => {
    write({ 'action.yml': workflow, 'template.yaml': template, 'patch.yaml': patch });
    commit();
    for (const name of ['action.yml', 'template.yaml', 'patch.yaml']) {
      const { code, err } = await runCrd(['check', name], { directory });
      expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(name) });
    }
  });

  test('an invalid definition is reported, unless it was invalid before', async () => {
    write({ 'a.yaml': widget(2), 'slip.yaml': widget(1, 'slips').replace('scope:', ' scope:') });
    git('add', 'a.yaml');
    git('commit', '-qm', 'base');
    expect(await check()).toMatchObject({ code: 2, err: expect.stringMatching(/slip\.yaml:\d+:\d+: .*YAML/) });
    commit();
    expect(await verdicts()).toEqual(alone(leftAlone('slip.yaml:\\d+')));
    write({ 'slip.yaml': widget(1, 'slips') });
    const { code, err, verdictLines } = await verdicts();
    expect({ code, verdictLines }).toEqual({
      code: 0,
      verdictLines: ['slips.example.com safe', 'widgets.example.com safe'],
    });
    expect(err).toMatch(/^note: git:HEAD:slip\.yaml: .* The current definition counts as new\.\n$/);
  });
});

describe('definitions with the same name in several files', () => {
  test('are compared with the old definition at the same path', async () => {
    write({ 'crds/a.yaml': widget(2), 'examples/a.yaml': widget(1) });
    commit();
    expect(await verdicts()).toEqual({
      code: 0,
      err: '',
      verdictLines: ['widgets.example.com crds/a.yaml safe', 'widgets.example.com examples/a.yaml safe'],
    });
    write({ 'examples/a.yaml': widget(3) });
    expect(await verdicts()).toMatchObject({ code: 0, err: '' });
    write({ 'crds/a.yaml': widget(1) });
    const { code, out, err } = await check();
    expect({ code, err }).toEqual({ code: 1, err: '' });
    expect(out).toMatch(/^widgets\.example\.com \(crds\/a\.yaml\): breaking/m);
    expect((await check('-o', 'markdown')).out).toContain('`widgets.example.com (crds/a.yaml)`: breaking');
  });

  test('may be in one file too', async () => {
    write({ 'all.yaml': `${widget(2)}---\n${widget(1)}` });
    commit();
    write({ 'all.yaml': `${widget(2)}---\n${widget(3)}` });
    expect(await verdicts()).toMatchObject({ code: 0, err: '' });
    write({ 'all.yaml': `${widget(1)}---\n${widget(1)}` });
    expect(await verdicts()).toMatchObject({ code: 1, err: '' });
  });

  test('count as new, with a warning, if their path is new and they differ', async () => {
    write({ 'crds/a.yaml': widget(2) });
    commit();
    write({ 'crds/copy.yaml': widget(2), 'examples/narrow.yaml': widget(1) });
    const { code, err } = await verdicts();
    expect({ code, err }).toEqual({
      code: 0,
      err: 'warning: examples/narrow.yaml:3:12: widgets.example.com is also defined in crds/a.yaml, and the two differ: the base has no such definition at this path, so it counts as new.\n',
    });
  });

  test('are found after a move, and count as deleted only if no file defines them', async () => {
    write({ 'old/a.yaml': widget(2), 'old/b.yaml': widget(1), 'old/c.yaml': widget(1, 'gadgets') });
    commit();
    renameSync(join(directory, 'old'), join(directory, 'new'));
    expect(await verdicts()).toMatchObject({ code: 0, err: '' });
    write({ 'new/b.yaml': widget(0) });
    expect(await verdicts()).toMatchObject({ code: 1, err: '' });
    remove('new/b.yaml');
    expect(await verdicts()).toMatchObject({ code: 0, err: '' });
    remove('new/c.yaml');
    expect((await verdicts()).verdictLines[0]).toBe('gadgets.example.com breaking');
  });

  test('may be checked from below the root of the repository, and by overlapping paths', async () => {
    write({ 'deploy/crds/a.yaml': widget(2), 'deploy/examples/a.yaml': widget(1) });
    commit();
    write({ 'deploy/crds/a.yaml': widget(1) });
    for (const paths of [['deploy'], ['deploy/crds', 'deploy/examples'], ['deploy', 'deploy/crds/a.yaml']]) {
      const { code, out, err } = await runCrd(['check', ...paths], { directory });
      expect({ code, err }).toEqual({ code: 1, err: '' });
      expect(out).toContain('2 definitions compared, 1 changed: 1 breaking');
    }
  });
});

describe('a tree without definitions', () => {
  test('is safe, so that CI may check every repository', async () => {
    write({ 'app.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n' });
    commit();
    expect(await check()).toEqual({
      code: 0,
      out: '0 definitions compared, 0 changed: 0 breaking, 0 risky, 0 safe\n',
      err: expect.stringMatching(/^note: .*: no CustomResourceDefinition found\.\n$/),
    });
    expect(await check('-o', 'json')).toMatchObject({ code: 0, out: '[]\n' });
    expect(await check('-o', 'markdown')).toMatchObject({ code: 0, out: expect.stringContaining('safe') });
  });

  test('is bad input if the user names a definition, or a path that does not exist', async () => {
    write({ 'app.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n' });
    commit();
    expect(await check('--name', 'x')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/no CustomResourceDefinition x/),
    });
    expect(await runCrd(['check', 'none'], { directory })).toMatchObject({ code: 2 });
  });
});

describe('kustomize and charts in a tree', () => {
  const kustomization = (resource: string, ...patches: string[]) =>
    `resources: [${resource}]\npatches: [${patches.map((path) => `{path: ${path}}`)}]\n`;

  test('patches are not definitions, and files that kustomize cannot build are read unbuilt', async () => {
    write({
      'crd/kustomization.yaml': kustomization('bases/a.yaml', 'patches/a.yaml', '../elsewhere/a.yaml'),
      'crd/bases/a.yaml': widget(2),
      'crd/patches/a.yaml': `${patch}spec: {group: 1}\n`,
      'elsewhere/a.yaml': `${patch}spec: {group: 1}\n`,
      'unrelated/kustomization.yaml': 'resources: [a.yaml]\n',
      'unrelated/a.yaml': 'not: an object\n',
    });
    commit();
    vi.stubEnv('PATH', `${directory}:${dirname(gitProgram)}`);
    write({ kustomize: '#!/bin/sh\nexit 1\n' });
    execFileSync('chmod', ['+x', join(directory, 'kustomize')]);
    expect(await verdicts()).toEqual(
      alone('note: crd: kustomize cannot build it: source files are compared as they are\\.\n'),
    );
  });

  test('a chart whose templates contain no definition is not rendered', async () => {
    write({
      'chart/Chart.yaml': 'apiVersion: v2\nname: shop\nversion: 1.0.0\n',
      'chart/crds/a.yaml': widget(2),
      'chart/templates/a.yaml': '{{ required "needed" .Values.needed }}\n# CustomResourceDefinition\n',
      'library/Chart.yaml': 'apiVersion: v2\nname: library\nversion: 1.0.0\ntype: library\n',
      'library/templates/_a.yaml': template,
    });
    commit();
    vi.stubEnv('PATH', dirname(gitProgram));
    write({ 'chart/crds/a.yaml': widget(1) });
    expect(await verdicts()).toEqual({ code: 1, err: '', verdictLines: ['breaking'] });
  });
});

const gitProgram = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
