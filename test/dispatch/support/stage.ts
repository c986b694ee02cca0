/**
 * The complete platform in one process: a real API server with webhooks, controllers and nodes, the platform as `kidp serve` assembles
 * it, and the reference brokers as `kidp broker` assembles them: one for the cluster itself and one for topics of a real Kafka.
 */
import { Registry } from 'prom-client';
import {
  API_VERSION,
  broker as brokerKind,
  deployableKinds,
  deploymentTarget,
  kindNamed,
  team,
} from '../../../src/api/index.ts';
import {
  compareDeployments,
  type DeploymentRecord,
  type KafkaTls,
  type KeyRing,
  kafkaProvider,
  kubernetesProvider,
  memoryKeyStore,
  openKeyRing,
  type Provider,
  parseDeploymentId,
  type RunningBroker,
  startBroker,
} from '../../../src/broker/index.ts';
import { installDefinitions } from '../../../src/cli/up/definitions.ts';
import { addNamespaces } from '../../../src/cli/up/starter-policies.ts';
import type { DispatchOptions } from '../../../src/platform/index.ts';
import { type Cleanup, createCleanup, type Platform, startPlatform } from '../../../src/platform/index.ts';
import type { Deployable } from '../../../src/reconcile/index.ts';
import {
  type Client,
  type ClusterConfig,
  type Condition,
  connect,
  getCondition,
  isNotFound,
  type Logger,
  loadKubeconfig,
  type Resource,
  type UnknownObject,
} from '../../../src/runtime/index.ts';
import { type AddressGuard, addressGuard, events } from '../../../src/runtime/internal.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { type ControlPlane, startControlPlane, uniqueName } from '../../support/cluster.ts';
import { webhookPorts } from '../../support/webhook-ports.ts';

/** Timeouts for a busy machine and dozens of objects at once. */
export const patient = { within: 180_000, every: 250 };
export const namespace = 'team-backend';
export const platformNamespace = 'kidp-system';
/** The target in this cluster, for all kinds except Topic. */
export const clusterTarget = 'cluster';
export const topicTarget = 'topics';

interface KafkaAddress {
  readonly bootstrapServers: readonly string[];
  readonly tls?: () => KafkaTls;
}

export interface StageOptions {
  /** Default: none; requests and reports are sent over HTTP. */
  readonly kafka?: KafkaAddress;
  /** The Kafka in which Topics are created. */
  readonly topics: KafkaAddress;
  readonly settings?: DispatchOptions['settings'];
}

