/**
 * What the parts of this room hand each other, and what rollouts build on: a way into a cluster, what is to be put there, and how
 * it fares. Each part implements one of the interfaces; a rollout knows only these.
 */
import type { Environment, Operator } from '../api/index.ts';
import type { Client, UnknownObject } from '../runtime/index.ts';

/** Where something belongs that is done on behalf of a rollout: in logs, in the audit and in traces. */
export interface WorkContext {
  readonly operator?: string;
  readonly version?: string;
  readonly deploymentId?: string;
  readonly userId?: string;
  readonly traceparent?: string;
  readonly signal?: AbortSignal;
}

/** What somebody wants to do on a cluster: the temporary credentials allow that, and no more. */
export type Purpose =
  | { readonly kind: 'observe' }
  /** The kinds of objects that are going to be written there, and their namespaces. */
  | { readonly kind: 'install'; readonly snapshots: readonly Snapshot[] };

export interface ClusterConnection {
  readonly cluster: string;
  readonly environment: Environment;
  /** For example `v1.36.3`. */
  readonly kubernetesVersion: string;
  readonly client: Client;
  /** A kubeconfig for programs, in a file that only we can read and that is gone afterwards. */
  withKubeconfig<Result>(use: (path: string) => Promise<Result>): Promise<Result>;
}

/** The clusters that are registered. Connections are kept while their credentials last, and shared. */
export interface Fleet {
  /** Rejects with FleetError. */
  connect(cluster: string, purpose: Purpose, context: WorkContext): Promise<ClusterConnection>;
  /** Its credentials have changed, or it goes: nothing is kept of it in memory. */
  forget(cluster: string): void;
  stop(): Promise<void>;
}

export type FleetErrorCode =
  | 'cluster/unknown'
  | 'cluster/credentials-missing'
  /** What is in its Secret was not sealed for it, or has been changed since. */
  | 'cluster/tampered'
  | 'cluster/key-missing'
  /** An exec plugin, a path of a file, …: it would run code or read files here. */
  | 'cluster/kubeconfig-refused'
  | 'cluster/unreachable'
  | 'cluster/forbidden'
  | 'chart/unreachable'
  | 'chart/missing'
  | 'chart/digest'
  | 'chart/invalid'
  | 'chart/does-not-render'
  | 'helm/missing'
  | 'helm/failed'
  | 'helm/timeout'
  | 'snapshot/missing'
  | 'snapshot/damaged'
  | 'snapshot/too-large';

export class FleetError extends Error {
  readonly code: FleetErrorCode;
  /** Trying again may help. */
  readonly temporary: boolean;

