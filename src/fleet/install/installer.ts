/**
 * `openInstaller` manages releases on clusters with the Helm binary. Helm writes the objects without waiting; the
 * rollout of workloads is checked afterwards. So a crash leaves a release pending only for moments, and a wait can be
 * resumed.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Clock, noTracer, systemClock, type Tracer, type UnknownObject } from '../../runtime/index.ts';
import { isDefinition } from '../charts/render.ts';
import {
  type ApplyOptions,
  type ClusterConnection,
  FleetError,
  type InstalledRelease,
  type Installer,
  type Snapshot,
} from '../contract.ts';
import { findHelm, type HelmBinary, type HelmLocation, runHelm } from '../helm/index.ts';
import { currentRunner, withWorkspace } from '../scratch/index.ts';
import { applyDefinitions } from './definitions.ts';
import { helmFailure, helmLine, onCluster } from './failures.ts';
import { adopt } from './ownership.ts';
import { hooklessMilliseconds, settledRelease } from './pending.ts';
import { atRisk, mustStay, protectRelease } from './protect.ts';
import {
  isUninstalling,
  markFailed,
  objectsOf,
  type Release,
  type ReleaseName,
  readRelease,
  revisionsOf,
} from './releases.ts';
import { shareNeeds, sideOf } from './sides.ts';
import {
  attemptAnnotation,
  digestAnnotation,
  snapshotLabel,
  variantAnnotation,
  variantOf,
  writeSnapshotChart,
} from './snapshot-chart.ts';
import { deadlineIn, waitUntil } from './wait.ts';
import { isHook, restoreReplicas, scaledToZero, untilRolledOut, type Workload, workloadsIn } from './workloads.ts';

interface InstallerOptions {
  readonly helm?: HelmLocation;
  readonly clock?: Clock;
  readonly tracer?: Tracer;
}

/** The number of revisions that Helm keeps: so many versions can be rolled back to without an upgrade. */
const keptRevisions = '10';

export function openInstaller(options: InstallerOptions = {}): Installer {
  return new HelmInstaller(options);
}

interface StepOptions extends ApplyOptions {
  /** A rollback, which has reserved Helm slots. */
  readonly isRollback?: boolean;
}

class HelmInstaller implements Installer {
  readonly #location: HelmLocation;
  readonly #clock: Clock;
  readonly #tracer: Tracer;
  /** The releases that this process is changing. */
  readonly #active = new Set<string>();
  #helm: Promise<HelmBinary> | undefined;

  constructor({ helm = {}, clock = systemClock, tracer = noTracer }: InstallerOptions) {
    this.#location = helm;
    this.#clock = clock;
    this.#tracer = tracer;
  }

  async current(connection: ClusterConnection, name: ReleaseName): Promise<InstalledRelease | undefined> {
    return onCluster(connection.cluster, [], async () => {
      const revisions = await revisionsOf(connection.client, name);
      const [newest] = revisions;
      if (newest === undefined || isUninstalling(newest)) return undefined;
      const found = revisions.find(({ status }) => status === 'deployed') ?? newest;
      const release = await readRelease(found);
      const objects = await objectsOf(release);
      const { [digestAnnotation]: snapshotDigest, [attemptAnnotation]: attempt } = release.chart.annotations;
      return {
        revision: release.revision,
        status: release.status,
        chart: release.chart.name,
        version: release.chart.version,
        ...(snapshotDigest === undefined ? {} : { snapshotDigest }),
        ...(attempt === undefined ? {} : { attempt }),
        manifests: objects.filter((object) => !isDefinition(object)),
        definitions: objects.filter(isDefinition),
      };
    });
  }

