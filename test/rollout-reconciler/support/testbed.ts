/**
 * Rollouts on a real API server, with clusters, Helm and health simulated in this process, so that each can fail on
 * demand.
 */
import { createHash } from 'node:crypto';
import { Registry } from 'prom-client';
import {
  API_VERSION,
  type Approval,
  approval,
  type Cluster,
  cluster,
  type Environment,
  installationName,
  type OperatorDeployment,
  type OperatorInstallation,
  operator,
  operatorDeployment,
  operatorInstallation,
  REQUESTED_BY_ANNOTATION,
} from '../../../src/api/index.ts';
import {
  type Charts,
  type ClusterConnection,
  type Fleet,
  FleetError,
  type HealthChecker,
  type Installer,
  type Snapshot,
  type SnapshotStore,
  type Switcher,
} from '../../../src/fleet/index.ts';
import { addRolloutReconciler, defaultRolloutSettings, type RolloutSettings } from '../../../src/reconcile/index.ts';
import {
  ApiError,
  type Client,
  type EventInput,
  isNotFound,
  Manager,
  type Tracer,
  type UnknownObject,
} from '../../../src/runtime/index.ts';
import { childTraceparent, newTraceparent } from '../../../src/runtime/internal.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';

/** Generous, because the machine may be busy. */
export const patient = { within: 180_000, every: 100 };

interface Release {
  readonly revision: number;
  /** The Operator: the chart of a snapshot is named after it. */
  readonly chart: string;
  readonly version: string;
  readonly digest: string;
  readonly attempt: string;
  readonly manifests: readonly UnknownObject[];
}

/** The real state of one cluster. */
export class PlayedCluster {
  isReachable = true;
  /** Releases by namespace and name. */
  readonly releases = new Map<string, Release>();
  readonly definitions = new Map<string, UnknownObject>();
  /** Versions that Helm rejects there, and versions that are unhealthy there. */
  readonly refused = new Set<string>();
  readonly ill = new Set<string>();
  /** Namespaces whose controllers have 0 replicas. */
  readonly asleep = new Set<string>();
  /** The namespace that cluster-scoped objects refer to. */
  active: string | undefined;
  /** The executed operations in order. */
  readonly ledger: string[] = [];
  checks = 0;

  release(namespace = 'operators', name = 'tool'): Release | undefined {
    return this.releases.get(`${namespace}/${name}`);
  }
}

export class Played implements Pick<Fleet, 'connect'> {
  readonly clusters = new Map<string, PlayedCluster>();
  readonly #snapshots = new Map<string, Snapshot>();
  readonly retained: ReadonlySet<string>[] = [];
  /** CRDs of a version. */
  definitions: (version: string) => readonly UnknownObject[] = () => [];
  /** Versions whose chart does not render. */
  readonly unrendered = new Set<string>();
  /** Helm waits for this before it changes anything. */
  before: (cluster: string, version: string) => Promise<void> = async () => {};
  /** Helm waits for this after it has changed everything. */
  after: (cluster: string, version: string) => Promise<void> = async () => {};
  mostInstalls = 0;
  #installs = 0;

  cluster(name: string): PlayedCluster {
    const found = this.clusters.get(name) ?? new PlayedCluster();
    this.clusters.set(name, found);
    return found;
  }

  async connect(name: string): Promise<ClusterConnection> {
    const played = this.cluster(name);
    if (!played.isReachable) throw new FleetError('cluster/unreachable', 'no answer', { temporary: true });
    const get = async (_: unknown, { name: definition }: { name: string }) => {
      const found = played.definitions.get(definition);
      if (found === undefined) throw new ApiError({ doing: 'get', status: 404, reason: 'NotFound', message: 'none' });
      return found;
    };
    return {
      cluster: name,
      environment: 'Dev',
      kubernetesVersion: 'v1.36.3',
      client: { get } as unknown as Client,
      withKubeconfig: async (use) => use('/nowhere'),
    };
  }

  readonly fleet: Fleet = { connect: (name) => this.connect(name), forget() {}, async stop() {} };