export interface Line {
  readonly who: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

export interface StageBroker {
  readonly name: string;
  readonly target: string;
  readonly records: () => DeploymentRecord[];
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface Stage {
  readonly plane: ControlPlane;
  readonly client: Client;
  readonly lines: readonly Line[];
  readonly platform: Platform;
  readonly cluster: StageBroker;
  readonly topics: StageBroker;
  /** The guard of the platform, for brokers that a test starts itself. */
  readonly guard: AddressGuard;
  /** Stops the platform and removes its webhook configurations. */
  stopPlatform(): Promise<void>;
  startPlatform(settings?: DispatchOptions['settings']): Promise<void>;
  /** Adds a broker for this cluster that connects to the API server with another configuration. */
  addBroker(name: string, config: ClusterConfig, parameters?: Record<string, string>): Promise<StageBroker>;
  stop(): Promise<void>;
}

export async function startStage(options: StageOptions): Promise<Stage> {
  const undo = createCleanup(60_000);
  try {
    return await assemble(options, undo);
  } catch (error) {
    await undo.run();
    throw error;
  }
}

async function assemble(options: StageOptions, undo: Cleanup): Promise<Stage> {
  const ports = await webhookPorts();
  const { webhooks } = ports;
  const plane = await startControlPlane({ controllerManager: true, scheduler: true, nodes: 1, webhooks });
  undo.add('the control plane', () => plane.stop());
  const config = loadKubeconfig({ file: plane.kubeconfig });
  const client = connect(config);
  undo.add('the connections', () => client.close());
  await installDefinitions(client);
  await addNamespaces(client, [platformNamespace, 'policy-exceptions']);
  const lines: Line[] = [];
  const guard = addressGuard();
  let platform: Platform;
  let taking: Cleanup;
  /** The port of the status API. It stays the same over restarts, because brokers have its URL. */
  let port = 0;
  const start = async (settings = options.settings) => {
    taking = createCleanup(60_000);
    platform = await startPlatform(
      {
        client,
        platformNamespace,
        failurePolicy: 'Fail',
        ...ports.next(plane),
        scan: { settleMilliseconds: 100 },
        guard,
        dispatch: { kafka: options.kafka, statusApi: { port }, settings: { retryMilliseconds: 200, ...settings } },
        log: recorder(lines, { who: 'platform' }),
      },
      taking,
    );
    port = platform.statusApi?.port ?? 0;
  };
  const stopPlatform = async () => void (await taking.run());
  await start();
  undo.add('the platform', stopPlatform);
  const way = { client, guard, statusUrl: () => platform.statusApi?.url ?? '', kafka: options.kafka, lines, undo };
  const inCluster = (name: string, to: ClusterConfig, parameters: Record<string, string> = {}) =>
    bringBroker(way, {
      name,
      target: name,
      parameters: { storage: 'ephemeral', ...parameters },
      capabilities: ['Database', 'Service', 'Cache', 'Secret'],
      provider: async (keys, log) => {
        const [own, lease] = [connect(to), connect(config)];
        const provider = kubernetesProvider({
          broker: name,
          client: own,
          leaseClient: lease,
          namespace: `brokers-${name}`,
          decrypt: (jwe) => keys.decrypt(jwe),
          managementCluster: true,
          leaseMilliseconds: 60_000,
          log,
        });
        return { provider, close: () => Promise.all([own.close(), lease.close()]) };
      },
    });
  // The records of a Kafka broker are in a topic with its name, next to those of other tests.
  const ofTopics = uniqueName('topics');
  const topics = bringBroker(way, {
    name: ofTopics,
    target: topicTarget,
    parameters: {},
    capabilities: ['Topic'],
    provider: async (_, log) => ({
      provider: await kafkaProvider({ broker: ofTopics, ...options.topics, pollMilliseconds: 1_000, log }),
      close: async () => {},
    }),
  });
  const [cluster, kafka] = await Promise.all([inCluster(clusterTarget, config), topics]);
  await client.create(team.resource, {
    apiVersion: API_VERSION,
    kind: 'Team',
    metadata: { name: 'backend' },
    spec: { namespace },
  } as UnknownObject);
  const namespaces: Resource = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false };
  await eventually(() => client.get(namespaces, { name: namespace }), patient);
  return {
    plane,
    client,
    lines,
    get platform() {
      return platform;
    },
    cluster,
    topics: kafka,
    guard,
    stopPlatform,
    startPlatform: start,
    addBroker: inCluster,
    async stop() {
      const notes = await undo.run();
      if (notes.length > 0) throw new Error(`left behind: ${notes.join('; ')}`);
    },
  };
}

interface Way {
  readonly client: Client;
  readonly guard: AddressGuard;
  readonly statusUrl: () => string;
  readonly kafka: KafkaAddress | undefined;
  readonly lines: Line[];
  readonly undo: Cleanup;
}

interface BrokerSketch {
  readonly name: string;
  readonly target: string;
  readonly parameters: Record<string, string>;
  readonly capabilities: readonly string[];
  provider(keys: KeyRing, log: Logger): Promise<{ provider: Provider; close(): Promise<unknown> }>;
}

async function bringBroker(way: Way, sketch: BrokerSketch): Promise<StageBroker> {
  const { client, kafka, lines, undo } = way;
  const { name, target, capabilities, parameters } = sketch;
  const keys = await openKeyRing(memoryKeyStore(), { issuer: name, subject: name });
  const log = recorder(lines, { who: name });
  let running: { broker: RunningBroker; provider: Provider; close(): Promise<unknown> } | undefined;
  let port = 0;
  /** Starts and stops are serialized: the broker can restart while the test stops it. */
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = (act: () => Promise<void>): Promise<void> => {
    const acting = turn.catch(() => {}).then(act);
    turn = acting;
    return acting;
  };
  const end = async () => {
    const ending = running;
    running = undefined;
    await ending?.broker.stop();
    await ending?.close();
  };
  const begin = async () => {
    const { provider, close } = await sketch.provider(keys, log);
    const broker = await startBroker({
      name,
      provider,
      keys,
      platform: {
        jwks: { url: `${way.statusUrl()}/.well-known/jwks.json` },
        statusUrl: `${way.statusUrl()}/v1/status`,
      },
      http: { port },
      ...(kafka === undefined ? {} : { kafka }),
      heartbeatMilliseconds: 5_000,
      registry: new Registry(),
      log,
    });
    running = { broker, provider, close };
    port = broker.port ?? 0;
    // A broker that has lost its lease restarts, as in `kidp broker`.
    broker.ended
      .catch(() => inTurn(async () => void (running?.broker === broker && (await restart()))))
      .catch(() => {});
    await broker.ready();
  };
  const restart = async () => {
    await end();
    await begin();
  };
  const [start, stop] = [() => inTurn(begin), () => inTurn(end)];
  undo.add(`the broker ${name}`, stop);
  await start();
  way.guard.allow(`127.0.0.1:${port}`);
  const endpoint = `http://127.0.0.1:${port}`;
  const apply = (kind: typeof brokerKind | typeof deploymentTarget, as: string, spec: object) =>
    client.apply(
      kind.resource,
      { apiVersion: API_VERSION, kind: kind.kind, metadata: { name: as }, spec } as UnknownObject,
      { fieldManager: 'test', force: true },
    );
  await apply(brokerKind, name, {
    channel: kafka === undefined ? 'HTTP' : 'Both',
    endpoint,
    capabilities,
    identity: { jwksUri: `${endpoint}/.well-known/jwks.json`, scopes: ['status:write'] },
    heartbeat: { intervalSeconds: 5, timeoutSeconds: 60 },
  });
  await apply(deploymentTarget, target, { provider: 'test', parameters, brokerRef: { name } });
  return {
    name,
    target,
    records: () => [...(running?.provider.records.all() ?? [])].map(({ record }) => record),
    start,
    stop,
  };
}

/** Records log lines. Set KIDP_TEST_LOG to print them too. */
function recorder(lines: Line[], fields: { who: string; [field: string]: unknown }): Logger {
  const write = (message: string, more: Readonly<Record<string, unknown>> = {}) => {
    lines.push({ message, ...fields, ...more });
    if (process.env.KIDP_TEST_LOG !== undefined) console.error(message, { ...fields, ...more });
  };
  return {
    debug() {},
    info: write,
    warn: write,
    error: write,
    with: (more) => recorder(lines, { ...fields, ...more }),
  };
}

export const resourceOf = (kind: string): Resource => {
  const found = kindNamed(kind);
  if (found === undefined) throw new Error(`unknown kind ${kind}`);
  return found.resource;
};
const core = (kind: string, plural: string, group = ''): Resource => ({
  group,
  version: 'v1',
  kind,
  plural,
  namespaced: true,
});
export const coreSecrets = core('Secret', 'secrets');
export const quotas = core('ResourceQuota', 'resourcequotas');
export const cronJobs = core('CronJob', 'cronjobs', 'batch');
export const deployments = core('Deployment', 'deployments', 'apps');
export const statefulSets = core('StatefulSet', 'statefulsets', 'apps');
export const allKinds = deployableKinds.map(({ kind }) => kind);

/** For each kind, a spec that its broker can deploy, and a change to it. */
export const specs: Readonly<Record<string, { readonly spec: object; readonly change: object }>> = {
  Database: { spec: { engine: 'postgresql' }, change: { backup: { enabled: true } } },
  Service: { spec: { image: 'app:1', ports: [{ name: 'http', port: 80 }] }, change: { image: 'app:2' } },
  Cache: { spec: { engine: 'redis' }, change: { size: 'medium' } },
  Topic: { spec: { partitions: 1 }, change: { partitions: 2 } },
  Secret: {
    spec: { keys: [{ name: 'token', generate: {} }] },
    change: {
      keys: [
        { name: 'token', generate: {} },
        { name: 'cookie', generate: { length: 40 } },
      ],
    },
  },
};

/** The objects of the test, through the API that users have. */
export class Objects {
  readonly #client: Client;

