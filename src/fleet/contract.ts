/**
 * The interfaces between the parts of this module and to rollouts: cluster access, snapshots, releases and health. Each
 * part implements one; rollouts depend only on these.
 */
import type { Environment, Operator } from '../api/index.ts';
import type { Client, UnknownObject } from '../runtime/index.ts';

/** The rollout that work belongs to, for logs, audit and traces. */
export interface WorkContext {
  readonly operator?: string;
  readonly version?: string;
  readonly deploymentId?: string;
  readonly userId?: string;
  readonly traceparent?: string;
  readonly signal?: AbortSignal;
}

/** The purpose of a connection: its temporary credentials allow that, and no more. */
export type Purpose =
  | { readonly kind: 'observe' }
  /** Grants writes of the kinds and namespaces in these snapshots. */
  | { readonly kind: 'install'; readonly snapshots: readonly Snapshot[] };

export interface ClusterConnection {
  readonly cluster: string;
  readonly environment: Environment;
  /** For example `v1.36.3`. */
  readonly kubernetesVersion: string;
  readonly client: Client;
  /** A kubeconfig file for child processes, private and deleted afterwards. */
  withKubeconfig<Result>(use: (path: string) => Promise<Result>): Promise<Result>;
}

/** The registered clusters. Connections are reused while their credentials are valid. */
export interface Fleet {
  /** Rejects with FleetError. */
  connect(cluster: string, purpose: Purpose, context: WorkContext): Promise<ClusterConnection>;
  /** Drops everything kept of a cluster whose credentials changed or that is removed. */
  forget(cluster: string): void;
  stop(): Promise<void>;
}

export type FleetErrorCode =
  | 'cluster/unknown'
  | 'cluster/credentials-missing'
  /** The content of its Secret was not sealed for it, or was modified. */
  | 'cluster/tampered'
  | 'cluster/key-missing'
  /** An exec plugin, a file path, …: it would run code or read files on the platform. */
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
  /** A retry may succeed. */
  readonly temporary: boolean;

  constructor(code: FleetErrorCode, message: string, options: { temporary?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'FleetError';
    this.code = code;
    this.temporary = options.temporary ?? false;
  }
}

/**
 * The rendered objects of an operator version, stored unchanged. A rollback applies a snapshot and renders nothing. It
 * may contain secrets of the chart, so it is stored in Kubernetes Secrets and never in a log or status.
 */
export interface Snapshot {
  /** The name in the store: `snapshot-` and the start of the digest. */
  readonly name: string;
  /** The digest of all fields below. */
  readonly digest: string;
  readonly operator: string;
  readonly version: string;
  readonly chartDigest: string;
  readonly valuesDigest: string;
  /** The environment it was rendered for. */
  readonly environment: Environment;
  readonly kubernetesVersion: string;
  readonly namespace: string;
  readonly releaseName: string;
  /** CustomResourceDefinitions: applied first, outside of the release, and never rolled back. */
  readonly definitions: readonly UnknownObject[];
  /** The other objects in chart order, including hooks. */
  readonly manifests: readonly UnknownObject[];
}

export type SnapshotContent = Omit<Snapshot, 'name' | 'digest'>;

/** A content-addressed store: storing the same content twice is a no-op. */
export interface SnapshotStore {
  put(content: SnapshotContent): Promise<Snapshot>;
  /** Rejects with FleetError `snapshot/missing` or `snapshot/damaged`. */
  get(name: string): Promise<Snapshot>;
  /** Deletes everything that is not named, except what was stored within the last hour. */
  retain(names: ReadonlySet<string>): Promise<void>;
}

/** A packaged chart, identified by its digest. */
export interface Chart {
  readonly name: string;
  readonly version: string;
  readonly appVersion?: string;
  readonly digest: string;
  readonly bytes: Buffer;
}

interface ChartInspection {
  /** The definitions in `crds/` of the chart and its subcharts, and those of its templates. */
  readonly definitions: readonly UnknownObject[];
  /**
   * Why it does not render with its default values; it may with those of a deployment. Also undefined if it could not
   * be tried.
   */
  readonly doesNotRender?: string;
}