  async apply(
    connection: ClusterConnection,
    snapshot: Snapshot,
    given: ApplyOptions,
  ): Promise<{ readonly revision: number }> {
    return this.#installing(connection, snapshot, given, async (options) => {
      const there = await this.#usable(connection, snapshot, options);
      const isDone = there?.status === 'deployed' && there.chart.annotations[attemptAnnotation] === options.attempt;
      const revision = isDone ? there.revision : await this.#advance(connection, snapshot, options, there);
      await this.#rolledOut(connection, snapshot, options);
      return { revision };
    });
  }

  async restore(
    connection: ClusterConnection,
    snapshot: Snapshot,
    given: ApplyOptions,
  ): Promise<{ readonly revision: number }> {
    return this.#installing(connection, snapshot, { ...given, isRollback: true }, async (options) => {
      const there = await this.#usable(connection, snapshot, options);
      const isDone = there?.status === 'deployed' && (await isOf(there, snapshot, options));
      const revision = isDone ? there.revision : await this.#rollback(connection, snapshot, options, there);
      await this.#rolledOut(connection, snapshot, options);
      return { revision };
    });
  }

  async remove(connection: ClusterConnection, name: ReleaseName, given: ApplyOptions): Promise<void> {
    const options = { ...given, isRollback: true };
    await onCluster(connection.cluster, [], async () => {
      const there = await this.#settled(connection, { releaseName: name.name, namespace: name.namespace }, options);
      if (there === undefined) return;
      const objects = await objectsOf(there);
      // An uninstall reads the resource policy from the release, not from the objects.
      if (atRisk(objects).length > 0) {
        // Helm refuses to upgrade a release that is being uninstalled.
        if (isUninstalling(there) && !(await markFailed(connection.client, there))) throw busy(connection, name);
        await protectRelease(connection.client, name, there);
        await this.#leave(connection, name, objects, options);
      }
      const words = ['uninstall', name.name, '--namespace', name.namespace, '--ignore-not-found'];
      await this.#run(connection, name, [...words, ...timeoutArguments(objects, options)], { objects, options });
    });
  }

  /** Traced as a child span (docs/requirements.md, 002 tracing). */
  #installing<Result>(
    { cluster }: ClusterConnection,
    { operator, version, manifests }: Snapshot,
    options: StepOptions,
    run: (options: StepOptions) => Promise<Result>,
  ): Promise<Result> {
    const { traceparent: parent, deploymentId } = options.context;
    const attributes = {
      'operator.name': operator,
      'operator.version': version,
      'cluster.name': cluster,
      ...(deploymentId === undefined ? {} : { 'deployment.id': deploymentId }),
    };
    const span = { attributes, ...(parent === undefined ? {} : { parent }) };
    return this.#tracer.span('helm.install', span, ({ traceparent }) =>
      onCluster(cluster, manifests, () => run({ ...options, context: { ...options.context, traceparent } })),
    );
  }

  /** Applies the definitions, then the release. */
  async #advance(
    connection: ClusterConnection,
    snapshot: Snapshot,
    options: StepOptions,
    there: Release | undefined,
  ): Promise<number> {
    const { client } = connection;
    const waiting = deadlineIn(this.#clock, options.timeoutMilliseconds, options.context.signal);
    const beside = options.only === 'namespaced';
    const { traceparent } = options.context;
    const span = traceparent === undefined ? {} : { parent: traceparent };
    await this.#tracer.span('crd.apply', span, () => applyDefinitions(client, snapshot, { ...waiting, beside }));
    return this.#tracer.span('controller.deploy', span, () => this.#upgrade(connection, snapshot, options, there));
  }

  async #rollback(
    connection: ClusterConnection,
    snapshot: Snapshot,
    options: StepOptions,
    there: Release | undefined,
  ): Promise<number> {
    const target = await this.#revisionOf(connection, snapshot, options);
    if (target === undefined) return this.#upgrade(connection, snapshot, options, there);
    if (there !== undefined) await protectRelease(connection.client, nameOf(snapshot), there);
    const { releaseName: name, namespace } = snapshot;
    const words = ['rollback', name, String(target.revision), '--namespace', namespace, '--history-max', keptRevisions];
    const { manifests: objects } = snapshot;
    const more = [...timeoutArguments(objects, options), ...(await this.#ownFields())];
    await this.#run(connection, { name, namespace }, [...words, ...more], { objects, options });
    return this.#deployedRevision(connection, snapshot);
  }

  /**
   * The newest revision that can be rolled back to. One that contains definitions cannot: they would be restored too.
   */
  async #revisionOf(
    { client }: ClusterConnection,
    snapshot: Snapshot,
    options: StepOptions,
  ): Promise<Release | undefined> {
    for (const revision of await revisionsOf(client, nameOf(snapshot))) {
      if (revision.status !== 'superseded' && revision.status !== 'deployed') continue;
      const release = await readRelease(revision);
      const isTarget = await isOf(release, snapshot, options);
      if (isTarget && !(await objectsOf(release)).some(isDefinition)) return release;
    }
    return undefined;
  }

  async #upgrade(
    connection: ClusterConnection,
    snapshot: Snapshot,
    options: StepOptions,
    there: Release | undefined,
  ): Promise<number> {
    const manifests = await this.#chosen(connection, snapshot, options);
    if (there !== undefined) await protectRelease(connection.client, nameOf(snapshot), there);
    await this.#upgradeTo(connection, snapshot, manifests, options);
    return this.#deployedRevision(connection, snapshot);
  }

  /** The objects of the release: without those applied outside of it, and scaled to 0 if requested. */
  async #chosen(
    { client }: ClusterConnection,
    snapshot: Snapshot,
    { only, atZero = false }: StepOptions,
  ): Promise<readonly UnknownObject[]> {
    let { manifests } = snapshot;
    if (only === 'namespaced') {
      const side = await sideOf(client, snapshot);
      await shareNeeds(client, side);
      manifests = side.inside;
    }
    const workloads = new Set<UnknownObject>(atZero ? workloadsIn(manifests) : []);
    return manifests.map((object) => (workloads.has(object) ? scaledToZero(object as Workload) : object));
  }

  async #upgradeTo(
    connection: ClusterConnection,
    snapshot: Snapshot,
    objects: readonly UnknownObject[],
    options: StepOptions,
    variant = variantOf(options),
  ): Promise<void> {
    const { releaseName: name, namespace } = snapshot;
    await withWorkspace(async (directory) => {
      const content = { snapshot, manifests: objects, attempt: options.attempt, variant, runner: currentRunner() };
      const chart = await writeSnapshotChart(directory, content);
      const words = ['upgrade', name, chart, '--install', '--namespace', namespace, '--create-namespace'];
      const more = ['--history-max', keptRevisions, '--reset-values', '--labels', `${snapshotLabel}=${snapshot.name}`];
      const asked = [...(await this.#ownFields()), ...(await this.#schemaOptions())];
      const all = [...words, ...more, ...timeoutArguments(objects, options), ...asked];
      const run = () => this.#run(connection, { name, namespace }, all, { objects, options });
      await run().catch(async (error: unknown) => {
        if (!(await adopt(connection.client, error, snapshot, objects))) throw error;
        await run();
      });
    });
  }

  /** Objects that must be kept are first detached from the release: Helm does not delete objects annotated `keep`. */
  async #leave(
    connection: ClusterConnection,
    { name, namespace }: ReleaseName,
    objects: readonly UnknownObject[],
    options: StepOptions,
  ): Promise<void> {
    const stripped: Snapshot = {
      name: 'leaving',
      digest: '',
      operator: name,
      version: '0.0.0',
      chartDigest: '',
      valuesDigest: '',
      environment: connection.environment,
      kubernetesVersion: connection.kubernetesVersion,
      namespace,
      releaseName: name,
      definitions: [],
      manifests: objects,
    };
    const left = objects.filter((object) => !mustStay(object));
    await this.#upgradeTo(connection, stripped, left, options, 'leaving');
  }

  async #settled(
    { client, cluster }: ClusterConnection,
    snapshot: Pick<Snapshot, 'releaseName' | 'namespace'>,
    { timeoutMilliseconds, context }: StepOptions,
  ): Promise<Release | undefined> {
    const name = nameOf(snapshot);
    const release = await settledRelease(client, name, {
      clock: this.#clock,
      timeoutMilliseconds,
      signal: context.signal,
      isOurs: () => this.#active.has(activeKey(cluster, name)),
    });
    return release?.status === 'uninstalled' ? undefined : release;
  }

  /**
   * A release that is being uninstalled is treated as absent: the uninstall is completed, and it is installed again.
   */
  async #usable(connection: ClusterConnection, snapshot: Snapshot, options: StepOptions): Promise<Release | undefined> {
    const there = await this.#settled(connection, snapshot, options);
    if (there === undefined || !isUninstalling(there)) return there;
    const name = nameOf(snapshot);
    // A running uninstall would delete the new objects.
    const left = Math.min(there.removedAt - this.#clock.now(), 0) + hooklessMilliseconds;
    const waiting = deadlineIn(this.#clock, Math.max(0, left), options.context.signal);
    await waitUntil(waiting, async () => (await revisionsOf(connection.client, name)).length === 0);
    await this.remove(connection, name, options);
    return undefined;
  }

  async #rolledOut(connection: ClusterConnection, snapshot: Snapshot, options: StepOptions): Promise<void> {
    if (options.atZero === true) return;
    const waiting = deadlineIn(this.#clock, options.timeoutMilliseconds, options.context.signal);
    const { manifests, namespace } = snapshot;
    if (options.only === 'namespaced') await restoreReplicas(connection.client, workloadsIn(manifests), namespace);
    await untilRolledOut(connection.client, workloadsIn(manifests), namespace, waiting);
  }

  async #deployedRevision({ client, cluster }: ClusterConnection, snapshot: Snapshot): Promise<number> {
    const [newest] = await revisionsOf(client, nameOf(snapshot));
    if (newest?.status === 'deployed') return newest.revision;
    throw new FleetError(
      'helm/failed',
      `${cluster}: Helm exited successfully, but the release is ${newest?.status ?? 'missing'}`,
    );
  }

  async #run(
    connection: ClusterConnection,
    name: ReleaseName,
    words: readonly string[],
    { objects, options }: { readonly objects: readonly UnknownObject[]; readonly options: StepOptions },
  ): Promise<void> {
    const helm = await this.#theHelm();
    const key = activeKey(connection.cluster, name);
    this.#active.add(key);
    try {
      const outcome = await withWorkspace((directory) =>
        connection.withKubeconfig((kubeconfig) =>
          runHelm(helm, words, {
            directory,
            kubeconfig,
            timeoutMilliseconds: helmMilliseconds(objects, options) + 15_000,
            signal: options.context.signal,
            isRollback: options.isRollback,
          }),
        ),
      );
      for (const line of `${outcome.stdout}\n${outcome.stderr}`.split('\n')) {
        if (line.trim() !== '') options.onOutput?.(helmLine(line, objects));
      }
      if (outcome.code !== 0) throw helmFailure(outcome, connection.cluster, objects);
    } finally {
      this.#active.delete(key);
    }
  }

  /** Helm 4 uses server-side apply with force, so fields scaled or patched by others belong to the release again. */
  async #ownFields(): Promise<readonly string[]> {
    return (await this.#theHelm()).major >= 4 ? ['--server-side=true', '--force-conflicts'] : [];
  }

  /**
   * The API server validates what Helm 4 applies, including unknown fields. Helm would read all schemas first only to
   * check that it can: about half of the work of an install.
   */
  async #schemaOptions(): Promise<readonly string[]> {
    return (await this.#theHelm()).major >= 4 ? ['--disable-openapi-validation'] : [];
  }

  #theHelm(): Promise<HelmBinary> {
    this.#helm ??= findHelm(this.#location).catch((error: unknown) => {
      this.#helm = undefined;
      throw error;
    });
    return this.#helm;
  }
}

