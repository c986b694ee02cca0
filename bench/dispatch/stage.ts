/**
 * Everything that a deployment passes through, each a process of its own on this machine: etcd and API server, Kafka, one replica of
 * `kidp serve` with the rights of manifests/install, and `kidp broker kubernetes`, which makes a Kubernetes Secret of each object. Both
 * run as they do in a cluster, from what was built: a work tree's source takes 40 MB more, for the compiler that takes its types out.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { API_VERSION, broker, deploymentTarget, type Kind, team } from '../../src/api/index.ts';
import { fileKeyStore, openKeyRing } from '../../src/broker/index.ts';
import { ensureAssets, startControlPlane, startKafka } from '../../src/controlplane/index.ts';
import { createAuthority, issueLeaf } from '../../src/controlplane/pki.ts';
import { freePort } from '../../src/controlplane/ports.ts';
import { type Client, connect, type KubernetesObject, loadKubeconfig, type Resource } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { eventuallyStarted, type LogLine, type Program, superviseProgram } from '../../test/chaos/support/program.ts';
import { layOutPackage } from '../../test/support/package.ts';

export const namespace = 'team-bench';
export const target = 'bench';
export const teamName = 'bench';

export interface Stage {
  readonly client: Client;
  readonly manager: Measured & { lines(): LogLine[] };
  /** It watches what it made: drift is found here, and repaired by the manager. */
  readonly broker: Measured;
  stop(): Promise<void>;
}

/** A process, looked at alone. */
export interface Measured {
  residentMegabytes(): number;
  /** User and system time so far. */
  cpuMilliseconds(): number;
}

const root = join(import.meta.dirname, '..', '..');
const patient = { within: 120_000, every: 200 };

export async function startStage(): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'kidp-bench-'));
  const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const each of undo.splice(0).reverse()) await each();
  };
  try {
    const built = await layOutPackage();
    undo.push(() => built.remove());
    const [plane, kafka] = await Promise.all([startControlPlane(), startKafka()]);
    undo.push(
      () => plane.stop(),
      () => kafka.stop(),
    );
    const client = connect(loadKubeconfig({ file: plane.kubeconfig }));
    undo.push(() => client.close());
    const { kubectl: program } = await ensureAssets(['kubectl']);
    const kubectl = async (...words: string[]) =>
      (await promisify(execFile)(program, [`--kubeconfig=${plane.kubeconfig}`, ...words])).stdout.trim();
    await kubectl('apply', '--server-side', '-f', join(root, 'crds'));
    for (const name of ['install', 'connections']) await kubectl('apply', '-k', join(root, 'manifests', name));
    await kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=90s');
    const token = await kubectl('create', 'token', 'kidp', '-n', 'kidp-system', '--duration=24h');
    const kubeconfig = join(folder, 'kidp.json');
    writeFileSync(kubeconfig, kubeconfigOf(plane.url, plane.authority, token));
    writeCertificates(folder);
    const servers = kafka.bootstrapServers.join(',');
    const [webhook, status] = [await freePort(), await freePort()];
    const statusUrl = `https://127.0.0.1:${status}`;
    const start = async (name: string, words: readonly string[], said: string) => {
      const running = superviseProgram(name, folder, [process.execPath, join(built.place, 'bin', 'kidp.js'), ...words]);
      undo.push(() => running.kill());
      await running.start();
      await eventuallyStarted([running], () => running.lines().some(({ message }) => message === said), patient);
      return running;
    };
    const port = await freePort();
    const manager = await start(
      'manager',
      [
        ...['serve', '--kubeconfig', kubeconfig, '--host', '127.0.0.1', '--port', String(webhook)],
        ...['--url', `https://127.0.0.1:${webhook}`, '--status-port', String(status), '--status-url', statusUrl],
        ...['--status-tls', folder, '--kafka', servers, '--drain-seconds', '0', '--allow-address', `127.0.0.1:${port}`],
      ],
      'ready',
    );
    const keyFile = join(folder, 'broker.keys');
    const keys = await openKeyRing(fileKeyStore(keyFile), { issuer: target, subject: target });
    const publicKeys = keys.jwks().keys.map((key) => JSON.stringify(key));
    keys.close();
    await apply(client, broker, target, {
      channel: 'Both',
      endpoint: `http://127.0.0.1:${port}`,
      identity: { publicKeys, scopes: ['status:write'] },
    });
    const parameters = { namespacePrefix: 'cloud-' };
    await apply(client, deploymentTarget, target, { provider: 'onprem', brokerRef: { name: target }, parameters });
    const worker = await start(
      'broker',
      [
        ...['broker', 'kubernetes', '--kubeconfig', plane.kubeconfig, '--name', target, '--keys', keyFile],
        ...['--host', '127.0.0.1', '--port', String(port), '--kafka', servers],
        ...['--platform-keys', `${statusUrl}/.well-known/jwks.json`, '--status-url', `${statusUrl}/v1/status`],
        ...['--platform-ca', join(folder, 'ca.crt')],
      ],
      'became leader',
    );
    await apply(client, team, teamName, { namespace });
    const namespaces: Resource = {
      group: '',
      version: 'v1',
      plural: 'namespaces',
      kind: 'Namespace',
      namespaced: false,
    };
    await eventually(() => client.get(namespaces, { name: namespace }), patient);
    const measured = (program: Program): Measured => ({
      residentMegabytes: () => residentOf(program.pid ?? 0),
      cpuMilliseconds: () => cpuOf(program.pid ?? 0),
    });
    return {
      client,
      manager: { ...measured(manager), lines: () => manager.lines() },
      broker: measured(worker),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function kubeconfigOf(server: string, authority: string, token: string): string {
  const cluster = { server, 'certificate-authority-data': Buffer.from(authority).toString('base64') };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'plane', cluster }],
    users: [{ name: 'kidp', user: { token } }],
    contexts: [{ name: 'plane', context: { cluster: 'plane', user: 'kidp' } }],
    'current-context': 'plane',
  });
}

/** For the status API. */
function writeCertificates(folder: string): void {
  const signer = createAuthority('kidp-bench');
  const pair = issueLeaf(signer, { commonName: 'status', hosts: ['127.0.0.1'] });
  writeFileSync(join(folder, 'ca.crt'), signer.certificate);
  writeFileSync(join(folder, 'tls.crt'), pair.certificate);
  writeFileSync(join(folder, 'tls.key'), pair.key, { mode: 0o600 });
}

/** `apply` retries: the API server might not reach the webhook yet. */
async function apply(client: Client, kind: Kind, name: string, spec: object): Promise<void> {
  const object = { apiVersion: API_VERSION, kind: kind.kind, metadata: { name }, spec } as KubernetesObject;
  await eventually(() => client.apply(kind.resource, object, { fieldManager: 'bench', force: true }), patient);
}

function residentOf(pid: number): number {
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

/** In the 10 ms that Linux counts in. */
function cpuOf(pid: number): number {
  const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '');
  const fields = afterName.split(' ').map(Number);
  return ((fields[11] ?? 0) + (fields[12] ?? 0)) * 10;
}
