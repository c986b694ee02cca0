/**
 * A round of health over 500 operators on each of 100 clusters (requirement 002, scalability targets). The scheduler is the real one, with
 * the real Manager, caches and writes of status; what is simulated is the transport: a cluster answers after a while with text, which
 * is parsed as an answer of an API server would be. Every operator is in a namespace of its own, with a Deployment of two pods, a webhook
 * that is asked with a dry run, and a kind of its own with twenty custom resources.
 */
import {
  API_VERSION,
  cluster,
  installationName,
  operator,
  operatorDeployment,
  operatorInstallation,
} from '../../src/api/index.ts';
import { healthChecker, type Snapshot } from '../../src/fleet/index.ts';
import { addOperatorHealth } from '../../src/reconcile/index.ts';
import {
  type Client,
  eventually,
  issueAuthority,
  type KubernetesObject,
  type ListOptions,
  Manager,
  type Resource,
  type UnknownObject,
} from '../../src/runtime/index.ts';
import { memoryCluster } from '../../test/support/memory-cluster.ts';
import { type Figure, say, seconds } from './figures.ts';

const table = 'Scalability targets';
const customResources = 20;
const roundBound = 30;
const connectionBound = 100;

export interface Round {
  readonly operators: number;
  readonly clusters: number;
  /** Milliseconds that a cluster takes for a list, and for a dry run. */
  readonly list: number;
  readonly dryRun: number;
}

export async function healthRound({ operators, clusters, list, dryRun }: Round): Promise<Figure[]> {
  say(
    `a round of health: ${operators} operators × ${clusters} clusters; a list takes ${list} ms and a dry run ${dryRun} ms`,
  );

  const management = managementWith(operators, clusters);
  const simulated = simulatedClusters({ operators, list, dryRun });
  const stop = new AbortController();
  const manager = new Manager({ client: management.client });
  const rounds = addOperatorHealth(manager, {
    fleet: {
      connect: async (name) => ({
        cluster: name,
        environment: 'Dev',
        kubernetesVersion: 'v1.36.3',
        client: simulated.client,
        withKubeconfig: () => Promise.reject(new Error('nobody asks')),
      }),
    },
    health: healthChecker(),
    snapshots: { get: async (name) => snapshotOf(Number(name.slice('snapshot-'.length))) },
    recorder: { record() {} },
    // The rounds are asked for here.
    intervalMilliseconds: 3_600_000,
  });
  const running = manager.start(stop.signal);
  const total = operators * clusters;
  try {
    const healthy = () =>
      management.installations().filter(({ status }) => (status as { health?: string })?.health === 'Healthy').length;
    const first = performance.now();
    await eventually(() => healthy() === total, { within: 1_800_000, every: 500 });
    say(`  the first round, which also writes the status of all ${total}: ${seconds(performance.now() - first)}`);
    // Until the controllers have counted what was written: that is no part of a round.
    await eventually(() => management.counted() === operators, { within: 600_000, every: 500 });
    let worst = 0;
    for (let number = 1; number <= 2; number += 1) {
      const cpu = process.cpuUsage();
      const { milliseconds, installations } = await rounds.round(stop.signal);
      const used = process.cpuUsage(cpu);
      worst = Math.max(worst, milliseconds / 1000);
      const busy = ((used.user + used.system) / 1_000_000).toFixed(1);
      say(`  a round over ${installations}: ${seconds(milliseconds)}, ${busy} s of CPU`);
    }
    say(`  memory: ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MB`);
    const what = `${operators} operators × ${clusters} clusters`;
    return [
      { table, what: 'operators looked after', value: operators, unit: '', target: ['≥', 500] },
      { table, what: 'clusters looked after', value: clusters, unit: '', target: ['≥', 100] },
      { table, what: `${what}: a round of health on one core`, value: worst, unit: 's', target: ['≤', roundBound] },
      {
        table,
        what: `${what}: connections at once`,
        value: simulated.most(),
        unit: '',
        target: ['<', connectionBound],
      },
    ];
  } finally {
    stop.abort();
    await running;
  }
}

