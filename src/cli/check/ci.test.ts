/** The action, the pre-commit hooks and the examples of docs/ci.md and docs/crd-compat.md, run as GitHub and pre-commit would. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..', '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
/** The block of a page that is marked as this example. */
const example = (name: string, page = 'docs/ci.md'): string =>
  new RegExp(`<!-- example: ${name} -->\\n\`\`\`\\w+\\n([\\s\\S]*?)\`\`\``).exec(read(page))?.[1] ?? '';

const policy = `apiVersion: platform.company.com/v1
kind: Policy
metadata: {name: images}
spec:
  selector: {resourceTypes: [core/v1/Pod]}
  rules:
  - {name: registry, expression: 'object.spec.containers.all(c, c.image.startsWith("registry.example.com/"))', message: Use our registry.}
`;
const pod = (name: string, registry = 'registry.example.com') => `apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: shop}
spec:
  containers:
  - {name: main, image: ${registry}/a}
`;

const definition = (maximum: number) => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, properties: {size: {type: integer, maximum: ${maximum}}}}
`;

let directory: string;
const git = (...words: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...words], {
    cwd: directory,
    encoding: 'utf8',
  });
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'kidp-ci-'));
  const write = (files: Record<string, string>) => {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), content);
    }
  };
  write({ 'policies/images.yaml': policy, 'manifests/known.yaml': pod('known', 'docker.io') });
  write({ 'config/crd/widgets.yaml': definition(20) });
  git('init', '-q');
  git('add', '.');
  git('commit', '-qm', 'base');
  write({ 'manifests/good.yaml': pod('good'), 'manifests/bad.yaml': pod('bad', 'docker.io') });
  write({ 'config/crd/widgets.yaml': definition(10) });
});
afterAll(() => rmSync(directory, { recursive: true }));

function runAction(inputs: Record<string, string>) {
  const action = parse(read('action.yml'));
  const [step] = action.runs.steps;
  const given = (name: string): string => inputs[name] ?? action.inputs[name].default ?? '';
  const env: Record<string, string> = Object.fromEntries(
    Object.entries(step.env).map(([name, value]) => [
      name,
      String(value).replace(/\$\{\{ inputs\.([a-z-]+) \}\}/g, (_, input: string) => given(input)),
    ]),
  );
  const outputs = join(directory, '.git', 'outputs');
  writeFileSync(outputs, '');
  const run = spawnSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step.run], {
    cwd: directory,
    encoding: 'utf8',
    env: { ...process.env, ...env, GITHUB_ACTION_PATH: root, GITHUB_OUTPUT: outputs },
  });
  return { ...run, outputs: readFileSync(outputs, 'utf8') };
}

test('nothing that a user writes becomes a part of the script', () => {
  const action = parse(read('action.yml'));
  expect(action.runs.using).toBe('composite');
  for (const step of action.runs.steps) expect(step.run).not.toContain('${{');
  const named = [...JSON.stringify(action.runs.steps).matchAll(/inputs\.([a-z-]+)/g)].map((match) => match[1]);
  expect(new Set(named)).toEqual(new Set(Object.keys(action.inputs)));
});

test('the action annotates what is new and known, fails on what is new, and writes SARIF', () => {
  const workflow = parse(example('workflow'));
  const { with: inputs } = workflow.jobs.policies.steps.find(({ uses }: { uses: string }) => uses.includes('kidp'));
  const run = runAction({ ...inputs, base: 'HEAD' });
  expect(run.stdout).toMatch(
    /^::error file=manifests\/bad\.yaml,line=6,col=18,title=images \(registry\)::Pod shop\/bad: .*\. Use our registry/,
  );
  expect(run.stdout).toMatch(/::notice file=manifests\/known\.yaml/);
  expect(run).toMatchObject({ status: 1, outputs: 'exit-code=1\n' });
  const sarif = JSON.parse(readFileSync(join(directory, inputs.sarif), 'utf8'));
  expect(sarif.runs[0].results.map(({ baselineState }: { baselineState: string }) => baselineState)).toEqual([
    'new',
    'unchanged',
  ]);
});

test('the action ends with 0 on success, and accepts further arguments', () => {
  const run = runAction({ paths: 'policies\nmanifests/good.yaml', arguments: '--user alice --quiet' });
  expect(run).toMatchObject({ status: 0, outputs: 'exit-code=0\n', stdout: '' });
});

test('the hook judges what is to be committed by the policies, which may be among it', () => {
  const [hook] = parse(read('.pre-commit-hooks.yaml'));
  const [use] = parse(example('pre-commit')).repos[0].hooks;
  expect(use.id).toBe(hook.id);
  const commit = (...files: string[]) => {
    const [program, ...words] = `${hook.entry}`.split(' ');
    return spawnSync(join(root, program ?? ''), [...words, ...use.args, ...files], {
      cwd: directory,
      encoding: 'utf8',
    });
  };
  expect(commit('manifests/good.yaml', 'policies/images.yaml')).toMatchObject({ status: 0, stdout: '', stderr: '' });
  const refused = commit('manifests/bad.yaml');
  expect(refused.status).toBe(1);
  expect(refused.stdout).toMatch(
    /^manifests\/bad\.yaml:6:18: denied: Pod shop\/bad: images \(registry\): .*\. Use our registry/,
  );
});

test('the action compares definitions, alone or beside manifests', () => {
  const workflow = parse(example('crd-workflow', 'docs/crd-compat.md'));
  const { with: inputs } = workflow.jobs.definitions.steps.find(({ uses }: { uses: string }) => uses.includes('kidp'));
  const alone = runAction({ ...inputs, base: 'HEAD' });
  expect(alone.stdout).toMatch(
    /^::error file=config\/crd\/widgets\.yaml,line=13,col=74,title=breaking%3A widgets\.example\.com \(maximum-lowered\)::/,
  );
  expect(alone).toMatchObject({ status: 1, outputs: 'exit-code=1\n' });
  expect(JSON.parse(readFileSync(join(directory, inputs.sarif), 'utf8')).runs[0].results).toHaveLength(1);
  const both = runAction({ paths: 'policies manifests/good.yaml', crds: 'config/crd', base: 'HEAD' });
  expect(both).toMatchObject({ status: 1, stdout: expect.stringMatching(/1 definition compared/) });
  expect(runAction({})).toMatchObject({ status: 2, stdout: expect.stringMatching(/set paths, crds, or both/) });
});

test('the hook compares definitions with the last commit', () => {
  const [, hook] = parse(read('.pre-commit-hooks.yaml'));
  const [use] = parse(example('crd-pre-commit', 'docs/crd-compat.md')).repos[0].hooks;
  expect(use.id).toBe(hook.id);
  const [program, ...words] = `${hook.entry}`.split(' ');
  const run = spawnSync(join(root, program ?? ''), [...words, ...use.args], { cwd: directory, encoding: 'utf8' });
  expect(run).toMatchObject({ status: 1, stdout: expect.stringMatching(/^widgets\.example\.com: breaking/) });
});

test('the example of kidp impact', () => {
  const [, ...words] = example('impact').trim().split(' ');
  const run = spawnSync(process.execPath, [join(root, 'bin/kidp.js'), ...words], { cwd: directory, encoding: 'utf8' });
  expect(run).toMatchObject({ status: 0 });
  expect(run.stdout).toMatch(/^images \(registry\): denies 2\n {2}Pod shop\/bad \(manifests\/bad\.yaml:1\)/);
});

test('what goes into a pipe comes out of it whole', () => {
  const pods = Array.from({ length: 2000 }, (_, number) => pod(`pod-${number}`)).join('---\n');
  const words = [join(root, 'bin/kidp.js'), 'check', '-f', 'policies', '-f', '-', '-o', 'json'];
  const run = spawnSync(process.execPath, words, { cwd: directory, encoding: 'utf8', input: pods, maxBuffer: 2 ** 26 });
  expect(JSON.parse(run.stdout)).toHaveLength(2000);
});
