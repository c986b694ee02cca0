/**
 * All components of a deployment as real processes: etcd and API server, Kafka, two replicas of `kidp serve` behind one address, a broker
 * that creates Secrets in a cluster and a broker that creates topics.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { broker, deploymentTarget, type Kind, team } from '../../../src/api/index.ts';
import { fileKeyStore, openKeyRing } from '../../../src/broker/index.ts';
import {
  type ControlPlane,
  ensureAssets,
  type Kafka,
  startControlPlane,
  startKafka,
} from '../../../src/controlplane/index.ts';
import { createAuthority, issueLeaf } from '../../../src/controlplane/pki.ts';
import { freePort } from '../../../src/controlplane/ports.ts';
import { type Client, connect, type KubernetesObject, loadKubeconfig } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { eventuallyStarted, type Program, superviseProgram } from './program.ts';
import { type Front, startFront } from './proxy.ts';

export const NAMESPACE = 'team-chaos';
/** Deployments are separate from the objects of the platform, as if they were in another cluster and another Kafka. */
export const THINGS_NAMESPACE = `cloud-${NAMESPACE}`;
export const TOPIC_PREFIX = 'cloud.';
export const CLUSTER_BROKER = 'onprem';
export const KAFKA_BROKER = 'streams';

export interface Stage {
  readonly plane: ControlPlane;
  readonly kafka: Kafka;
  readonly client: Client;
  readonly replicas: readonly Program[];
  /** The instances of the broker for the cluster. */
  readonly clusterBroker: readonly Program[];
  readonly kafkaBroker: readonly Program[];
  stop(): Promise<void>;
}

export const programsOf = ({ replicas, clusterBroker, kafkaBroker }: Omit<Stage, 'stop'>): readonly Program[] => [
  ...replicas,
  ...clusterBroker,
  ...kafkaBroker,
];

const root = join(import.meta.dirname, '..', '..', '..');
/** Shorter than in production, so that a run has more than one failover. */
const brokerLeaseSeconds = 6;
const patient = { within: 180_000, every: 200 };

export interface StageOptions {
  /** The number of instances of each broker: one leads, the others are standbys. */
  readonly brokerInstances: number;
  readonly log: (line: string) => void;
}

export async function startStage({ brokerInstances, log }: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'kidp-chaos-'));
  const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const each of undo.splice(0).reverse()) await each();
  };
  try {
    const [plane, kafka] = await Promise.all([startControlPlane(), startKafka()]);
    undo.push(
      () => plane.stop(),
      () => kafka.stop(),
    );
    const client = connect(loadKubeconfig({ file: plane.kubeconfig }));
    undo.push(() => client.close());
    await install(plane);
    log('the API server and Kafka are up');
    const { replicas, statusUrl, authorityFile } = await startReplicas({ folder, plane, kafka, undo });
    const parts = { folder, plane, kafka, undo, client, statusUrl, authorityFile, brokerInstances };
    const [clusterBroker, kafkaBroker] = await Promise.all([
      startBroker(parts, {
        name: CLUSTER_BROKER,
        words: ['kubernetes', '--kubeconfig', plane.kubeconfig],
        parameters: { namespacePrefix: 'cloud-' },
      }),
      startBroker(parts, {
        name: KAFKA_BROKER,
        words: ['kafka', '--topics-kafka', kafka.bootstrapServers.join(',')],
        parameters: { topicPrefix: TOPIC_PREFIX },
      }),
    ]);
    await apply(client, team, 'chaos', { namespace: NAMESPACE });
    const stage = { plane, kafka, client, replicas, clusterBroker, kafkaBroker, stop };
    for (const program of programsOf(stage)) log(`${program.name} runs as ${program.pid}`);
    await eventually(() => namespaceIsThere(client), patient);
    return stage;
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Started {
  readonly folder: string;
  readonly plane: ControlPlane;
  readonly kafka: Kafka;
  readonly undo: (() => unknown)[];
}

async function install(plane: ControlPlane): Promise<void> {
  const kubectl = await kubectlOn(plane);
  await kubectl('apply', '--server-side', '-f', join(root, 'crds'));
  for (const folder of ['install', 'connections']) await kubectl('apply', '-k', join(root, 'manifests', folder));
  await kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=180s');
}

async function kubectlOn(plane: ControlPlane): Promise<(...words: string[]) => Promise<string>> {
  const { kubectl } = await ensureAssets(['kubectl']);
  return async (...words) =>
    (await promisify(execFile)(kubectl, [`--kubeconfig=${plane.kubeconfig}`, ...words])).stdout.trim();
}

/** The replicas have only the permissions of manifests/install and manifests/connections. */
async function startReplicas({ folder, plane, kafka, undo }: Started) {
  const token = await (await kubectlOn(plane))('create', 'token', 'kidp', '-n', 'kidp-system', '--duration=24h');
  const kubeconfig = join(folder, 'kidp.json');
  const cluster = { server: plane.url, 'certificate-authority-data': Buffer.from(plane.authority).toString('base64') };
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'plane', cluster }],
      users: [{ name: 'kidp', user: { token } }],
      contexts: [{ name: 'plane', context: { cluster: 'plane', user: 'kidp' } }],
      'current-context': 'plane',
    }),
  );
  const signer = createAuthority('kidp-chaos');
  const pair = issueLeaf(signer, { commonName: 'status', hosts: ['127.0.0.1'] });
  const authorityFile = join(folder, 'ca.crt');
  writeFileSync(authorityFile, signer.certificate);
  writeFileSync(join(folder, 'tls.crt'), pair.certificate);
  writeFileSync(join(folder, 'tls.key'), pair.key, { mode: 0o600 });
  const ports = [];
  for (const _ of [1, 2]) ports.push({ webhook: await freePort(), status: await freePort() });
  const fronts: Front[] = [];
  for (const way of ['webhook', 'status'] as const) fronts.push(await startFront(ports.map((each) => each[way])));
  undo.push(() => Promise.all(fronts.map((each) => each.stop())));
  const [webhookUrl, statusUrl] = fronts.map(({ port }) => `https://127.0.0.1:${port}`) as [string, string];
  const replicas = ports.map(({ webhook, status }, index) =>
    superviseProgram(`replica-${index + 1}`, folder, [
      process.execPath,
      join(root, 'bin', 'kidp.js'),
      'serve',
      ...['--kubeconfig', kubeconfig, '--host', '127.0.0.1', '--port', String(webhook), '--url', webhookUrl],
      ...['--status-port', String(status), '--status-url', statusUrl, '--status-tls', folder],
      ...['--kafka', kafka.bootstrapServers.join(','), '--drain-seconds', '0'],
      // The ports of the brokers are chosen later.
      ...['--allow-address', '127.0.0.1/32'],
    ]),
  );
  undo.push(() => Promise.all(replicas.map((each) => each.kill())));
  await Promise.all(replicas.map((each) => each.start()));
  const isReady = (each: Program) => each.lines().some(({ message }) => message === 'ready');
  await eventuallyStarted(replicas, () => replicas.every(isReady), patient);
  return { replicas, statusUrl, authorityFile };
}

