/** One real API server that is both: the management cluster, and the cluster that is registered there. */
import { readFileSync } from 'node:fs';
import {
  type Cluster,
  cluster as clusterKind,
  crdFor,
  type Environment,
  operatorInstallation,
} from '../../../src/api/index.ts';
import {
  type ClusterAccess,
  type FleetOptions,
  type KeyRing,
  type ManagedFleet,
  newKeySet,
  openFleet,
  readKeyRing,
  type SealingKeys,
  sealedSecret,
  sealKubeconfig,
} from '../../../src/fleet/index.ts';
import { addClusterReconciler, type ClusterReconcilerOptions } from '../../../src/reconcile/index.ts';
import {
  type Client,
  type Condition,
  connect,
  type EventInput,
  getCondition,
  type Logger,
  loadKubeconfig,
  Manager,
  type Resource,
} from '../../../src/runtime/index.ts';
import { coreSecrets, type LogFields } from '../../../src/runtime/internal.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { type ControlPlane, startControlPlane } from '../../support/cluster.ts';

export const systemNamespace = 'kidp-system';
export const patient = { within: 180_000, every: 100 };

const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
export const namespaces: Resource = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};

export interface Management {
  readonly plane: ControlPlane;
  readonly client: Client;
  /** Of an administrator, everything inline. */
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

export async function startManagement(): Promise<Management> {
  const plane = await startControlPlane();
  const client = connect(loadKubeconfig({ file: plane.kubeconfig }));
  for (const kind of [clusterKind, operatorInstallation]) {
    await client.apply(definitions, crdFor(kind), { fieldManager: 'test' });
    await eventually(() => client.list(kind.resource), patient);
  }
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: systemNamespace } });
  return {
    plane,
    client,
    kubeconfig: readFileSync(plane.kubeconfig, 'utf8'),
    async stop() {
      await client.close();
      await plane.stop();
    },
  };
}

/** Keys in memory, which may be exchanged. */
export interface TestKeys extends SealingKeys {
  rotate(): Promise<void>;
  forgetOld(): Promise<void>;
}

export async function testKeys(): Promise<TestKeys> {
  let text = await newKeySet();
  return {
    current: (): Promise<KeyRing> => readKeyRing(text, 'memory'),
    async rotate() {
      text = await newKeySet(text);
    },
    async forgetOld() {
      text = JSON.stringify({ keys: JSON.parse(text).keys.slice(0, 1) });
    },
  };
}

/** As `kidp clusters add` does: the sealed kubeconfig, then the Cluster. */
export async function addCluster(
  { client }: Management,
  keys: SealingKeys,
  name: string,
  kubeconfig: string,
  over: { environment?: Environment; sealedFor?: string } = {},
): Promise<Cluster> {
  const { sealing } = await keys.current();
  const sealed = await sealKubeconfig(sealing, over.sealedFor ?? name, kubeconfig);
  await client.create(coreSecrets, sealedSecret(systemNamespace, `cluster-${name}`, sealed));
  return client.create<Cluster>(clusterKind.resource, {
    apiVersion: 'platform.company.com/v1',
    kind: 'Cluster',
    metadata: { name },
    spec: { environment: over.environment ?? 'Dev', credentials: {}, contact: 'somebody@example.com' },
  } as Cluster);
}

export interface RunningReconciler {
  readonly fleet: ManagedFleet;
  readonly accesses: ClusterAccess[];
  readonly events: EventInput[];
  /** Every line of the log, as JSON. */
  readonly log: string[];
  stop(): Promise<void>;
}

export function startReconciler(
  { client }: Management,
  keys: SealingKeys,
  options: Partial<ClusterReconcilerOptions & FleetOptions> = {},
): RunningReconciler {
  const lines: string[] = [];
  const log = linesInto(lines);
  const accesses: ClusterAccess[] = [];
  const events: EventInput[] = [];
  const fleet = openFleet({
    client,
    systemNamespace,
    keys,
    log,
    audit: (access) => accesses.push(access),
    ...options,
  });
  const manager = new Manager({ client, log });
  addClusterReconciler(manager, {
    fleet,
    keys,
    systemNamespace,
    recorder: { record: (event) => void events.push(event) },
    intervalMilliseconds: 500,
    timeoutMilliseconds: 30_000,
    ...options,
  });
  const stop = new AbortController();
  const ended = manager.start(stop.signal);
  return {
    fleet,
    accesses,
    events,
    log: lines,
    async stop() {
      stop.abort();
      await ended;
      await fleet.stop();
    },
  };
}

/** As a log would print them: errors with their stack and causes. */
export function linesInto(lines: string[], fields: LogFields = {}): Logger {
  const write = (message: string, more: LogFields = {}) => {
    const all = Object.fromEntries(
      Object.entries({ ...fields, ...more }).map(([name, value]) => [
        name,
        value instanceof Error ? errorText(value) : value,
      ]),
    );
    lines.push(JSON.stringify({ message, ...all }));
  };
  return {
    debug: write,
    info: write,
    warn: write,
    error: write,
    with: (more) => linesInto(lines, { ...fields, ...more }),
  };
}

const errorText = (error: Error): string =>
  `${error.stack} ${JSON.stringify(error)} ${error.cause instanceof Error ? errorText(error.cause) : String(error.cause)}`;

/** The Cluster once it is as wanted. */
export function whenCluster(client: Client, name: string, wanted: (cluster: Cluster) => boolean): Promise<Cluster> {
  return eventually(async () => {
    const cluster = await client.get<Cluster>(clusterKind.resource, { name });
    if (!wanted(cluster)) throw new Error(`${name} is not as wanted: ${JSON.stringify(cluster.status)}`);
    return cluster;
  }, patient);
}

export const conditionOf = (cluster: Cluster, type: string): Condition | undefined =>
  getCondition(cluster.status?.conditions as Condition[] | undefined, type);

export const says = (type: string, status: string, reason: string) => (cluster: Cluster) => {
  const condition = conditionOf(cluster, type);
  return condition?.status === status && condition.reason === reason;
};
