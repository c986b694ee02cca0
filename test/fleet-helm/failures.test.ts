/** What goes wrong on the way to a release: crashes between any two steps, objects that are refused, time that runs out. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { type ClusterConnection, FleetError } from '../../src/fleet/index.ts';
import type { Client } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';
import { eventuallyFrom, startTestProcess } from '../support/test-process.ts';
import { applying, type HelmPlane, openHelmPlane, resources } from './support/setup.ts';

let plane: HelmPlane;
beforeAll(async () => {
  plane = await openHelmPlane('helm-failures');
});
afterAll(() => plane?.stop());

const refusalOf = async (attempt: Promise<unknown>): Promise<FleetError> => {
  const error = await attempt.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof FleetError) return error;
  throw new Error('it was not refused', { cause: error });
};

class Crash extends Error {}

/** As if the process ended there. */
const crash = (): never => {
  throw new Crash('the process has ended');
};

const withClient = (over: Partial<Client>): ClusterConnection => ({
  ...plane.connection,
  client: Object.assign(Object.create(plane.client) as Client, over),
});

const afterHelm = (happens: () => never): ClusterConnection => ({
  ...plane.connection,
  withKubeconfig: async (use) => {
    await use(sharedCluster().kubeconfig);
    return happens();
  },
});

const revisionsThere = async (name: string, namespace: string) =>
  (await plane.client.list(resources.secrets, { namespace, labelSelector: `owner=helm,name=${name}` })).items.map(
    ({ metadata }) => `${metadata.labels?.version} ${metadata.labels?.status}`,
  );

describe('a crash between two steps: asked for again, it goes on from there', () => {
  test.each<{ reason: string; connection: () => ClusterConnection }>([
    { reason: 'before the definition is applied', connection: () => withClient({ apply: async () => crash() }) },
    {
      reason: 'after the definition, before Helm',
      connection: () => ({ ...plane.connection, withKubeconfig: async () => crash() }),
    },
    {
      reason: 'after Helm, before it is written down',
      connection: () => afterHelm(crash),
    },
  ])('$reason', async ({ connection }) => {
    const name = uniqueName('crash');
    const snapshot = await plane.snapshot({ name, version: '1.0.0' }, name);
    await expect(plane.installer.apply(connection(), snapshot, applying('a-1'))).rejects.toThrow(Crash);
    expect(await plane.installer.apply(plane.connection, snapshot, applying('a-1'))).toEqual({ revision: 1 });
    expect(await revisionsThere(name, name)).toEqual(['1 deployed']);
  });

  test('killed in the middle of Helm: Helm goes with it, and who comes after takes the release over', async () => {
    const name = uniqueName('killed');
    const nodeSelector = { [name]: 'here' };
    const snapshot = await plane.snapshot({ name, version: '1.0.0', nodeSelector, hook: true }, name);
    const main = join(import.meta.dirname, 'support', 'apply-main.ts');
    const words = [sharedCluster().kubeconfig, plane.program, plane.systemNamespace, snapshot.name, 'a-1'];
    const installer = startTestProcess('the installer', process.execPath, [main, ...words]);
    // The hook waits for a node that is not there.
    const isPending = async () => (await revisionsThere(name, name)).includes('1 pending-install');
    await eventuallyFrom(installer, isPending, { waitedFor: 'a pending release' });
    expect(helmsFor(name)).toHaveLength(1);
    await installer.kill();
    await eventually(() => helmsFor(name).length === 0);
    const body = { metadata: { labels: nodeSelector } };
    await plane.client.patch(nodes, { name: 'node-0' }, { type: 'merge', body });
    expect(await plane.installer.apply(plane.connection, snapshot, applying('a-1'))).toEqual({ revision: 2 });
    expect((await revisionsThere(name, name)).sort()).toEqual(['1 superseded', '2 deployed']);
    const without = { metadata: { labels: { [name]: null } } };
    await plane.client.patch(nodes, { name: 'node-0' }, { type: 'merge', body: without });
  });
});

