/** manifests/network: that an API server takes it, and who gets through by it (docs/requirements.md, 000 Network Policies). */
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { sharedCluster } from '../support/cluster.ts';

const folder = join(import.meta.dirname, '..', '..', 'manifests', 'network');

interface Peer {
  ipBlock?: { cidr: string };
  namespaceSelector?: { matchLabels: Record<string, string> };
}
interface Rule {
  from?: Peer[];
  to?: Peer[];
  ports?: { port: string | number; protocol: string }[];
}
interface NetworkPolicy {
  kind: string;
  metadata: { name: string };
  spec: {
    podSelector: { matchLabels?: Record<string, string> };
    policyTypes: string[];
    ingress?: Rule[];
    egress?: Rule[];
  };
}

const readAll = (file: string) =>
  parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((each) => each.toJS() as NetworkPolicy);
const [{ resources = [] } = {}] = parseAllDocuments(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')).map(
  (each) => each.toJS() as { resources?: string[] },
);
const policiesOf = (files: readonly string[]) => files.flatMap(readAll).filter(({ kind }) => kind === 'NetworkPolicy');
/** What the kustomization applies, and what an administrator applies who has replaced one file. */
const open = policiesOf(resources);
const restricted = policiesOf(resources.map((each) => (each === 'webhook-open.yaml' ? 'webhook-callers.yaml' : each)));

interface Other {
  address?: string;
  namespace?: Record<string, string>;
}

/** As Kubernetes has it: what selects the pod isolates it, and any rule of any policy lets through. */
function passes(
  direction: 'ingress' | 'egress',
  pod: Record<string, string>,
  other: Other,
  port: string | number,
  policies: readonly NetworkPolicy[] = open,
): boolean {
  const type = direction === 'ingress' ? 'Ingress' : 'Egress';
  const selecting = policies.filter(
    ({ spec }) => spec.policyTypes.includes(type) && within(spec.podSelector.matchLabels ?? {}, pod),
  );
  if (selecting.length === 0) return true;
  return selecting.some(({ spec }) =>
    (spec[direction] ?? []).some((rule) => {
      const peers = rule.from ?? rule.to;
      const known = peers === undefined || peers.some((peer) => isPeer(peer, other));
      return known && (rule.ports === undefined || rule.ports.some((each) => each.port === port));
    }),
  );
}

const within = (wanted: Record<string, string>, labels: Record<string, string>) =>
  Object.entries(wanted).every(([key, value]) => labels[key] === value);

function isPeer({ ipBlock, namespaceSelector }: Peer, { address, namespace }: Other): boolean {
  if (ipBlock !== undefined && address !== undefined) {
    const [network = '', bits] = ipBlock.cidr.split('/');
    const block = new BlockList();
    block.addSubnet(network, Number(bits));
    return block.check(address);
  }
  return namespaceSelector !== undefined && namespace !== undefined && within(namespaceSelector.matchLabels, namespace);
}

const kidp = { 'app.kubernetes.io/name': 'kidp' };
const broker: Other = { address: '192.0.2.7' };
const stranger: Other = { address: '203.0.113.7' };
const pod: Other = { namespace: { 'kubernetes.io/metadata.name': 'team-backend' } };

test.each<{
  reason: string;
  direction: 'ingress' | 'egress';
  other: Other;
  port: string | number;
  through: boolean;
  of?: Record<string, string>;
}>([
  { reason: 'a broker reaches the status API', direction: 'ingress', other: broker, port: 'status', through: true },
  {
    reason: 'a broker of this cluster too',
    direction: 'ingress',
    other: { namespace: { 'network.platform.company.com/brokers': 'true' } },
    port: 'status',
    through: true,
  },
  { reason: 'a stranger does not', direction: 'ingress', other: stranger, port: 'status', through: false },
  { reason: 'nor does a pod of a team', direction: 'ingress', other: pod, port: 'status', through: false },
  {
    reason: 'the API server reaches the webhook, whatever its address',
    direction: 'ingress',
    other: stranger,
    port: 'https',
    through: true,
  },
  {
    reason: 'all other ingress from outside is denied',
    direction: 'ingress',
    other: stranger,
    port: 22,
    through: false,
  },
  {
    reason: 'so it is for anything else in the namespace',
    direction: 'ingress',
    other: broker,
    port: 'status',
    through: false,
    of: { app: 'other' },
  },
  { reason: 'the operator reaches brokers', direction: 'egress', other: broker, port: 8443, through: true },
  { reason: 'and Kafka', direction: 'egress', other: { address: '198.51.100.3' }, port: 9093, through: true },
  {
    reason: 'and asks for names',
    direction: 'egress',
    other: { namespace: { 'kubernetes.io/metadata.name': 'kube-system' } },
    port: 53,
    through: true,
  },
  {
    reason: 'who stands before the REST API reaches it',
    direction: 'ingress',
    other: { namespace: { 'network.platform.company.com/rest': 'true' } },
    port: 'rest',
    through: true,
  },
  { reason: 'a pod of a team does not', direction: 'ingress', other: pod, port: 'rest', through: false },
  {
    reason: 'the operator reaches the mail server',
    direction: 'egress',
    other: { address: '203.0.113.25' },
    port: 587,
    through: true,
  },
  { reason: 'clusters and chart repositories', direction: 'egress', other: stranger, port: 443, through: true },
  { reason: 'and nothing else', direction: 'egress', other: stranger, port: 25, through: false },
])('$reason', ({ direction, other, port, through, of = kidp }) => {
  expect(passes(direction, of, other, port)).toBe(through);
});