  constructor({ client }: Pick<Stage, 'client'>) {
    this.#client = client;
  }

  create(kind: string, name: string, more: object = {}, labels: Record<string, string> = {}): Promise<Deployable> {
    const object = {
      apiVersion: API_VERSION,
      kind,
      metadata: { name, namespace, labels },
      spec: {
        owner: { kind: 'Team', name: 'backend' },
        targetRef: { name: kind === 'Topic' ? topicTarget : clusterTarget },
        ...specs[kind]?.spec,
        ...more,
      },
    };
    return this.#client.create<Deployable>(resourceOf(kind), object as unknown as Deployable);
  }

  get(kind: string, name: string): Promise<Deployable> {
    return this.#client.get<Deployable>(resourceOf(kind), { namespace, name });
  }

  patch(kind: string, name: string, body: object): Promise<Deployable> {
    return this.#client.patch<Deployable>(resourceOf(kind), { namespace, name }, { type: 'merge', body });
  }

  change(kind: string, name: string, spec: object): Promise<Deployable> {
    return this.patch(kind, name, { spec });
  }

  async remove(kind: string, name: string): Promise<void> {
    await this.#client.delete(resourceOf(kind), { namespace, name });
  }

  /** Waits until the condition holds; a timeout reports the status of the object. */
  until(kind: string, name: string, holds: (object: Deployable) => boolean): Promise<Deployable> {
    return eventually(async () => {
      const object = await this.get(kind, name);
      if (holds(object)) return object;
      throw new Error(`${kind} ${name} does not meet the condition: ${JSON.stringify(object.status)}`);
    }, patient);
  }

