/** Two Policies that lock each other: the commands of docs/break-glass.md, in their order, with kidp running and with kidp down. */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { policy } from '../../src/api/index.ts';
import { ensureAssets, freePort, webhookClientName } from '../../src/controlplane/index.ts';
import { type Client, connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { events } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type CommandResult, type ControlPlane, sharedCluster, startControlPlane } from '../support/cluster.ts';
import { eventuallyFrom, startTestProcess, type TestProcess } from '../support/test-process.ts';

const root = join(import.meta.dirname, '..', '..');
const patient = { within: 180_000, every: 200 };
const account = 'system:serviceaccount:kidp-system:kidp';
const member = ['--as=ada', '--as-group=kidp:break-glass'];
const annotation = 'validate-policies-break-glass.kidp.platform.company.com/break-glass';
let folder: string;
let plane: ControlPlane;
let client: Client;
let binaries: string;
let serving: TestProcess;
let start: () => Promise<TestProcess>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-break-glass-'));
  const port = await freePort();
  const rules = [{ level: 'Metadata', resources: [{ group: policy.resource.group }] }, { level: 'None' }];
  plane = await startControlPlane({
    // Its controller-manager aggregates the ClusterRole kidp-read.
    controllerManager: true,
    webhooks: [`127.0.0.1:${port}`],
    audit: { omitStages: ['RequestReceived'], rules },
  });
  client = connect(loadKubeconfig({ file: plane.kubeconfig }));
  binaries = dirname((await ensureAssets(['kubectl'])).kubectl);
  await succeeds(kubectl(['apply', '--server-side', '-f', join(root, 'crds')]));
  await succeeds(kubectl(['apply', '-k', join(root, 'manifests/install')]));
  await succeeds(kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=180s']));
  const ca = join(folder, 'client-ca.crt');
  writeFileSync(ca, plane.webhookAuthority ?? '');
  const kubeconfig = await plane.kubeconfigFor({ name: account, groups: ['system:serviceaccounts'] });
  const words = ['serve', '--kubeconfig', kubeconfig, '--port', String(port), '--url', `https://127.0.0.1:${port}`];
  const accepted = ['--client-ca', ca, '--client-name', webhookClientName];
  start = async () => {
    const flags = [join(root, 'bin/kidp.js'), ...words, ...accepted, '--status-port', '0', '--drain-seconds', '0'];
    const run = startTestProcess('kidp serve', process.execPath, flags, { cwd: root, stdio: 'pipe' });
    let output = '';
    run.child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
    await eventuallyFrom(run, () => output.includes('lease acquired'), { ...patient, waitedFor: 'the Lease' });
    return run;
  };
  serving = await start();
});