const nodes = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false } as const;

/** The runs of Helm that work on a release of this name. */
const helmsFor = (name: string): readonly string[] =>
  readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return words[0] === plane.program && words.includes(name);
    } catch {
      return false;
    }
  });

test('a workload that is not ready in time is named, and can be removed', async () => {
  const name = uniqueName('slow');
  const one = await plane.snapshot({ name, version: '1.0.0', nodeSelector: { [name]: 'never' } }, name);
  // It is installed with all the time it takes; only the wait that comes after it is short.
  const installed = plane.installer.apply(afterHelm(crash), one, applying('a-1'));
  await expect(installed).rejects.toThrow(Crash);
  const options = applying('a-1', { timeoutMilliseconds: 5_000 });
  expect(await refusalOf(plane.installer.apply(plane.connection, one, options))).toMatchObject({
    code: 'helm/timeout',
    message: expect.stringContaining(`Install timed out after 5s: Deployment ${name} has `),
  });
  await plane.installer.remove(plane.connection, { name, namespace: name }, applying('c-1'));
  expect(await revisionsThere(name, name)).toEqual([]);
});

test('a rejection by the API server is reported without quoted values', async () => {
  const name = uniqueName('refused');
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `${name}-bad` },
    spec: { clusterIP: 'hunter2-is-no-address', ports: [{ port: 1 }] },
  };
  const files = { 'templates/bad.yaml': stringify(service) };
  const snapshot = await plane.snapshot({ name, version: '1.0.0', files }, name);
  const lines: string[] = [];
  const options = applying('a-1', { onOutput: (line) => void lines.push(line) });
  const { code, message } = await refusalOf(plane.installer.apply(plane.connection, snapshot, options));
  expect(code).toBe('helm/failed');
  expect(message).toMatch(/^here: .*Service "refused-\w+-bad" is invalid: .*Invalid value: …: must be/);
  expect(`${message}${lines.join('')}`).not.toContain('hunter2');
});

test('a field that no schema has is refused, and not left out in silence', async () => {
  const name = uniqueName('misspelt');
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `${name}-bad` },
    spec: { prots: [{ port: 1 }], ports: [{ port: 1 }] },
  };
  const snapshot = await plane.snapshot(
    { name, version: '1.0.0', files: { 'templates/bad.yaml': stringify(service) } },
    name,
  );
  const { code, message } = await refusalOf(plane.installer.apply(plane.connection, snapshot, applying('a-1')));
  expect(code).toBe('helm/failed');
  expect(message).toContain('.spec.prots: field not declared in schema');
});

test.each([
  {
    reason: 'nobody answers',
    user: {},
    server: 'https://127.0.0.1:1',
    expected: { code: 'cluster/unreachable', temporary: true },
  },
  {
    reason: 'the credentials are good for nothing',
    user: { token: 'nobody-knows-it' },
    server: undefined,
    expected: { code: 'cluster/forbidden', temporary: false },
  },
])('Helm cannot work there: $reason', async ({ user, server, expected }) => {
  const { url, authority } = sharedCluster().controlPlane;
  const name = uniqueName('away');
  const snapshot = await plane.snapshot({ name, version: '1.0.0' }, name);
  const kubeconfig = join(tmpdir(), `${name}.yaml`);
  const cluster = { server: server ?? url, 'certificate-authority-data': Buffer.from(authority).toString('base64') };
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'here',
      clusters: [{ name: 'here', cluster }],
      users: [{ name: 'here', user }],
      contexts: [{ name: 'here', context: { cluster: 'here', user: 'here' } }],
    }),
    { mode: 0o600 },
  );
  const connection: ClusterConnection = { ...plane.connection, withKubeconfig: (use) => use(kubeconfig) };
  const refusal = await refusalOf(plane.installer.apply(connection, snapshot, applying('a-1')));
  expect(refusal).toMatchObject(expected);
  expect(refusal.message).not.toContain('nobody-knows-it');
  rmSync(kubeconfig);
});
