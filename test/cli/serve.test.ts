/** `kidp serve` as manifests/install runs it: several replicas on a real API server, with the rights of its ServiceAccount and no more. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfiguration, webhookConfigurations } from '../../src/admission/configuration/apply.ts';
import { configurationName, phases } from '../../src/admission/configuration/build.ts';
import { type Policy, policy } from '../../src/api/index.ts';
import { customResourceDefinitions } from '../../src/cli/up/definitions.ts';
import { ensureAssets, freePort } from '../../src/controlplane/index.ts';
import { newKeySet, writeKubeconfig } from '../../src/fleet/index.ts';
import { type Report, reports } from '../../src/reconcile/policies/reports.ts';
import { type Client, connect, getCondition, loadKubeconfig } from '../../src/runtime/index.ts';
import { events } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type ControlPlane, sharedCluster, startControlPlane } from '../support/cluster.ts';
import { openReportsDefinitions } from '../support/openreports.ts';
import { startCollector } from '../support/otlp-collector.ts';
import { eventuallyFrom, ProcessGroup, startTestProcess } from '../support/test-process.ts';

const root = join(import.meta.dirname, '..', '..');
const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const patient = { within: 180_000, every: 100 };
const running = new Set<ChildProcess>();
let folder: string;
let plane: ControlPlane;
/** The API server presents its client certificate there. */
let ports: number[];
let client: Client;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-serve-'));
  ports = [await freePort(), await freePort()];
  // Its controller-manager aggregates the ClusterRole kidp-read.
  plane = await startControlPlane({ controllerManager: true, webhooks: ports.map((port) => `127.0.0.1:${port}`) });
  writeFileSync(join(folder, 'client-ca.crt'), plane.webhookAuthority ?? '');
  client = connect(loadKubeconfig({ file: plane.kubeconfig }));
  await kubectl('apply', '--server-side', '-f', join(root, 'crds'));
  for (const definition of openReportsDefinitions()) await client.create(customResourceDefinitions, definition);
  await kubectl('apply', '-k', join(root, 'manifests/install'));
  await kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=180s');
  // The read access of the policies below, as an administrator grants it.
  writeFileSync(join(folder, 'policy.json'), JSON.stringify(policyObject('marked')));
  await kubectl('apply', '-f', await readRoleFor(join(folder, 'policy.json')));
  // The one ConfigMap of the controller-manager is no finding.
  await eventually(() => kubectl('label', 'configmap', 'kube-root-ca.crt', '-n', 'default', 'mark=true'), patient);
});
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await client?.close();
  await plane?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('replicas judge, report and take over from one another', async () => {
  const kubeconfig = await kubeconfigOf('kidp');
  await client.create(configMaps, configMap('before'));
  const port = ports.pop() ?? 0;
  const words = authenticated(kubeconfig, port);
  const processes = new ProcessGroup();
  const start = () => serve([...words, '--reuse-port', '--drain-seconds', '1', '--log-level', 'debug'], processes);
  const replicas = [start(), start()];
  for (const replica of replicas) await replica.until('ready');

  await client.create(policy.resource, policyObject('marked'));
  await untilReady('marked', 2, processes);
  expect(await refusal()).toContain('policy marked, rule rule: metadata.labels is not set. Mark it');
  await processes.eventually(async () => (await statusOf('marked'))?.violations === 1, patient);
  const report = await processes.eventually(
    () => client.get<Report>(reports, { namespace: 'default', name: 'kidp' }),
    patient,
  );
  expect(report.results.map(({ policy: by, resources }) => [by, resources[0]?.name])).toEqual([['marked', 'before']]);
  await expect(client.create(configMaps, configMap('after'))).rejects.toThrow('policy marked');
  await processes.eventually(
    async () => (await client.list(events, { namespace: 'default' })).items.length > 0,
    patient,
  );

  // No second installation can join and disable it; if that happens anyway, it restores its configurations, and only once.
  const installed = await storedWebhooks();
  expect(await joining()).toMatch(
    /^kidp: kidp is installed in this cluster \(\w+WebhookConfiguration kidp-admission belongs to the installation whose Lease is kidp-system\/kidp\)[^\n]*disable that admission webhook\. Use the existing installation[^\n]*\n$/,
  );
  expect(await storedWebhooks()).toEqual(installed);
  const guest = webhookConfigurations({
    client,
    installer: { id: 'guest', sharesCertificates: false },
    target: { url: 'https://127.0.0.1:1' },
    failurePolicy: 'Ignore',
    bundle: () => ({ pem: 'not a certificate', generation: 9 }),
    platformNamespace: 'kube-system',
    breakGlassGroup: 'kidp:break-glass',
  });
  await guest.apply([]);
  await processes.eventually(async () => isDeepStrictEqual(await storedWebhooks(), installed), patient);
  expect(await refusal()).toContain('policy marked');
  await guest.remove();
  expect(await storedWebhooks()).toEqual(installed);
  // Gone with the mark of another, as a run leaves them that was not put right in between.
  const annotations = {
    'platform.company.com/installed-by': 'guest',
    'platform.company.com/installation': 'other/kidp',
  };
  for (const { resource } of phases) {
    await client.patch(resource, { name: configurationName }, { type: 'merge', body: { metadata: { annotations } } });
    await client.delete(resource, { name: configurationName });
  }
  await processes.eventually(async () => isDeepStrictEqual(await storedWebhooks(), installed), patient);
  await processes.eventually(async () => (await refusal()).includes('policy marked'), patient);

  // Stopping the leader is not noticed by users, and another replica leads.
  const leader = replicas.find(({ leads }) => leads());
  const other = replicas.find((replica) => replica !== leader);
  if (leader === undefined || other === undefined) throw new Error('nobody leads');
  leader.kill('SIGTERM');
  do expect(await refusal()).toContain('policy marked');
  while (!leader.hasEnded());
  expect(await leader.ended).toBe(0);
  await other.until('lease acquired');
  await client.create(policy.resource, policyObject('second', forThoseWhoMayCreate));
  await untilReady('second', 1, processes);
  expect(await refusal()).toContain('policy second');

  // The new leader is killed: what it had in its hands may fail, and then the third answers, and leads.
  const third = start();
  await third.until('ready');
  other.kill('SIGKILL');
  await other.ended;
  await processes.eventually(async () => (await refusal()).includes('policy second'), patient);
  await third.until('lease acquired');
  expect(await refusal()).toContain('policy second');

  // The last one ends, and the configurations stay: a cluster is not open because nobody answers.
  third.kill('SIGTERM');
  expect(await third.ended).toBe(0);
  expect(await refusal()).toContain('failed calling webhook');
  expect(await joining()).toContain('kidp is installed in this cluster');
  for (const { lines, errors } of [...replicas, third]) {
    expect(errors()).toBe('');
    for (const line of lines()) expect(line).not.toMatch(/forbidden/i);
  }
});