const operatorName = (number: number): string => `operator-${number}`;

/** The management cluster: all that the platform itself keeps. */
function managementWith(operators: number, clusters: number) {
  const memory = memoryCluster(
    [operator, cluster, operatorDeployment, operatorInstallation].map((kind) => kind.resource),
  );
  const object = (kind: string, name: string, spec: object) => ({
    apiVersion: API_VERSION,
    kind,
    metadata: { name },
    spec,
  });
  const names: string[] = [];
  for (let number = 0; number < operators; number += 1) {
    memory.put(
      operator.resource,
      object('Operator', operatorName(number), { health: { webhook: { maxLatency: 'PT30S' } } }),
    );
    for (let index = 0; index < clusters; index += 1) {
      const on = `cluster-${index}`;
      if (number === 0) memory.put(cluster.resource, object('Cluster', on, { environment: 'Dev' }));
      const name = installationName(operatorName(number), on);
      names.push(name);
      const spec = {
        operator: operatorName(number),
        cluster: on,
        version: '1.0.0',
        snapshot: `snapshot-${number}`,
        namespace: operatorName(number),
        releaseName: operatorName(number),
        revision: 1,
      };
      memory.put(operatorInstallation.resource, object('OperatorInstallation', name, spec));
    }
  }
  return {
    client: memory.client,
    installations: () => names.flatMap((name) => memory.get(operatorInstallation.resource, { name }) ?? []),
    counted: () =>
      Array.from({ length: operators }, (_, number) =>
        memory.get(operator.resource, { name: operatorName(number) }),
      ).filter(
        (each) => (each?.status as { healthyInstallations?: number } | undefined)?.healthyInstallations === clusters,
      ).length,
  };
}

/** All clusters are alike, so one set of answers does for all; what is open at once is counted over all. */
function simulatedClusters({ operators, list, dryRun }: { operators: number; list: number; dryRun: number }) {
  const answers = new Map<string, string>();
  const put = (plural: string, items: readonly object[]) => answers.set(plural, JSON.stringify({ items }));
  const numbers = Array.from({ length: operators }, (_, number) => number);
  put('deployments', numbers.map(liveDeployment));
  put('pods', numbers.flatMap(podsOf));
  put('validatingwebhookconfigurations', numbers.map(webhookOf));
  put(
    'namespaces',
    numbers.map((number) => ({ metadata: { name: operatorName(number), labels: {} } })),
  );
  put('endpointslices', numbers.map(endpointsOf));
  for (const number of numbers) put(`widgets${number}`, widgetsOf(number));
  let open = 0;
  let most = 0;
  const after = async <T>(milliseconds: number, answer: () => T): Promise<T> => {
    open += 1;
    most = Math.max(most, open);
    try {
      await new Promise((resolve) => setTimeout(resolve, milliseconds));
      return answer();
    } finally {
      open -= 1;
    }
  };
  const client = {
    list: ({ plural }: Resource, _options: ListOptions) =>
      after(list, () => {
        const { items } = JSON.parse(answers.get(plural) ?? '{"items":[]}') as { items: UnknownObject[] };
        return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '1' }, items };
      }),
    create: (_resource: Resource, object: KubernetesObject) => after(dryRun, () => object),
    request: () => after(list, () => ({ status: 200, headers: {}, warnings: [], text: '{}' })),
    async *watch(_resource: Resource, { signal, onOpen }: { signal?: AbortSignal; onOpen?: () => void }) {
      open += 1;
      most = Math.max(most, open);
      onOpen?.();
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
      open -= 1;
    },
  };
  return { client: client as unknown as Client, most: () => most };
}