export interface Charts {
  /** The versions of the chart, newest first. For a path: the one that is there. */
  versions(
    operator: Operator,
    context: WorkContext,
  ): Promise<readonly { version: string; appVersion?: string; digest?: string }[]>;
  /** Fetches by chart version; cached by digest, with a size limit. */
  fetch(operator: Operator, chartVersion: string, context: WorkContext): Promise<Chart>;
  /** Inspects a chart with its default values. */
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
      /** In order; later values override earlier ones. */
      readonly values: readonly Readonly<Record<string, unknown>>[];
      /** Some values come from a Secret: a render error then reports the location only. */
      readonly hasSecrets?: boolean;
    },
    context: WorkContext,
  ): Promise<SnapshotContent>;
}

/** Helm releases on a cluster. Every method is idempotent and may be called again after a crash. */
export interface Installer {
  /** The current release, whoever created it: the deployed one, else the last. Undefined if there is none. */
  current(
    connection: ClusterConnection,
    release: { readonly name: string; readonly namespace: string },
    context: WorkContext,
  ): Promise<InstalledRelease | undefined>;
  /**
   * Applies definitions first (never narrowed or removed), then runs `helm install` or `helm upgrade` of exactly the
   * snapshot, and waits for its workloads. `attempt` is recorded in the release: if the release of this attempt exists,
   * nothing is done.
   */
  apply(
    connection: ClusterConnection,
    snapshot: Snapshot,
    options: ApplyOptions,
  ): Promise<{ readonly revision: number }>;
  /**
   * Restores a snapshot: `helm rollback` if that revision still exists, else an upgrade to it. Definitions are left
   * alone.
   */
  restore(
    connection: ClusterConnection,
    snapshot: Snapshot,
    options: ApplyOptions,
  ): Promise<{ readonly revision: number }>;
  /** Uninstalls a release that did not exist before; definitions and custom resources are kept. */
  remove(
    connection: ClusterConnection,
    release: { readonly name: string; readonly namespace: string },
    options: ApplyOptions,
  ): Promise<void>;
}

export interface ApplyOptions {
  readonly attempt: string;
  readonly timeoutMilliseconds: number;
  /** For blue-green: only namespaced objects; the switch applies the rest outside of the release. */
  readonly only?: 'namespaced';
  /** For blue-green: controllers start at 0 replicas. */
  readonly atZero?: boolean;
  /** Receives the output lines of Helm, with secrets redacted. */
  readonly onOutput?: (line: string) => void;
  readonly context: WorkContext;
}

export interface InstalledRelease {
  readonly revision: number;
  readonly status: string;
  readonly chart: string;
  readonly version: string;
  /** The digest of its snapshot; undefined if kidp did not create it. */
  readonly snapshotDigest?: string;
  readonly attempt?: string;
  readonly manifests: readonly UnknownObject[];
  /**
   * Definitions in the templates of an existing release (ours has none). They belong into the snapshot of the previous
   * state.
   */
  readonly definitions?: readonly UnknownObject[];
}

export interface SwitchedSides {
  /** The previous side, in the other namespace or, after an in-place upgrade, in the same one. */
  readonly from?: Snapshot;
  readonly to: Snapshot;
  readonly coexist: boolean;
  /** The timeout for the old controllers to stop, and for the new ones to start. */
  readonly timeoutMilliseconds?: number;
}

/** The two sides of a blue-green deployment on one cluster. Every step is idempotent. */
export interface Switcher {
  /**
   * Routes cluster-scoped objects and webhooks to `to` and deletes those that it does not have; scales the controllers
   * of `from` to 0 and those of `to` to the snapshot's replicas. If `to` can only read stored objects while `from`
   * converts them, both keep running; if that is impossible, it rejects before any change.
   */
  switchOver(connection: ClusterConnection, sides: SwitchedSides, context: WorkContext): Promise<void>;
  /**
   * Removes the old side after its retention time, with everything outside of its release that the remaining side does
   * not have. Returns why it must be kept: it is the only converter of custom resources.
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
  /** Healthy only at the requested revision; observations from before the change do not count. */
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
  /** The revision that the workloads must have observed and rolled out. */
  readonly revision: number;
  /** For blue-green before the switch: webhooks and custom resources are not checked yet. */
  readonly podsOnly?: boolean;
}

export interface HealthChecker {
  check(connection: ClusterConnection, target: HealthTarget, context: WorkContext): Promise<HealthReport>;
}