  readonly charts: Charts = {
    versions: async () => [],
    fetch: async (_, version) => ({ name: 'tool', version, digest: `sha256:${version}`, bytes: Buffer.alloc(0) }),
    look: async () => ({ definitions: [] }),
    render: async (chart, { values, ...input }) => {
      if (this.unrendered.has(input.version)) throw new FleetError('chart/does-not-render', 'a template fails');
      const { operator: of, version, environment, kubernetesVersion, namespace, releaseName } = input;
      return {
        operator: of,
        version,
        environment,
        kubernetesVersion,
        namespace,
        releaseName,
        chartDigest: chart.digest,
        valuesDigest: 'sha256:values',
        definitions: this.definitions(version),
        manifests: [
          { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'values' }, data: Object.assign({}, ...values) },
        ],
      };
    },
  };

  readonly snapshots: SnapshotStore = {
    put: async (content) => {
      const digest = createHash('sha256').update(JSON.stringify(content)).digest('hex');
      const snapshot = { ...content, digest: `sha256:${digest}`, name: `snapshot-${digest.slice(0, 16)}` };
      this.#snapshots.set(snapshot.name, snapshot);
      return snapshot;
    },
    get: async (name) => {
      const found = this.#snapshots.get(name);
      if (found === undefined) throw new FleetError('snapshot/missing', name);
      return found;
    },
    retain: async (names) => void this.retained.push(names),
  };

  readonly installer: Installer = {
    current: async ({ cluster: name }, release) => {
      const found = this.cluster(name).releases.get(`${release.namespace}/${release.name}`);
      if (found === undefined) return undefined;
      const { revision, chart, version, digest, attempt, manifests } = found;
      return { revision, status: 'deployed', chart, version, snapshotDigest: digest, attempt, manifests };
    },
    apply: ({ cluster: name }, snapshot, { attempt, context }) =>
      this.#put(name, snapshot, attempt, 'install', context.signal),
    restore: ({ cluster: name }, snapshot, { attempt, context }) =>
      this.#put(name, snapshot, attempt, 'restore', context.signal),
    remove: async ({ cluster: name }, release) => {
      const played = this.cluster(name);
      if (played.releases.delete(`${release.namespace}/${release.name}`)) played.ledger.push('remove');
    },
  };

  async #put(name: string, snapshot: Snapshot, attempt: string, what: string, signal?: AbortSignal) {
    const played = this.cluster(name);
    const place = `${snapshot.namespace}/${snapshot.releaseName}`;
    const there = played.releases.get(place);
    if (there?.attempt === attempt) return { revision: there.revision };
    this.#installs += 1;
    this.mostInstalls = Math.max(this.mostInstalls, this.#installs);
    try {
      await this.before(name, snapshot.version);
      signal?.throwIfAborted();
      if (played.refused.has(snapshot.version)) throw new FleetError('helm/failed', 'it is refused');
      for (const definition of snapshot.definitions) played.definitions.set(definition.metadata.name, definition);
      const { operator: chart, version, digest, manifests } = snapshot;
      const release = { revision: (there?.revision ?? 0) + 1, chart, version, digest, attempt, manifests };
      played.releases.set(place, release);
      played.ledger.push(`${what} ${version}`);
      await this.after(name, snapshot.version);
      return { revision: release.revision };
    } finally {
      this.#installs -= 1;
    }
  }

  readonly switcher: Switcher = {
    switchOver: async ({ cluster: name }, { from, to }) => {
      const played = this.cluster(name);
      if (from !== undefined) played.asleep.add(from.namespace);
      played.asleep.delete(to.namespace);
      if (played.active !== to.namespace) played.ledger.push(`switch to ${to.version}`);
      played.active = to.namespace;
    },
    retire: async ({ cluster: name }, side) => {
      const played = this.cluster(name);
      if (played.releases.delete(`${side.namespace}/${side.releaseName}`)) played.ledger.push(`retire ${side.version}`);
    },
  };

  readonly health: HealthChecker = {
    check: async ({ cluster: name }, { snapshot, revision, operator: of }) => {
      const played = this.cluster(name);
      played.checks += 1;
      const release = played.releases.get(`${snapshot.namespace}/${snapshot.releaseName}`);
      const isThere = release?.revision === revision && release.version === snapshot.version;
      const isHealthy = of.spec.health?.pods?.enabled === false || (isThere && !played.ill.has(snapshot.version));
      const state = isHealthy ? 'Healthy' : 'Unhealthy';
      const part = { state, milliseconds: 1 } as const;
      const message = state === 'Healthy' ? '' : `${snapshot.version} crashes`;
      const checkedAt = new Date().toISOString();
      return {
        state,
        message,
        controllerPods: 1,
        pods: part,
        webhook: part,
        reconciliation: part,
        checkedAt,
        milliseconds: 1,
      };
    },
  };
}

