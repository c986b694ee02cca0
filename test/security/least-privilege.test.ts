/** The default install reads no Secrets; a policy that needs more says so, and gets it from an administrator without a restart. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../src/controlplane/ports.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type ControlPlane, sharedCluster, startControlPlane } from '../support/cluster.ts';
import { getMetrics } from '../support/metrics.ts';
import { eventuallyFrom, startTestProcess, type TestProcess } from '../support/test-process.ts';

const root = join(import.meta.dirname, '..', '..');
const patient = { within: 180_000, every: 200 };
const account = 'system:serviceaccount:kidp-system:kidp';
let folder: string;
let plane: ControlPlane;
let run: TestProcess;
let port: number;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-least-'));
  // Its controller-manager aggregates the ClusterRole kidp-read.
  plane = await startControlPlane({ controllerManager: true });
  await kubectl(['apply', '--server-side', '-f', join(root, 'crds')]);
  await kubectl(['apply', '-k', join(root, 'manifests/install')]);
  await kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=180s']);
  await eventually(async () => expect(await may('list', 'pods')).toBe('yes'), patient);
  port = await freePort();
  const kubeconfig = await plane.kubeconfigFor({ name: account, groups: ['system:serviceaccounts'] });
  const words = ['serve', '--kubeconfig', kubeconfig, '--port', String(port), '--url', `https://127.0.0.1:${port}`];
  const flags = [join(root, 'bin/kidp.js'), ...words, '--status-port', '0', '--drain-seconds', '0'];
  run = startTestProcess('kidp serve', process.execPath, flags, { cwd: root, stdio: 'pipe' });
  let output = '';
  run.child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  await eventuallyFrom(run, () => output.includes('lease acquired'), { ...patient, waitedFor: 'the Lease' });
});

afterAll(async () => {
  run?.kill('SIGKILL');
  await run?.exited;
  await plane?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  { verb: 'get', resource: 'secrets', reason: 'credentials of every team' },
  { verb: 'list', resource: 'secrets', reason: 'a list contains the values too' },
  { verb: 'watch', resource: 'secrets', reason: 'so does a watch' },
  { verb: 'list', resource: 'configmaps', reason: 'no starter policy matches them' },
  { verb: 'create', resource: 'pods', reason: 'a Pod could mount any Secret of its namespace' },
  { verb: 'create', resource: 'serviceaccounts/token', reason: 'a token of another account' },
  { verb: 'impersonate', resource: 'users', reason: 'it would be an administrator' },
  { verb: 'create', resource: 'clusterroles', reason: 'kidp-read is aggregated from them' },
  { verb: 'patch', resource: 'clusterroles', reason: 'so is a label on an existing one' },
  { verb: 'create', resource: 'clusterrolebindings', reason: 'a grant for itself' },
  { verb: 'escalate', resource: 'clusterroles', reason: 'more than it holds' },
  { verb: 'bind', resource: 'clusterroles', reason: 'more than it holds' },
  { verb: 'escalate', resource: 'roles', reason: 'team roles grant only what it holds itself' },
  { verb: 'bind', resource: 'roles', reason: 'team roles grant only what it holds itself' },
])('the default install cannot $verb $resource: $reason', async ({ verb, resource }) => {
  expect(await may(verb, resource)).toBe('no');
});

test('a policy on Secrets reports the missing right, and is scanned once it is granted; the others go on', async () => {
  await kubectl(['create', 'secret', 'generic', 'unmarked', '-n', 'default']);
  await kubectl(['apply', '-f', '-'], marked('secrets-marked', 'core/v1/Secret'));
  await kubectl(['apply', '-f', '-'], marked('pods-marked', 'core/v1/Pod'));
  const access = (name: string) => condition(name, 'ReadAccess');
  await eventually(async () => expect(await access('secrets-marked')).toMatchObject({ status: 'False' }), patient);
  const { reason, message } = await access('secrets-marked');
  expect({ reason, message }).toMatchObject({
    reason: 'Forbidden',
    message: expect.stringContaining('kidp must not list and watch secrets'),
  });
  await eventually(async () => expect(await access('pods-marked')).toMatchObject({ status: 'True' }), patient);
  await eventually(async () => expect((await status('pods-marked')).lastScanTime).toBeDefined(), patient);
  // It is enforced meanwhile: admission is sent the objects.
  await eventually(async () => {
    const { stderr } = await tried(['create', 'secret', 'generic', 'tried', '-n', 'default', '--dry-run=server']);
    expect(stderr).toContain('policy secrets-marked');
  }, patient);
  expect(await metrics()).toContain(
    'kidp_policy_missing_read_permissions{policy="secrets-marked",resource="secrets"} 1',
  );

  const printed = message.slice(message.indexOf('apiVersion:'));
  await kubectl(['apply', '-f', '-'], printed);
  await eventually(async () => expect(await access('secrets-marked')).toMatchObject({ status: 'True' }), patient);
  await eventually(async () => expect((await status('secrets-marked')).violations).toBeGreaterThanOrEqual(1), patient);
  expect(await metrics()).not.toContain('kidp_policy_missing_read_permissions{');
  expect(run.hasExited).toBe(false);
});

test('kidp rbac leaves Secrets out unless they are asked for', () => {
  const file = join(folder, 'policy.json');
  writeFileSync(file, JSON.stringify(marked('secrets-marked', 'core/v1/Secret')));
  const rbac = (...words: string[]) =>
    execFileSync(process.execPath, [join(root, 'bin/kidp.js'), 'rbac', '-f', file, ...words], {
      cwd: root,
      encoding: 'utf8',
      stdio: 'pipe',
    });
  expect(rbac()).toContain('rules: []');
  expect(rbac('--include-secrets')).toContain('resources: [secrets]');
});

const marked = (name: string, type: string) => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Policy',
  metadata: { name },
  spec: {
    selector: { resourceTypes: [type], namespaces: ['default'] },
    rules: [{ name: 'rule', expression: "has(metadata.labels) && 'mark' in metadata.labels", message: 'Mark it' }],
  },
});

const tried = (words: readonly string[], input?: string | object) =>
  sharedCluster().kubectl(words, { kubeconfig: plane.kubeconfig, ...(input === undefined ? {} : { input }) });

async function kubectl(words: readonly string[], input?: string | object): Promise<string> {
  const { code, stdout, stderr } = await tried(words, input);
  if (code !== 0) throw new Error(`kubectl ${words.join(' ')}: ${stderr}`);
  return stdout;
}

const may = async (verb: string, resource: string) =>
  (await tried(['auth', 'can-i', verb, resource, '-A', '--as', account])).stdout.trim();

const status = async (name: string) =>
  JSON.parse(await kubectl(['get', `policies.platform.company.com/${name}`, '-o', 'json'])).status ?? {};

const condition = async (name: string, type: string): Promise<{ status: string; reason: string; message: string }> =>
  (await status(name)).conditions?.find((each: { type: string }) => each.type === type);

async function metrics(): Promise<string> {
  const token = (await kubectl(['create', 'token', 'kidp-metrics', '-n', 'kidp-system'])).trim();
  const { status, text } = await getMetrics(`https://127.0.0.1:${port}`, token);
  expect({ status, text }).toMatchObject({ status: 200 });
  return text;
}
