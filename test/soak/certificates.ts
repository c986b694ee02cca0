/**
 * Certificates that turn under load: two replicas of the webhook on one port, a leaf that lives for seconds, and an authority
 * that is replaced again and again because somebody deletes its key. Meanwhile the API server calls the webhook (failurePolicy
 * Fail), clients come with a new connection each time, trusting only what the webhook configuration says, and others keep
 * theirs open throughout. Not one request may fail.
 */
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { parse } from 'yaml';
import { database as databaseKind } from '../../src/api/index.ts';
import { startControlPlane } from '../../src/controlplane/index.ts';
import {
  ApiError,
  type Client,
  connect,
  isNotFound,
  type KubernetesObject,
  loadKubeconfig,
  type Resource,
} from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { lineFrom, ProcessGroup, startTestProcess, type TestProcess } from '../support/test-process.ts';

const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
const { resource: databases } = databaseKind;
const namespaces: Resource = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false };
const secrets: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
const configurations: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingwebhookconfigurations',
  kind: 'ValidatingWebhookConfiguration',
  namespaced: false,
};
const namespace = 'certificates';
const program = join(import.meta.dirname, '..', 'runtime', 'support', 'replica.ts');
const manifest = join(import.meta.dirname, '..', '..', 'crds', 'databases.yaml');
/** Two authorities close upon each other, then long enough without that the leaf is renewed by the same one. */
const forcedRotationMilliseconds = [4000, 22_000] as const;

export interface CertificatesReport {
  /** Requests by how they came. */
  requests: { throughApiServer: number; denied: number; newConnections: number; keptConnections: number };
  /** Different certificates that new connections were shown. */
  leaves: number;
  authorities: number;
  failures: string[];
}

export interface CertificatesRun {
  minutes: number;
  log: (line: string) => void;
  /** Of a machine that does much else: how many times as long everybody waits between two requests. */
  pauseFactor?: number;
  /** Goes on until this is so, though the time is over; but at most for `longestMinutes` in all. */
  enough?: (report: CertificatesReport) => boolean;
  longestMinutes?: number;
}

export async function run(options: CertificatesRun): Promise<CertificatesReport> {
  const { log } = options;
  const plane = await startControlPlane();
  const client = connect(loadKubeconfig({ file: plane.kubeconfig }));
  const replicas: Replica[] = [];
  try {
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await client.apply(definitions, parse(await readFile(manifest, 'utf8')), { fieldManager: 'test' });
    await eventually(() => client.list(databases, { namespace }));
    await client.create(databases, database('standing', 'backend-team'));
    const processes = new ProcessGroup();
    const first = await startReplica(processes, { kubeconfig: plane.kubeconfig, identity: 'one', port: 0 });
    replicas.push(
      first,
      await startReplica(processes, { kubeconfig: plane.kubeconfig, identity: 'two', port: first.port }),
    );
    await processes.eventually(() => isDenied(client));
    const report = await load(client, first.port, options);
    const { requests, leaves, authorities, failures } = report;
    log(`${JSON.stringify(requests)}; ${leaves} leaves of ${authorities} authorities; ${failures.length} failures`);
    if (failures.length > 0) throw new Error(`requests failed:\n${failures.slice(0, 10).join('\n')}`);
    return report;
  } finally {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await client.close();
    await plane.stop();
  }
}

