/** The programs of examples/programs, run as a stranger would: the packed package, installed in an empty directory. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../conventions/tools.ts';
import { sharedCluster } from '../support/cluster.ts';
import { layOutPackage } from '../support/package.ts';
import { eventuallyFrom, lineFrom, startTestProcess } from '../support/test-process.ts';

const run = promisify(execFile);
const cluster = sharedCluster();
let directory: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'kidp-programs-'));
  const built = await layOutPackage();
  try {
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', directory], { cwd: built.place });
  } finally {
    built.remove();
  }
  const [tarball = ''] = readdirSync(directory).filter((name) => name.endsWith('.tgz'));
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', `./${tarball}`, 'yaml', '@types/node'], {
    cwd: directory,
  });
  for (const program of readdirSync(join(root, 'examples', 'programs')).filter((name) => name.endsWith('.ts')))
    cpSync(join(root, 'examples', 'programs', program), join(directory, program));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function program(name: string, ...files: readonly object[]): Promise<{ code: number; output: string }> {
  const names = files.map((content, index) => {
    const file = `${name}-${index}.yaml`;
    writeFileSync(join(directory, file), JSON.stringify(content));
    return file;
  });
  return run(process.execPath, [`${name}.ts`, ...names], { cwd: directory }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stdout, stderr }) => ({ code, output: `${stdout}${stderr}` }),
  );
}

test('the programs type-check against the declarations of the package', async () => {
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
  const programs = readdirSync(directory).filter((name) => name.endsWith('.ts'));
  expect(programs).toHaveLength(3);
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  const output = await run(tsc, [...flags, ...programs], { cwd: directory }).then(
    () => '',
    ({ stdout }) => stdout,
  );
  expect(output).toBe('');
});

const policy = {
  apiVersion: 'platform.company.com/v1',
  kind: 'Policy',
  metadata: { name: 'replicas' },
  spec: {
    selector: { resourceTypes: ['apps/v1/Deployment'] },
    rules: [{ name: 'limit', expression: 'spec.replicas <= 5', message: 'Use at most five replicas.' }],
  },
};
const deployment = (replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: { replicas },
});

test.each([
  { reason: 'an object within the limit is allowed', replicas: 3, code: 0, output: /^allowed$/m },
  {
    reason: 'one beyond it is denied, with the value',
    replicas: 9,
    code: 1,
    output: /^denied$[\s\S]*spec\.replicas is 9/m,
  },
])('policy-check.ts: $reason', async ({ replicas, ...expected }) => {
  const { code, output } = await program('policy-check', policy, deployment(replicas));
  expect(output).toMatch(expected.output);
  expect(code).toBe(expected.code);
});

const crd = (size: object) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'widgets', kind: 'Widget' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { size } } },
      },
    ],
  },
});

test.each([
  { reason: 'a description is safe', size: { type: 'integer', description: 'New.' }, code: 0, output: /^safe$/m },
  {
    reason: 'a new maximum is breaking, with a witness',
    size: { type: 'integer', maximum: 10 },
    code: 1,
    output: /^breaking$[\s\S]*maximum-added[\s\S]*for example .*11/m,
  },
])('crd-diff.ts: $reason', async ({ size, ...expected }) => {
  const { code, output } = await program('crd-diff', crd({ type: 'integer' }), crd(size));
  expect(output).toMatch(expected.output);
  expect(code).toBe(expected.code);
});

test('controller.ts copies a ConfigMap, repairs the copy, and stops on SIGTERM', async () => {
  const namespace = await cluster.uniqueNamespace('programs');
  const controller = startTestProcess('controller.ts', process.execPath, ['controller.ts', namespace], {
    cwd: directory,
    env: { ...process.env, KUBECONFIG: cluster.kubeconfig },
  });
  try {
    await lineFrom(controller, /^copying ConfigMaps/);
    const value = async () =>
      (await cluster.kubectl(['-n', namespace, 'get', 'configmap', 'a-copy', '-o', 'jsonpath={.data.key}'])).stdout;
    const source = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace, labels: { 'example.com/role': 'source' } },
      data: { key: 'one' },
    };
    await cluster.kubectl(['apply', '-f', '-'], { input: source });
    await eventuallyFrom(controller, async () => (await value()) === 'one');
    const spoiled = '{"data":{"key":"other"}}';
    await cluster.kubectl(['-n', namespace, 'patch', 'configmap', 'a-copy', '--type=merge', '-p', spoiled]);
    await eventuallyFrom(controller, async () => (await value()) === 'one');
    controller.child.kill('SIGTERM');
    expect(await controller.exited).toMatchObject({ code: 0 });
  } finally {
    controller.child.kill('SIGKILL');
  }
});
