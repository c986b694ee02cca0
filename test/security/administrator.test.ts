/** The kubeconfig that `npm start` prints is an ordinary administrator: not the reconciler of the platform, and bound by its gates. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type CommandResult, sharedCluster } from '../support/cluster.ts';
import { eventuallyFrom, startTestProcess, type TestProcess } from '../support/test-process.ts';

const root = join(import.meta.dirname, '..', '..');
const patient = { within: 180_000, every: 200 };
/** Without Java there is no Kafka, which is not needed here. */
const env = { ...process.env, PATH: dirname(process.execPath) };
let folder: string;
let run: TestProcess;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-administrator-'));
  run = startTestProcess('kidp up', process.execPath, [join(root, 'bin/kidp.js'), 'up', '--directory', folder], {
    cwd: root,
    env,
    stdio: 'pipe',
  });
  let output = '';
  run.child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  run.child.stderr?.resume();
  await eventuallyFrom(run, () => /ready in/.test(output), { ...patient, within: 400_000, waitedFor: '"ready in"' });
  expect(output).toContain(`kubeconfig  ${folder}/kubeconfig`);
  expect(await kubectl(['apply', '-f', join(root, 'examples/quickstart/team.yaml')])).toMatchObject({ code: 0 });
  expect(await kubectl(['apply', '-f', '-'], requested)).toMatchObject({ code: 0 });
  await eventually(async () => {
    const { stdout } = await kubectl(['get', ...users, '-o', 'jsonpath={.metadata.finalizers}']);
    expect(stdout).toContain('platform.company.com/cleanup-resources');
  }, patient);
}, 600_000);

afterAll(async () => {
  run?.kill('SIGINT');
  await run?.exited;
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
});

const users = ['databases.platform.company.com/users', '-n', 'team-backend'];
const noFinalizers = '{"metadata":{"finalizers":null}}';
const digest = `sha256:${'0'.repeat(64)}`;
/** The name of another requester, which only the reconciler may record. */
const requested = {
  apiVersion: 'platform.company.com/v1',
  kind: 'Approval',
  metadata: { name: 'own' },
  spec: {
    subject: { kind: 'OperatorDeployment', name: 'greeter', uid: '1', digest },
    requester: 'somebody-else',
    requiredApprovals: 1,
    decisions: [],
  },
};
const decided = '[{"op":"add","path":"/spec/decisions","value":[{"decision":"Approve"}]}]';

test('the printed kubeconfig is neither the reconciler nor in system:masters', async () => {
  const { stdout } = await kubectl(['auth', 'whoami', '-o', 'json']);
  const { username, groups } = JSON.parse(stdout).status.userInfo;
  expect(username).toBe('administrator');
  expect(groups).toEqual(['kidp:administrators', 'system:authenticated']);
  // Still an administrator: that they can grant rights and impersonate is in docs/security/threat-model.md.
  expect((await kubectl(['auth', 'can-i', '*', '*', '-A'])).stdout.trim()).toBe('yes');
});

test('the platform works with the roles of manifests/install, the broker with those of manifests/brokers', async () => {
  // Reconciled by the platform, deployed by the broker: both had the rights that this takes.
  await eventually(async () => {
    const { stdout } = await kubectl(['get', ...users, '-o', 'jsonpath={.status.phase}']);
    expect(stdout).toBe('ready');
  }, patient);
  for (const { user, verb, resource, reason } of [
    { user: platform, verb: 'impersonate', resource: 'users', reason: 'it is not an administrator' },
    { user: platform, verb: 'create', resource: 'clusterrolebindings', reason: 'it cannot grant itself rights' },
    { user: platform, verb: 'escalate', resource: 'clusterroles', reason: 'it cannot widen a role' },
    { user: platform, verb: 'bind', resource: 'clusterroles', reason: 'it cannot bind a role that it does not hold' },
    { user: platform, verb: 'delete', resource: 'pods', reason: 'it does not write workloads' },
    { user: platform, verb: 'delete', resource: 'namespaces', reason: 'it never deletes a namespace' },
    { user: broker, verb: 'patch', resource: 'databases.platform.company.com', reason: 'it reports, and writes none' },
    { user: broker, verb: 'create', resource: 'rolebindings', reason: 'it grants nothing' },
    { user: broker, verb: 'delete', resource: 'namespaces', reason: 'it never deletes a namespace' },
    { user: broker, verb: 'get', resource: 'configmaps', reason: 'its records are in its own namespace' },
  ]) {
    const { stdout } = await kubectl(['auth', 'can-i', verb, resource, '-A', '--as', user]);
    expect({ user, verb, resource, reason, answer: stdout.trim() }).toMatchObject({ answer: 'no' });
  }
});

const platform = 'system:serviceaccount:kidp-system:kidp';
const broker = 'system:serviceaccount:kidp-brokers:kidp-broker';

test.each([
  { reason: 'a merge patch', words: ['patch', ...users, '--type=merge', '-p', noFinalizers] },
  {
    reason: 'a JSON patch',
    words: ['patch', ...users, '--type=json', '-p', '[{"op":"remove","path":"/metadata/finalizers"}]'],
  },
])('$reason does not remove the finalizer of a live object', async ({ words }) => {
  // Admission adds it again in the same request: the stored object never was without it.
  const { stdout } = await kubectl([...words, '-o', 'json']);
  expect(JSON.parse(stdout).metadata.finalizers).toContain('platform.company.com/cleanup-resources');
});

test.each([
  {
    reason: 'a decision on a request of their own, for which they named somebody else',
    words: ['patch', 'approvals.platform.company.com/own', '--type=json', '-p', decided],
    denied: /user "administrator" requested this Approval and must not decide on it/,
  },
])('denied: $reason', async ({ words, denied }) => {
  const { code, stderr } = await kubectl(words);
  expect(code).not.toBe(0);
  expect(stderr).toMatch(denied);
});

/** As the printed user. */
const kubectl = (words: readonly string[], input?: object): Promise<CommandResult> =>
  sharedCluster().kubectl(words, {
    kubeconfig: join(folder, 'kubeconfig'),
    ...(input === undefined ? {} : { input }),
  });