  /** Waits until the newest generation is ready. */
  ready(kind: string, name: string): Promise<Deployable> {
    return this.until(kind, name, isReady);
  }

  /** Waits until the condition has this reason. */
  reason(kind: string, name: string, type: string, reason: string): Promise<Deployable> {
    return this.until(kind, name, (object) => conditionOf(object, type)?.reason === reason);
  }

  async gone(kind: string, name: string): Promise<void> {
    await eventually(async () => {
      const found = await this.get(kind, name).catch(unlessFound);
      if (found !== undefined) throw new Error(`${kind} ${name} still exists: ${JSON.stringify(found.status)}`);
    }, patient);
  }

  /** Returns the decoded entries of a Secret; undefined if it does not exist. */
  async secret(name: string): Promise<Record<string, string> | undefined> {
    const found = await this.#client
      .get<UnknownObject & { data?: Record<string, string> }>(coreSecrets, { namespace, name })
      .catch(unlessFound);
    if (found === undefined) return undefined;
    return Object.fromEntries(
      Object.entries(found.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]),
    );
  }

  /** Returns the reasons and notes of the events about an object. */
  async events(name: string): Promise<{ reason: string; note: string }[]> {
    const { items } = await this.#client.list<
      UnknownObject & { regarding?: { name?: string }; reason?: string; note?: string }
    >(events, { namespace });
    return items
      .filter(({ regarding }) => regarding?.name === name)
      .map(({ reason = '', note = '' }) => ({ reason, note }));
  }
}

const unlessFound = (error: unknown): undefined => {
  if (!isNotFound(error)) throw error;
};

export const isReady = ({ status, metadata }: Deployable): boolean =>
  status?.phase === 'ready' && status.deployedGeneration === metadata.generation;

export const conditionOf = ({ status }: Deployable, type: string): Condition | undefined =>
  getCondition(status?.conditions as Condition[] | undefined, type);

/** The deployments that a broker executed for an object, in order. */
export const ledgerOf = (broker: StageBroker, uid: string | undefined) =>
  broker.records().find((record) => record.uid === uid)?.ledger ?? [];

/** `ledgerFaults` returns each deployment that was executed twice, or after a newer one of the same object. */
export function ledgerFaults(...brokers: readonly StageBroker[]): string[] {
  return brokers.flatMap((broker) =>
    broker.records().flatMap(({ ledger }) =>
      ledger.slice(1).flatMap((entry, index) => {
        const [before, after] = [ledger[index]?.deploymentId ?? '', entry.deploymentId].map(parseDeploymentId);
        const rises = before !== undefined && after !== undefined && compareDeployments(before, after) < 0;
        return rises ? [] : [`${broker.name}: ${ledger[index]?.deploymentId} then ${entry.deploymentId}`];
      }),
    ),
  );
}