  constructor(code: FleetErrorCode, message: string, options: { temporary?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'FleetError';
    this.code = code;
    this.temporary = options.temporary ?? false;
  }
}

/**
 * What is put on a cluster: rendered once, kept as it is. A way back applies one of these, and renders nothing. It may hold secrets of
 * the chart, so that it is kept in Secrets of Kubernetes and never in a log or a status.
 */
export interface Snapshot {
  /** The name in the store: `snapshot-` and the beginning of the digest. */
  readonly name: string;
  /** Of all that follows. */
  readonly digest: string;
  readonly operator: string;
  readonly version: string;
  readonly chartDigest: string;
  readonly valuesDigest: string;
  /** What it was rendered for. */
  readonly environment: Environment;
  readonly kubernetesVersion: string;
  readonly namespace: string;
  readonly releaseName: string;
  /** CustomResourceDefinitions: applied before all else, outside the release, and only ever forward. */
  readonly definitions: readonly UnknownObject[];
  /** Without the definitions, in the order of the chart, hooks and all. */
  readonly manifests: readonly UnknownObject[];
}

export type SnapshotContent = Omit<Snapshot, 'name' | 'digest'>;

/** What is kept is told by its content: keeping the same twice is keeping it once. */
export interface SnapshotStore {
  put(content: SnapshotContent): Promise<Snapshot>;
  /** Rejects with FleetError `snapshot/missing` or `snapshot/damaged`. */
  get(name: string): Promise<Snapshot>;
  /** Removes all that is not named; what was kept within the last hour stays. */
  retain(names: ReadonlySet<string>): Promise<void>;
}

/** A packaged chart, fetched and known by its digest. */
export interface Chart {
  readonly name: string;
  readonly version: string;
  readonly appVersion?: string;
  readonly digest: string;
  readonly bytes: Buffer;
}

interface ChartInspection {
  /** Those in `crds/`, of it and its subcharts, and those that its templates make. */
  readonly definitions: readonly UnknownObject[];
  /** Why, where it does not: it may with the values of a deployment. Left out also where it could not be tried. */
  readonly doesNotRender?: string;
}

export interface Charts {
  /** The versions of the chart, the newest first. For a path: the one that is there. */
  versions(
    operator: Operator,
    context: WorkContext,
  ): Promise<readonly { version: string; appVersion?: string; digest?: string }[]>;
  /** By the version of the chart; kept in memory by digest, bounded. */
  fetch(operator: Operator, chartVersion: string, context: WorkContext): Promise<Chart>;
  /** Without a deployment: by its own values alone. */
  look(chart: Chart, context: WorkContext): Promise<ChartInspection>;
  render(
    chart: Chart,
    input: {
      readonly operator: string;
      readonly version: string;
      readonly environment: Environment;
      readonly kubernetesVersion: string;
      readonly namespace: string;
      readonly releaseName: string;
      /** In their order, the later over the earlier. */
      readonly values: readonly Readonly<Record<string, unknown>>[];
      /** Some of the values come from a Secret: where it does not render, the place is told and not why. */
      readonly hasSecrets?: boolean;
    },
    context: WorkContext,
  ): Promise<SnapshotContent>;
}

/** A release on a cluster, put there by the real Helm. Each may be asked for again after a crash: what is done is not done twice. */
export interface Installer {
  /** The release that is there, whoever made it: the one that is deployed, else the last. Undefined where there is none. */
  current(
    connection: ClusterConnection,
    release: { readonly name: string; readonly namespace: string },
    context: WorkContext,
  ): Promise<InstalledRelease | undefined>;
  /**
   * Definitions first (never narrowed or removed), then `helm install` or `helm upgrade` of exactly the snapshot, waiting until its
   * workloads are rolled out. `attempt` is written into the release: where the release of this attempt is there already, nothing is done.
   */
  apply(
    connection: ClusterConnection,
    snapshot: Snapshot,
    options: ApplyOptions,
  ): Promise<{ readonly revision: number }>;
  /** Back to a snapshot: `helm rollback` where that revision is still there, else an upgrade to it. Definitions are left alone. */
  restore(
    connection: ClusterConnection,
    snapshot: Snapshot,
    options: ApplyOptions,
  ): Promise<{ readonly revision: number }>;
  /** What was never there before goes again; definitions and custom resources stay. */
  remove(
    connection: ClusterConnection,
    release: { readonly name: string; readonly namespace: string },
    options: ApplyOptions,
  ): Promise<void>;
}

export interface ApplyOptions {
  readonly attempt: string;
  readonly timeoutMilliseconds: number;
  /** For blue-green: only what lives in the namespace; the rest is applied outside the release by the switch. */
  readonly only?: 'namespaced';
  /** For blue-green: controllers begin at 0. */
  readonly atZero?: boolean;
  /** A line of Helm's, with nothing secret in it. */
  readonly onOutput?: (line: string) => void;
  readonly context: WorkContext;
}

export interface InstalledRelease {
  readonly revision: number;
  readonly status: string;
  readonly chart: string;
  readonly version: string;
  /** Of the snapshot that it was made from; undefined where it was not made by us. */
  readonly snapshotDigest?: string;
  readonly attempt?: string;
  readonly manifests: readonly UnknownObject[];
  /** Those that somebody's chart has among its templates; ours has none. They belong into the snapshot of what was there before. */
  readonly definitions?: readonly UnknownObject[];
}

export interface SwitchedSides {
  /** What was in use, in the other namespace or, where it was upgraded in its place, in the same one. */
  readonly from?: Snapshot;
  readonly to: Snapshot;
  readonly coexist: boolean;
  /** For the old controllers to end, and for the new ones to be there. */
  readonly timeoutMilliseconds?: number;
}

/** The two sides of a blue-green deployment on one cluster. Each step may be asked for again. */
export interface Switcher {
  /**
   * Cluster-scoped objects and webhooks now lead to `to`, and those that it does not have are gone; the controllers of `from` are at 0,
   * those of `to` are at what the snapshot says. Where `to` could not read what is stored unless those of `from` convert it, they go on
   * beside those of `to`, or where that cannot be it rejects before anything is changed.
   */
  switchOver(connection: ClusterConnection, sides: SwitchedSides, context: WorkContext): Promise<void>;
  /**
   * The side that was kept goes, after its time, and with it all outside of its release that the one that stays does not have. Says why
   * where it has to be kept: nobody else converts custom resources.
   */
  retire(
    connection: ClusterConnection,
    side: Snapshot,
    staying: Snapshot | undefined,
    context: WorkContext,
  ): Promise<string | undefined>;
}

export type HealthState = 'Healthy' | 'Unhealthy' | 'Unknown' | 'NotChecked';

export interface PartHealth {
  readonly state: HealthState;
  readonly message?: string;
  readonly milliseconds: number;
}

export interface HealthReport {
  /** Healthy only where it is so at the revision that was asked for, with nothing of before the change counted. */
  readonly state: 'Healthy' | 'Unhealthy' | 'Unknown';
  readonly message: string;
  readonly controllerPods: number;
  readonly pods: PartHealth;
  readonly webhook: PartHealth;
  readonly reconciliation: PartHealth;
  readonly checkedAt: string;
  readonly milliseconds: number;
}

export interface HealthTarget {
  readonly operator: Operator;
  readonly snapshot: Snapshot;
  /** The workloads must have been observed at, and rolled out to, what the snapshot says. */
  readonly revision: number;
  /** For blue-green before the switch: webhooks and custom resources are not its business yet. */
  readonly podsOnly?: boolean;
}

export interface HealthChecker {
  check(connection: ClusterConnection, target: HealthTarget, context: WorkContext): Promise<HealthReport>;
}