test('an API server takes them', async () => {
  const cluster = sharedCluster();
  const namespace = await cluster.uniqueNamespace('network');
  const { stdout, code } = await cluster.kubectl(['kustomize', folder]);
  expect(code).toBe(0);
  const input = stdout.replaceAll('namespace: kidp-system', `namespace: ${namespace}`);
  const applied = await cluster.kubectl(['apply', '--server-side', '--validate=strict', '-f', '-'], { input });
  expect(applied.stderr).toBe('');
  expect(applied.stdout.match(/serverside-applied/g)).toHaveLength(5);
});

/** What manifests/install comes to with these components, and a way to ask an API server whether it takes one of the objects. */
async function builtWith(...components: readonly string[]) {
  const cluster = sharedCluster();
  const namespace = await cluster.uniqueNamespace('network');
  const manifests = join(folder, '..');
  const own = mkdtempSync(join(tmpdir(), 'kidp-kustomize-'));
  const from = (...names: readonly string[]) =>
    names.map((name) => `- ${relative(realpathSync(own), join(manifests, name))}\n`).join('');
  const text = `resources:\n${from('install', 'rbac')}components:\n${from(...components)}`;
  writeFileSync(join(own, 'kustomization.yaml'), text);
  const { stdout, code } = await cluster.kubectl(['kustomize', own]);
  rmSync(own, { recursive: true });
  expect(code).toBe(0);
  const objects = parseAllDocuments(stdout).map((each) => each.toJS() as { kind: string; metadata: object });
  return {
    objects,
    async taken(kind: string, place: string) {
      const [object] = objects.filter((each) => each.kind === kind);
      const input = JSON.stringify({ ...object, metadata: { ...object?.metadata, namespace } });
      const path = `${place.replace('NAMESPACE', namespace)}?dryRun=All&fieldValidation=Strict`;
      const created = await cluster.kubectl(['create', '--raw', path, '-f', '-'], { input });
      expect(created.stderr).toBe('');
      return JSON.parse(created.stdout) as { spec: unknown };
    },
  };
}

const places = {
  services: '/api/v1/namespaces/NAMESPACE/services',
  deployments: '/apis/apps/v1/namespaces/NAMESPACE/deployments',
  autoscalers: '/apis/autoscaling/v2/namespaces/NAMESPACE/horizontalpodautoscalers',
};

test('an API server takes the Deployment and the Service with rollouts and the REST API', async () => {
  const { taken } = await builtWith('rollouts', 'rest');
  const ports = [{ name: 'https' }, { name: 'status' }, { name: 'rest', port: 8445 }];
  expect(await taken('Service', places.services)).toMatchObject({ spec: { ports } });
  const args = expect.arrayContaining(['serve', '--rest-port=8445']);
  expect(await taken('Deployment', places.deployments)).toMatchObject({
    spec: { template: { spec: { containers: [{ args, ports: [{}, {}, { name: 'rest', containerPort: 8445 }] }] } } },
  });
});

test('with autoscaling it says how many replicas there are, and nobody else does (docs/requirements.md, 002 auto-scaling)', async () => {
  const { taken, objects } = await builtWith('rollouts', 'rest', 'autoscaling');
  expect(await taken('HorizontalPodAutoscaler', places.autoscalers)).toMatchObject({
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'kidp' },
      minReplicas: 2,
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: 70 } } }],
      behavior: { scaleUp: { stabilizationWindowSeconds: 300 }, scaleDown: { stabilizationWindowSeconds: 900 } },
    },
  });
  const written = objects.find(({ kind }) => kind === 'Deployment') as unknown as { spec: object } | undefined;
  expect(written?.spec).not.toHaveProperty('replicas');
  // Of what an idle one asks for, 70 % would be nothing.
  expect(await taken('Deployment', places.deployments)).toMatchObject({
    spec: { template: { spec: { containers: [{ resources: { requests: { cpu: '500m' } } }] } } },
  });
});

test.each<{ reason: string; other: Other; through: boolean }>([
  { reason: 'an API server at its address', other: { address: '192.0.2.7' }, through: true },
  { reason: 'a kubelet', other: { address: '198.51.100.7' }, through: true },
  { reason: 'a scraper', other: { namespace: { 'network.platform.company.com/metrics': 'true' } }, through: true },
  { reason: 'a stranger', other: stranger, through: false },
  { reason: 'a pod of a team', other: pod, through: false },
])('with webhook-callers.yaml, the port of the webhook is open only to its callers: $reason', ({ other, through }) => {
  expect(passes('ingress', kidp, other, 'https', restricted)).toBe(through);
  expect(passes('ingress', kidp, other, 'https')).toBe(true);
});

test('both variants of the webhook have the same name, so one replaces the other', () => {
  const names = ['webhook-open.yaml', 'webhook-callers.yaml'].map((file) =>
    readAll(file).map((each) => each.metadata.name),
  );
  expect(names[0]).toEqual(names[1]);
  expect(resources).toContain('webhook-open.yaml');
  expect(resources).not.toContain('webhook-callers.yaml');
});