afterAll(async () => {
  serving?.kill('SIGKILL');
  await serving?.exited;
  await client?.close();
  await plane?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const kubectl = (flags: readonly string[], input?: string | object) =>
  sharedCluster().kubectl(flags, {
    kubeconfig: plane.kubeconfig,
    ...(input === undefined ? {} : { input }),
  });

async function succeeds(command: Promise<CommandResult>): Promise<CommandResult> {
  const result = await command;
  if (result.code !== 0) throw new Error(result.stderr);
  return result;
}

/** The commands of a section of the page: its indented blocks, without the text between them. */
function commandsOf(heading: string): string[] {
  const text = readFileSync(join(root, 'docs/break-glass.md'), 'utf8');
  const section = text.split(/^## /m).find((each) => each.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/break-glass.md has no section "${heading}"`);
  const blocks: string[][] = [[]];
  for (const line of section.split('\n')) {
    if (/^ {4,}\S/.test(line)) blocks.at(-1)?.push(line);
    else blocks.push([]);
  }
  return blocks
    .filter((block) => block.length > 0)
    .map((block) => {
      const margin = Math.min(...block.map((line) => line.search(/\S/)));
      return block.map((line) => line.slice(margin)).join('\n');
    });
}

/** Runs a command as a user would copy it, from the root of the repository. */
function runs(command: string, name = 'lock-a'): Promise<string> {
  const env = { ...process.env, PATH: `${binaries}:${process.env.PATH}`, KUBECONFIG: plane.kubeconfig };
  return new Promise((resolve, reject) => {
    execFile(
      'bash',
      ['-euo', 'pipefail', '-c', command.replaceAll('NAME', name)],
      { cwd: root, env },
      (error, out, err) => (error === null ? resolve(out + err) : reject(new Error(`${command}\n${out}${err}`))),
    );
  });
}

/** A Policy that lets nobody change or delete any other Policy. Its own test expects that it denies. */
const lock = (name: string) => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Policy',
  metadata: { name },
  spec: {
    selector: { resourceTypes: ['platform.company.com/v1/Policy'], operations: ['UPDATE', 'DELETE'] },
    rules: [{ name: 'locked', expression: 'false', message: `Locked by ${name}` }],
    tests: [
      {
        name: 'denies',
        request: { operation: 'DELETE' },
        oldObject: { apiVersion: 'platform.company.com/v1', kind: 'Policy', metadata: { name: 'other' } },
        expect: { allowed: false },
      },
    ],
  },
});

/** Both are created before either is enforced on every replica, and then nobody can change them. */
async function lockEachOther(): Promise<void> {
  for (const name of ['lock-a', 'lock-b']) await succeeds(kubectl(['create', '-f', '-'], lock(name)));
  for (const name of ['lock-a', 'lock-b']) {
    const other = name === 'lock-a' ? 'lock-b' : 'lock-a';
    await eventually(async () => expect(await refusal(name)).toContain(`policy ${other}, rule locked`), patient);
  }
}

const refusal = async (name: string) =>
  (await kubectl(['delete', 'policies.platform.company.com', name, '--dry-run=server'])).stderr;

const spec = async (name: string) =>
  (await client.get(policy.resource, { name })).spec as { failurePolicy: string; rules: { enforcement?: string }[] };

const removeAll = () =>
  eventually(async () => {
    for (const { metadata } of (await client.list(policy.resource)).items)
      await client
        .impersonate({ user: 'system:admin', groups: ['system:masters', 'kidp:break-glass'] })
        .delete(policy.resource, metadata);
  }, patient);

/** The section on locks, as written; `held` is what an administrator outside of the group gets meanwhile. */
async function getsOut(held: RegExp): Promise<void> {
  const [check = ''] = commandsOf('Before you need it');
  expect(await runs(check)).toContain('yes');
  const [audit = '', ignore = '', remove = '', ...more] = commandsOf('Policies deny too much, or lock each other');
  expect(more).toEqual([]);
  const change = ['patch', 'policies.platform.company.com', 'lock-a', '--type=merge', '-p'];
  for (const flags of [
    ['delete', 'policies.platform.company.com', 'lock-a'],
    [...change, '{"spec": {"failurePolicy": "Ignore"}}'],
  ]) {
    expect((await kubectl(flags)).stderr).toMatch(held);
  }
  await runs(audit);
  expect((await spec('lock-a')).rules[0]?.enforcement).toBe('Audit');
  await runs(ignore);
  expect((await spec('lock-a')).failurePolicy).toBe('Ignore');
  expect((await kubectl(['delete', 'policies.platform.company.com', 'lock-a'])).stderr).toMatch(held);
  await runs(remove);
  await expect(spec('lock-a')).rejects.toThrow(/not found/);
}

test('with kidp running, the page leads out of a lock, and every use is recorded', async () => {
  await lockEachOther();
  await getsOut(/policy lock-b, rule locked/);
  await succeeds(kubectl(['delete', 'policies.platform.company.com', 'lock-b']));

  await eventually(async () => {
    const { items } = await client.list(events, { namespace: 'default' });
    const notes = items.filter((each) => each.reason === 'BreakGlass').map(({ note }) => note);
    for (const what of ['change of enforcement', 'change of failurePolicy', 'deletion'])
      expect(notes).toContain(`${what} by ada was exempt from other Policies: break-glass group`);
  }, patient);
  await eventually(async () => {
    const lines = (await readFile(plane.auditLog ?? '', 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const used = lines.flatMap(({ annotations = {}, impersonatedUser }) =>
      annotations[annotation] === undefined ? [] : [[impersonatedUser?.username, annotations[annotation]]],
    );
    for (const change of ['enforcement', 'failurePolicy', 'delete']) expect(used).toContainEqual(['ada', change]);
  }, patient);
});

test('the group is exempt for exactly that, and has no other rights', async () => {
  await lockEachOther();
  const patch = (...operations: readonly object[]) =>
    kubectl([
      ...member,
      'patch',
      'policies.platform.company.com',
      'lock-a',
      '--type=json',
      '-p',
      JSON.stringify(operations),
    ]);
  const audit = { op: 'add', path: '/spec/rules/0/enforcement', value: 'Audit' };
  const rows: { reason: string; operations: object[] }[] = [
    { reason: 'a label besides', operations: [audit, { op: 'add', path: '/metadata/labels', value: { a: 'b' } }] },
    {
      reason: 'another expression besides',
      operations: [audit, { op: 'replace', path: '/spec/rules/0/expression', value: 'true' }],
    },
    { reason: 'another message alone', operations: [{ op: 'replace', path: '/spec/rules/0/message', value: 'x' }] },
    {
      reason: 'two changes at once',
      operations: [audit, { op: 'replace', path: '/spec/failurePolicy', value: 'Ignore' }],
    },
  ];
  for (const { reason, operations } of rows)
    expect([reason, (await patch(...operations)).stderr]).toEqual([
      reason,
      expect.stringContaining('policy lock-b, rule locked'),
    ]);
  for (const flags of [
    ['create', '-f', '-'],
    ['delete', 'validatingwebhookconfigurations', 'kidp-admission'],
    ['delete', 'policyexceptions.platform.company.com', 'any', '-n', 'policy-exceptions'],
  ])
    expect((await kubectl([...member, ...flags], lock('mine'))).stderr).toContain('forbidden');
  // Without the group, the least privileged user has none of the rights.
  const eve = await kubectl(['--as=eve', 'delete', 'policies.platform.company.com', 'lock-a']);
  expect(eve.stderr).toContain('cannot delete resource "policies"');
  await removeAll();
});

test('with kidp down, the same commands lead out; nobody else writes Policies, and kidp can be reinstalled', async () => {
  await lockEachOther();
  serving.kill('SIGKILL');
  await serving.exited;
  await getsOut(/failed calling webhook/);

  const broken = {
    ...lock('broken'),
    spec: { ...lock('broken').spec, rules: [{ name: 'a', expression: 'object.(' }] },
  };
  expect((await kubectl(['create', '-f', '-'], broken)).stderr).toContain(
    'failed calling webhook "mutate-policies.kidp',
  );
  await expect(spec('broken')).rejects.toThrow(/not found/);

  for (const command of commandsOf('The webhook does not answer')) await runs(command);
  serving = await start();
  await eventually(
    async () => expect((await kubectl(['create', '-f', '-'], broken)).stderr).toContain('line 1'),
    patient,
  );
  // Locked by nobody any more: a Policy is never evaluated for itself.
  await eventually(() => succeeds(kubectl(['delete', 'policies.platform.company.com', 'lock-b'])), patient);

  for (const command of commandsOf('One object must get through')) await runs(command);
  for (const command of commandsOf('Certificates are invalid')) await runs(command);
});