async function load(
  client: Client,
  port: number,
  { minutes, pauseFactor = 1, enough = () => true, longestMinutes = minutes }: CertificatesRun,
): Promise<CertificatesReport> {
  const began = performance.now();
  const failures: string[] = [];
  const requests = { throughApiServer: 0, denied: 0, newConnections: 0, keptConnections: 0 };
  const leaves = new Set<string>();
  const authorities = new Set<string>();
  const report = () => ({ requests, leaves: leaves.size, authorities: authorities.size, failures });
  const isOver = () => {
    const passed = (performance.now() - began) / 60_000;
    return passed >= longestMinutes || (passed >= minutes && enough(report()));
  };
  const during = async (name: string, pauseMilliseconds: number, once: () => Promise<void>) => {
    while (!isOver()) {
      await once().catch((error: unknown) => failures.push(`${new Date().toISOString()} ${name}: ${described(error)}`));
      await sleep(pauseMilliseconds * pauseFactor);
    }
  };
  const kept = Array.from({ length: 3 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  // These connections are made now, under the first authority, and must outlive all that follow.
  const trustedAtFirst = await publishedBundle(client);
  const sockets = new Map<Agent, number | undefined>();

  await Promise.all([
    ...Array.from({ length: 3 }, (_, worker) =>
      during('create through the API server', 15, async () => {
        await client.create(databases, database(`new-${worker}`, 'backend-team'), { dryRun: true });
        requests.throughApiServer += 1;
      }),
    ),
    during('owner changed through the API server', 20, async () => {
      if (!(await isDenied(client))) throw new Error('the change of owner was admitted, or denied by another webhook');
      requests.denied += 1;
    }),
    during('new connection', 20, async () => {
      const shown = await callWebhook(port, {
        ca: await publishedBundle(client),
        agent: new Agent({ keepAlive: false }),
      });
      leaves.add(shown.leaf);
      authorities.add(shown.authority);
      requests.newConnections += 1;
    }),
    ...kept.map((agent) =>
      during('kept connection', 20, async () => {
        const { localPort } = await callWebhook(port, { ca: trustedAtFirst, agent });
        const before = sockets.get(agent) ?? localPort;
        sockets.set(agent, localPort);
        if (before !== localPort) throw new Error('the connection was closed in between');
        requests.keptConnections += 1;
      }),
    ),
    during('deleting the key of the authority', 0, async () => {
      for (const pause of forcedRotationMilliseconds) {
        await deleteAuthorityKeys(client);
        for (const until = performance.now() + pause; performance.now() < until && !isOver(); ) await sleep(100);
      }
    }),
  ]);
  for (const agent of kept) agent.destroy();
  return report();
}

const database = (name: string, owner: string): KubernetesObject & { spec: object } => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Database',
  metadata: { name, namespace },
  spec: { owner: { kind: 'Team', name: owner }, engine: 'postgresql' },
});

/** Whether the webhook, and not the rule in the CRD that stands behind it, refuses another owner. */
async function isDenied(client: Client): Promise<boolean> {
  try {
    const body = { spec: { owner: { name: 'other-team' } } };
    await client.patch(databases, { namespace, name: 'standing' }, { type: 'merge', body }, { dryRun: true });
    return false;
  } catch (error) {
    if (error instanceof ApiError && error.status === 403 && error.message.includes('ownership:')) return true;
    if (error instanceof ApiError && error.status === 422) return false;
    throw error;
  }
}

async function deleteAuthorityKeys(client: Client): Promise<void> {
  await client.delete(secrets, { namespace, name: 'kidp-serving-authorities' }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

async function publishedBundle(client: Client): Promise<string> {
  const configuration = await client.get<KubernetesObject & { webhooks: { clientConfig: { caBundle: string } }[] }>(
    configurations,
    { name: 'kidp-admission' },
  );
  return Buffer.from(configuration.webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString('utf8');
}

interface Shown {
  leaf: string;
  authority: string;
  localPort: number | undefined;
}

function callWebhook(port: number, options: { ca: string; agent: Agent }): Promise<Shown> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/healthz', ...options }, (response) => {
      const socket = response.socket as TLSSocket;
      const { fingerprint256: leaf, issuer } = socket.getPeerCertificate();
      response.resume().on('end', () => resolve({ leaf, authority: String(issuer?.CN), localPort: socket.localPort }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

interface Replica {
  port: number;
  stop(): Promise<void>;
}

async function startReplica(
  processes: ProcessGroup,
  { kubeconfig, identity, port }: { kubeconfig: string; identity: string; port: number },
): Promise<Replica> {
  const env = { ...process.env, KUBECONFIG: kubeconfig, NAMESPACE: namespace, IDENTITY: identity, PORT: String(port) };
  const replica = processes.add(startTestProcess(`replica ${identity}`, process.execPath, [program], { env }));
  const [, listening] = await lineFrom(replica, /^listening (\d+)$/);
  return { port: Number(listening), stop: () => stopped(replica) };
}

async function stopped(replica: TestProcess): Promise<void> {
  const lost = setTimeout(() => void replica.kill('SIGKILL'), 20_000);
  await replica.kill('SIGTERM');
  clearTimeout(lost);
}

const described = (error: unknown): string =>
  error instanceof Error ? `${error.name} ${error.message}` : String(error);