function templateOf(number: number) {
  return {
    metadata: { labels: { app: operatorName(number) } },
    spec: { containers: [{ name: 'manager', image: 'controller:1', args: ['--leader-elect'] }] },
  };
}

const liveDeployment = (number: number) => ({
  metadata: { name: 'controller', namespace: operatorName(number), generation: 1 },
  spec: { replicas: 2, template: templateOf(number) },
  status: {
    observedGeneration: 1,
    replicas: 2,
    updatedReplicas: 2,
    availableReplicas: 2,
    conditions: [{ type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' }],
  },
});

const podsOf = (number: number) =>
  [1, 2].map((copy) => ({
    metadata: {
      name: `controller-77f-${copy}`,
      namespace: operatorName(number),
      uid: `${number}-${copy}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: operatorName(number), 'pod-template-hash': '77f' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'controller-77f', uid: 'r', controller: true },
      ],
    },
    spec: templateOf(number).spec,
    status: {
      phase: 'Running',
      containerStatuses: [{ name: 'manager', restartCount: 0, ready: true, state: { running: {} } }],
    },
  }));

const authority = Buffer.from(
  issueAuthority({ now: Date.now(), validMilliseconds: 86_400_000, backdateMilliseconds: 60_000 }).certificate,
).toString('base64');

const webhookOf = (number: number) => ({
  metadata: { name: operatorName(number) },
  webhooks: [
    {
      name: `widgets.${operatorName(number)}.test`,
      sideEffects: 'None',
      clientConfig: { service: { name: 'webhook', namespace: operatorName(number) }, caBundle: authority },
      rules: [
        {
          apiGroups: [`${operatorName(number)}.test`],
          apiVersions: ['v1'],
          resources: [`widgets${number}`],
          operations: ['CREATE', 'UPDATE'],
        },
      ],
    },
  ],
});

const endpointsOf = (number: number) => ({
  metadata: {
    name: 'webhook-1',
    namespace: operatorName(number),
    labels: { 'kubernetes.io/service-name': 'webhook' },
  },
  endpoints: [{ conditions: { ready: true } }],
});

const widgetsOf = (number: number) =>
  Array.from({ length: customResources }, (_, index) => ({
    metadata: { name: `widget-${index}`, namespace: 'team', uid: `${number}-${index}`, generation: 2 },
    spec: { size: 3, description: 'as long as custom resources are, which is some hundreds of characters '.repeat(4) },
    status: { observedGeneration: 2, conditions: [{ type: 'Ready', status: 'True', reason: 'Done', message: '' }] },
  }));

function snapshotOf(number: number): Snapshot {
  const group = `${operatorName(number)}.test`;
  const plural = `widgets${number}`;
  const manifest = (apiVersion: string, kind: string, object: object) =>
    ({ apiVersion, kind, ...object }) as unknown as UnknownObject;
  return {
    name: `snapshot-${number}`,
    digest: `${number}`,
    operator: operatorName(number),
    version: '1.0.0',
    chartDigest: '',
    valuesDigest: '',
    environment: 'Dev',
    kubernetesVersion: 'v1.36.3',
    namespace: operatorName(number),
    releaseName: operatorName(number),
    manifests: [
      manifest('apps/v1', 'Deployment', liveDeployment(number)),
      manifest('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', webhookOf(number)),
    ],
    definitions: [
      manifest('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
        metadata: { name: `${plural}.${group}` },
        spec: {
          group,
          scope: 'Namespaced',
          names: { plural, singular: `widget${number}`, kind: `Widget${number}`, listKind: `Widget${number}List` },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              subresources: { status: {} },
              schema: {
                openAPIV3Schema: {
                  type: 'object',
                  properties: {
                    spec: {
                      type: 'object',
                      properties: { size: { type: 'integer' }, description: { type: 'string' } },
                    },
                    status: { type: 'object', properties: { observedGeneration: { type: 'integer' } } },
                  },
                },
              },
            },
          ],
        },
      }),
    ],
  };
}