export interface TracedSpan {
  readonly name: string;
  readonly traceparent: string;
  readonly parent?: string | undefined;
}

const tracerInto = (spans: TracedSpan[]): Tracer => ({
  span(name, { parent }, run) {
    const traceparent = childTraceparent(parent);
    spans.push({ name, traceparent, parent });
    return run({ traceparent, set() {}, event() {} });
  },
  begin: newTraceparent,
  past: (name, { traceparent }) => void spans.push({ name, traceparent }),
});

export interface Running {
  readonly events: EventInput[];
  readonly spans: readonly TracedSpan[];
  readonly registry: Registry;
  stop(): Promise<void>;
}

export const withoutApprovals: RolloutSettings = {
  ...defaultRolloutSettings,
  approvals: { Dev: [], Staging: [], Production: [] },
  versionUpgrade: { environments: [], levels: [] },
};

export function startRollouts(
  client: Client,
  played: Played,
  { settings = withoutApprovals, tidyMilliseconds }: { settings?: RolloutSettings; tidyMilliseconds?: number } = {},
): Running {
  const registry = new Registry();
  const events: EventInput[] = [];
  const spans: TracedSpan[] = [];
  const manager = new Manager({ client, registry, stopMilliseconds: 5_000 });
  addRolloutReconciler(manager, {
    fleet: played.fleet,
    charts: played.charts,
    snapshots: played.snapshots,
    installer: played.installer,
    switcher: played.switcher,
    health: played.health,
    settings,
    tracer: tracerInto(spans),
    registry,
    recorder: { record: (event) => void events.push(event) },
    systemNamespace: 'kidp-system',
    retryMilliseconds: 100,
    tidyMilliseconds,
  });
  const stopping = new AbortController();
  const running = manager.start(stopping.signal);
  return {
    events,
    spans,
    registry,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** The objects of the management cluster. */
export class Objects {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  async operator(name: string, versions: readonly string[], spec: object = {}): Promise<void> {
    const object = {
      apiVersion: API_VERSION,
      kind: 'Operator',
      metadata: { name },
      spec: { namespace: 'operators', releaseName: 'tool', chart: { path: 'tool' }, ...spec },
    };
    await this.#client.create(operator.resource, object);
    const known = versions.map((version) => ({ version, chartVersion: version, state: 'Available' }));
    await this.#status(operator.resource, name, { versions: known });
  }

  async editOperator(name: string, spec: object): Promise<void> {
    await this.#client.patch(operator.resource, { name }, { type: 'merge', body: { spec } });
  }

  removeOperator(name: string): Promise<void> {
    return this.#client.delete(operator.resource, { name });
  }

  async cluster(name: string, environment: Environment = 'Dev', labels: Record<string, string> = {}): Promise<void> {
    const object = { apiVersion: API_VERSION, kind: 'Cluster', metadata: { name, labels }, spec: { environment } };
    await this.#client.create(cluster.resource, object);
    await this.ready(name);
  }

  async ready(name: string, isReady = true): Promise<void> {
    const condition = {
      type: 'Ready',
      status: isReady ? 'True' : 'False',
      reason: isReady ? 'Reachable' : 'Unreachable',
      message: isReady ? '' : 'no answer',
      lastTransitionTime: new Date().toISOString(),
    };
    await this.#status(cluster.resource, name, { kubernetesVersion: 'v1.36.3', conditions: [condition] });
  }

  #status(resource: typeof operator.resource, name: string, status: object): Promise<unknown> {
    return this.#client.patch(resource, { name }, { type: 'merge', body: { status } }, { subresource: 'status' });
  }

  async rollout(name: string, spec: object): Promise<OperatorDeployment> {
    const object = {
      apiVersion: API_VERSION,
      kind: 'OperatorDeployment',
      metadata: { name, annotations: { [REQUESTED_BY_ANNOTATION]: 'ada' } },
      spec: {
        version: 'v1.0.0',
        strategy: 'Direct',
        health: { interval: 'PT0.2S', failureThreshold: 3, minimumSoak: 'PT0S' },
        ...spec,
      },
    };
    return (await this.#client.create(operatorDeployment.resource, object)) as unknown as OperatorDeployment;
  }

  edit(name: string, spec: object): Promise<unknown> {
    return this.#client.patch(operatorDeployment.resource, { name }, { type: 'merge', body: { spec } });
  }

  delete(name: string): Promise<void> {
    return this.#client.delete(operatorDeployment.resource, { name });
  }

  get(name: string): Promise<OperatorDeployment> {
    return this.#client.get<OperatorDeployment>(operatorDeployment.resource, { name });
  }

  /** Waits until the condition holds. */
  until(name: string, isSo: (rollout: OperatorDeployment) => boolean): Promise<OperatorDeployment> {
    let last: OperatorDeployment | undefined;
    return eventually(async () => {
      last = await this.get(name);
      return isSo(last) ? last : false;
    }, patient).catch((error: unknown) => {
      throw new Error(`${name}: ${JSON.stringify(last?.status, null, 1)}`, { cause: error });
    });
  }

  ends(name: string, phase: 'Completed' | 'Failed'): Promise<OperatorDeployment> {
    return this.until(name, ({ status }) => status?.phase === phase);
  }

  reason(name: string, reason: string): Promise<OperatorDeployment> {
    return this.until(name, ({ status }) => reasonOf(status) === reason);
  }

  gone(name: string): Promise<true> {
    return eventually(
      () =>
        this.get(name).then(
          () => false as const,
          (error: unknown) => isNotFound(error) && (true as const),
        ),
      patient,
    );
  }

  async installation(of: string, on: string): Promise<OperatorInstallation['spec'] | undefined> {
    const name = installationName(of, on);
    return this.#client.get<OperatorInstallation>(operatorInstallation.resource, { name }).then(
      ({ spec }) => spec,
      (error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      },
    );
  }

  /** Lets the retention period of the kept sides pass. */
  async timeIsOver(of: string, on: string): Promise<void> {
    const { kept = [] } = (await this.installation(of, on)) ?? {};
    const over = kept.map((side) => ({ ...side, keptUntil: new Date(0).toISOString() }));
    const name = installationName(of, on);
    await this.#client.patch(
      operatorInstallation.resource,
      { name },
      { type: 'merge', body: { spec: { kept: over } } },
    );
  }

  async clusterPatch(name: string, spec: object): Promise<void> {
    await this.#client.patch<Cluster>(cluster.resource, { name }, { type: 'merge', body: { spec } });
  }

  removeCluster(name: string): Promise<void> {
    return this.#client.delete(cluster.resource, { name });
  }

  approval(name: string): Promise<Approval> {
    return eventually(() => this.#client.get<Approval>(approval.resource, { name }), patient);
  }

  async decide(name: string, decision: 'Approve' | 'Reject', roles: readonly string[] = ['Admin']): Promise<void> {
    await this.approval(name);
    const decisions = [{ decision, by: 'grace', at: new Date().toISOString(), roles }];
    await this.#client.patch(approval.resource, { name }, { type: 'merge', body: { spec: { decisions } } });
  }

  async degraded(name: string): Promise<void> {
    const { status } = await this.get(name);
    const condition = {
      type: 'Degraded',
      status: 'True',
      reason: 'Unhealthy',
      message: 'dev-1: it crashes',
      lastTransitionTime: new Date().toISOString(),
    };
    await this.#status(operatorDeployment.resource, name, { conditions: [...(status?.conditions ?? []), condition] });
  }
}

export const reasonOf = (status: OperatorDeployment['status']): string | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready')?.reason;

export const states = ({ status }: OperatorDeployment): Record<string, string> =>
  Object.fromEntries((status?.clusters ?? []).map(({ name, state }) => [name, state]));