test('missing permissions are reported in one sentence', async () => {
  const kubeconfig = await kubeconfigOf('default');
  const run = serve(['--kubeconfig', kubeconfig, '--service', 'kidp', '--port', String(await freePort())]);
  expect(await run.ended).toBe(2);
  expect(run.errors()).toMatch(
    /^kidp: The user of context .* is not allowed to get, list, watch policies\.platform\.company\.com; .*create secrets in kidp-system; .*configmaps in kidp-system\. .*manifests\/install.*\n$/,
  );
});

test('with keys for clusters it rolls out, and serves the REST API with the rights of manifests/rbac and no more', async () => {
  await kubectl('apply', '-k', join(root, 'manifests/rbac'));
  writeFileSync(join(folder, 'cluster-keys.json'), await newKeySet(), { mode: 0o600 });
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  writeFileSync(join(folder, 'jwks.json'), JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] }));
  const port = await freePort();
  const { helm } = await ensureAssets(['helm']);
  const collector = await startCollector();
  const processes = new ProcessGroup();
  const flags = [
    ...['--kubeconfig', await kubeconfigOf('kidp'), '--port', String(port), '--url', `https://127.0.0.1:${port}`],
    ...['--cluster-keys', join(folder, 'cluster-keys.json'), '--helm', helm, '--drain-seconds', '0'],
    ...['--otlp-endpoint', collector.url, '--allow-address', new URL(plane.url).host],
    ...['--rest-port', '0', '--rest-jwks', join(folder, 'jwks.json'), '--rest-group', 'ops=kidp:admin'],
  ];
  const run = serve(flags, processes);
  await run.until('lease acquired');
  const { restPort } = run
    .lines()
    .map((line) => JSON.parse(line))
    .find(({ message }) => message === 'serving');
  const token = await new SignJWT({ groups: ['ops'] })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setSubject('ann@example.com')
    .setAudience('kidp')
    .setExpirationTime('1h')
    .sign(privateKey);
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  const ask = async (path: string, body?: object) => {
    const answer = await request(`https://127.0.0.1:${restPort}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      dispatcher,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> };
  };
  const kubeconfig = writeKubeconfig(loadKubeconfig({ file: plane.kubeconfig }));
  const made = await ask('/api/v1/clusters', { name: 'itself', environment: 'Dev', kubeconfig });
  expect(made).toMatchObject({ status: 201, body: { name: 'itself' } });
  await processes.eventually(
    async () => (await ask('/api/v1/clusters/itself/health')).body.health === 'Healthy',
    patient,
  );
  expect((await ask('/api/v1/operators')).body).toEqual({ items: [] });
  await dispatcher.close();
  await kubectl('delete', 'cluster.platform.company.com/itself', '--timeout=180s');
  run.kill('SIGTERM');
  expect(await run.ended).toBe(0);
  expect(run.errors()).toBe('');
  for (const line of run.lines()) expect(line).not.toMatch(/forbidden/i);

  // What it has counted goes out before it ends, by the names of requirement 002.
  await collector.stop();
  expect(collector.problems).toEqual([]);
  const exported = collector.requests.findLast(({ body }) => body.resourceMetrics !== undefined);
  const { metrics } = exported?.body.resourceMetrics[0].scopeMetrics[0] ?? {};
  const names: string[] = metrics.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(requiredMetrics));
  const registered = metrics.find(({ name }: { name: string }) => name === 'clusters.registered.total');
  expect(registered.sum.dataPoints).toMatchObject([{ asDouble: 1 }]);
});

const requiredMetrics = [
  ...['operators.deployed.total', 'operators.rollback.total', 'operators.failed.total'],
  ...['clusters.registered.total', 'crds.validated.total'],
  ...['operator.deploy.duration', 'operator.rollback.duration', 'operator.healthcheck.duration'],
  ...['helm.install.duration', 'operators.count', 'clusters.count', 'deployments.active'],
  ...['operators.healthy', 'operators.unhealthy'],
];

test('the rights that every replica needs are enough where it may read nothing else; without its Lease it ends', async () => {
  const { stdout } = await kubectl('kustomize', join(root, 'manifests/install'));
  expect(stdout).toContain('name: kidp-read');
  await kubectl('delete', 'clusterrolebinding', 'kidp-read');
  const port = ports.pop() ?? 0;
  const kubeconfig = await kubeconfigOf('kidp');
  const words = authenticated(kubeconfig, port);
  const processes = new ProcessGroup();
  const run = serve([...words, '--drain-seconds', '0'], processes);
  await run.until('lease acquired');
  await processes.eventually(async () => (await refusal()).includes('policy marked'), patient);

  // A replica that lost the Lease does not lead again: it exits, so that it is restarted.
  await kubectl('delete', 'lease', 'kidp', '-n', 'kidp-system');
  expect(await run.ended).toBe(1);
  expect(run.says('lease lost')).toBe(true);
  expect(run.says('stopped')).toBe(true);
});

const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } });

const policyObject = (name: string, more: object = {}) => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Policy',
  metadata: { name },
  spec: {
    selector: { resourceTypes: ['core/v1/ConfigMap'], namespaces: ['default'] },
    rules: [{ name: 'rule', expression: "has(metadata.labels) && 'mark' in metadata.labels", message: 'Mark it' }],
    ...more,
  },
});

/** Asks what the user may do: the replica needs the right to ask. */
const forThoseWhoMayCreate = {
  matchConditions: [
    { name: 'may-create', expression: "authorizer.group('').resource('configmaps').check('create').allowed()" },
  ],
};

/** What is said to a ConfigMap that violates every policy here. */
async function refusal(): Promise<string> {
  try {
    await client.create(configMaps, configMap('tried'), { dryRun: true });
    return 'admitted';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** What is said to who would join the cluster from a machine of theirs. */
async function joining(): Promise<string> {
  const words = ['up', '--kubeconfig', plane.kubeconfig, '--directory', folder];
  const child = spawn(process.execPath, [join(root, 'bin', 'kidp.js'), ...words], { cwd: root, stdio: 'pipe' });
  running.add(child);
  let errors = '';
  child.stdout.resume();
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const code = await new Promise((resolve) => child.on('close', resolve));
  running.delete(child);
  expect(code).toBe(2);
  return errors;
}

const storedWebhooks = () =>
  Promise.all(phases.map(async ({ resource }) => (await readConfiguration(client, resource))?.webhooks));

const statusOf = async (name: string) => (await client.get<Policy>(policy.resource, { name })).status;

async function untilReady(name: string, replicas: number, processes: ProcessGroup): Promise<void> {
  await processes.eventually(async () => {
    const status = await statusOf(name);
    const ready = getCondition(status?.conditions as Parameters<typeof getCondition>[0], 'Ready');
    return ready?.status === 'True' && Object.keys(status?.replicas ?? {}).length === replicas;
  }, patient);
}

/** The flags of a replica that answers only the API server. */
const authenticated = (kubeconfig: string, port: number) => [
  ...['--kubeconfig', kubeconfig, '--port', String(port), '--url', `https://127.0.0.1:${port}`],
  ...['--client-ca', join(folder, 'client-ca.crt')],
];

async function kubectl(...words: string[]) {
  const result = await sharedCluster().kubectl(words, { kubeconfig: plane.kubeconfig });
  if (result.code !== 0) throw new Error(`kubectl ${words.join(' ')}: ${result.stderr}`);
  return result;
}

/** Writes the output of `kidp rbac` to a file. */
async function readRoleFor(policies: string): Promise<string> {
  const file = join(folder, 'role.yaml');
  const words = [join(root, 'bin', 'kidp.js'), 'rbac', '-f', policies];
  writeFileSync(file, execFileSync(process.execPath, words, { cwd: root }));
  return file;
}

/** Of a ServiceAccount in kidp-system, with a token as a Pod of it would get. */
async function kubeconfigOf(account: string): Promise<string> {
  if (account === 'default')
    await sharedCluster().kubectl(['create', 'serviceaccount', account, '-n', 'kidp-system'], {
      kubeconfig: plane.kubeconfig,
    });
  const { stdout } = await kubectl('create', 'token', account, '-n', 'kidp-system');
  const file = join(folder, `${account}.json`);
  const cluster = { server: plane.url, 'certificate-authority-data': Buffer.from(plane.authority).toString('base64') };
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'plane', cluster }],
      users: [{ name: account, user: { token: stdout.trim() } }],
      contexts: [{ name: 'plane', context: { cluster: 'plane', user: account } }],
      'current-context': 'plane',
    }),
  );
  return file;
}

function serve(words: readonly string[], processes = new ProcessGroup()) {
  const flags = [join(root, 'bin', 'kidp.js'), 'serve', '--status-port', '0', ...words];
  const started = startTestProcess('kidp serve', process.execPath, flags, { cwd: root, stdio: 'pipe' });
  const { child } = processes.add(started);
  running.add(child);
  let output = '';
  let errors = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const ended = started.exited.then(({ code }) => {
    running.delete(child);
    return code ?? -1;
  });
  const lines = () => output.split('\n').slice(0, -1);
  const says = (message: string) => lines().some((line) => JSON.parse(line).message === message);
  return {
    ended,
    says,
    hasEnded: () => started.hasExited,
    lines,
    errors: () => errors,
    leads: () => says('lease acquired'),
    kill: (signal: NodeJS.Signals) => void started.kill(signal),
    until: (message: string) =>
      eventuallyFrom(started, () => says(message), { ...patient, waitedFor: `the log message "${message}"` }),
  };
}