interface BrokerParts extends Started {
  readonly client: Client;
  readonly statusUrl: string;
  readonly authorityFile: string;
  readonly brokerInstances: number;
}

interface BrokerSketch {
  readonly name: string;
  readonly words: readonly string[];
  readonly parameters: Readonly<Record<string, string>>;
}

async function startBroker(parts: BrokerParts, { name, words, parameters }: BrokerSketch): Promise<Program[]> {
  const { folder, kafka, undo, client, statusUrl, authorityFile, brokerInstances } = parts;
  const keyFile = join(folder, `${name}.keys`);
  const keys = await openKeyRing(fileKeyStore(keyFile), { issuer: name, subject: name });
  const publicKeys = keys.jwks().keys.map((key) => JSON.stringify(key));
  keys.close();
  const ports: number[] = [];
  for (let count = 0; count < brokerInstances; count += 1) ports.push(await freePort());
  const front = await startFront(ports);
  undo.push(() => front.stop());
  const programs = ports.map((port, index) =>
    superviseProgram(`broker-${name}-${index + 1}`, folder, [
      process.execPath,
      join(root, 'bin', 'kidp.js'),
      ...['broker', ...words, '--name', name, '--keys', keyFile, '--lease', String(brokerLeaseSeconds)],
      ...['--host', '127.0.0.1', '--port', String(port), '--kafka', kafka.bootstrapServers.join(',')],
      ...['--platform-keys', `${statusUrl}/.well-known/jwks.json`, '--status-url', `${statusUrl}/v1/status`],
      ...['--platform-ca', authorityFile],
    ]),
  );
  undo.push(() => Promise.all(programs.map((each) => each.kill())));
  await apply(client, broker, name, {
    channel: 'Both',
    endpoint: `http://127.0.0.1:${front.port}`,
    identity: { publicKeys, scopes: ['status:write'] },
  });
  await apply(client, deploymentTarget, name, { provider: 'onprem', brokerRef: { name }, parameters });
  await Promise.all(programs.map((each) => each.start()));
  const isLeader = (each: Program) => each.lines().some(({ message }) => message === 'became leader');
  await eventuallyStarted(programs, () => programs.some(isLeader), patient);
  return programs;
}

/** `apply` retries: the API server might not reach the webhook yet. */
async function apply(client: Client, kind: Kind, name: string, spec: object): Promise<void> {
  const object = { apiVersion: 'platform.company.com/v1', kind: kind.kind, metadata: { name }, spec };
  await eventually(
    () => client.apply(kind.resource, object as KubernetesObject, { fieldManager: 'chaos', force: true }),
    patient,
  );
}

async function namespaceIsThere(client: Client): Promise<boolean> {
  return (await client.request({ method: 'GET', path: `/api/v1/namespaces/${NAMESPACE}` })).status === 200;
}