const nameOf = ({ releaseName, namespace }: Pick<Snapshot, 'releaseName' | 'namespace'>): ReleaseName => ({
  name: releaseName,
  namespace,
});

const busy = ({ cluster }: ClusterConnection, { name, namespace }: ReleaseName): FleetError =>
  new FleetError('helm/failed', `${cluster}: release ${name} in namespace ${namespace} is being changed`, {
    temporary: true,
  });

const activeKey = (cluster: string, { name, namespace }: ReleaseName): string => `${cluster}/${namespace}/${name}`;

/** Whether the release equals the snapshot; a release that was not created by kidp is compared by its objects. */
async function isOf(release: Release, snapshot: Snapshot, options: ApplyOptions): Promise<boolean> {
  const { [digestAnnotation]: digest, [variantAnnotation]: variant = '' } = release.chart.annotations;
  if (digest !== undefined) return digest === snapshot.digest && variant === variantOf(options);
  const objects = (await objectsOf(release)).filter((object) => !isDefinition(object));
  return variantOf(options) === '' && isDeepStrictEqual(objects, snapshot.manifests);
}

const helmMilliseconds = (objects: readonly UnknownObject[], { timeoutMilliseconds }: ApplyOptions): number =>
  objects.some(isHook) ? timeoutMilliseconds : Math.min(timeoutMilliseconds, hooklessMilliseconds);

const timeoutArguments = (objects: readonly UnknownObject[], options: ApplyOptions): readonly string[] => [
  '--timeout',
  `${Math.max(1, Math.ceil(helmMilliseconds(objects, options) / 1000))}s`,
];
