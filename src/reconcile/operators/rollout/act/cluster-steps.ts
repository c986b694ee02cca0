/**
 * `ClusterSteps` runs one step of a rollout on one cluster: find the previous release, install, switch, check or
 * restore. Each step can be repeated after a crash at any point: the installer recognizes its own work by the attempt.
 */
import {
  API_VERSION,
  installationName,
  millisecondsOf,
  type Operator,
  type OperatorInstallation,
  operatorInstallation,
  operator as operatorKind,
} from '../../../../api/index.ts';
import {
  type ApplyOptions,
  type ClusterConnection,
  type Fleet,
  FleetError,
  type HealthChecker,
  type Installer,
  type Snapshot,
  type SnapshotStore,
  type Switcher,
  type WorkContext,
} from '../../../../fleet/index.ts';
import { type Client, isNotFound, type Tracer } from '../../../../runtime/index.ts';
import type { RolloutSettings } from '../../settings.ts';
import type { Deployed, HealthOutcome, PreviousRelease } from '../decide/outcomes.ts';
import { pacingOf } from '../decide/plan.ts';
import { type ClusterStatus, type Plan, type Rollout, toTimestamp } from '../rollout.ts';
import {
  deleteInstallation,
  installationAfterInstall,
  installationAfterRollback,
  keptSides,
  previousOf,
  writeInstallation,
} from '../store/installations.ts';
import { undefinedIfMissing } from '../store/snapshots.ts';
import { type CrdVerdicts, unplannedBreaks } from './crd-verdicts.ts';
import { findPrevious } from './find-previous.ts';

export interface ClusterStepsOptions {
  readonly client: Client;
  readonly fleet: Pick<Fleet, 'connect'>;
  readonly snapshots: SnapshotStore;
  readonly installer: Installer;
  readonly switcher: Switcher;
  readonly health: HealthChecker;
  readonly verdicts: CrdVerdicts;
  readonly tracer: Tracer;
  readonly settings: RolloutSettings;
  readonly now: () => number;
}

/** One cluster of a rollout, and the context of a step on it. */
export interface ClusterTarget {
  readonly rollout: Rollout;
  readonly plan: Plan;
  readonly cluster: ClusterStatus;
  readonly context: WorkContext;
  /** Called for each line of Helm's output. */
  readonly onOutput: (line: string) => void;
}

/** The number of cached snapshots. Some have several megabytes. */
const maxSnapshots = 16;

export class ClusterSteps {
  readonly #parts: ClusterStepsOptions;
  readonly #known = new Map<string, Snapshot>();

  constructor(parts: ClusterStepsOptions) {
    this.#parts = parts;
  }

  /** Finds the current release before anything is changed. */
  findPrevious(target: ClusterTarget): Promise<PreviousRelease> {
    return findPrevious(target, {
      ...this.#parts,
      snapshot: (name) => this.#snapshot(name),
      installation: () => this.#installation(target),
      connect: (snapshots) => this.#connect(target, snapshots),
    });
  }

  async install(target: ClusterTarget): Promise<Deployed> {
    const { rollout, plan, cluster, context } = target;
    const [snapshot, before] = await this.#snapshots(target);
    const connection = await this.#connect(target, before === undefined ? [snapshot] : [snapshot, before]);
    await this.#validate(connection, snapshot, target);
    const blueGreen = pacingOf(plan).blueGreen;
    const isColored = cluster.color !== undefined;
    const options = {
      ...this.#options(target),
      ...(isColored ? { only: 'namespaced' as const } : {}),
      ...(blueGreen !== undefined && !blueGreen.coexist ? { atZero: true } : {}),
    };
    const { revision } = await this.#parts.installer.apply(connection, snapshot, options);
    // In a blue-green deployment the new version is not in use before the switch.
    if (blueGreen === undefined) {
      if (isColored) {
        const { timeoutMilliseconds } = options;
        const sides = {
          to: snapshot,
          coexist: true,
          timeoutMilliseconds,
          ...(before === undefined ? {} : { from: before }),
        };
        await this.#parts.switcher.switchOver(connection, sides, context);
      }
      await writeInstallation(
        this.#parts.client,
        installationAfterInstall(rollout, cluster, snapshot, { revision, before }),
      );
    }
    return { revision, namespace: snapshot.namespace };
  }

  async switchOver(target: ClusterTarget): Promise<void> {
    const { rollout, plan, cluster, context } = target;
    const [to, from] = await this.#snapshots(target);
    const { blueGreen } = pacingOf(plan);
    const connection = await this.#connect(target, from === undefined ? [to] : [to, from]);
    const { timeoutMilliseconds } = this.#options(target);
    const coexist = blueGreen?.coexist === true;
    const sides = { to, coexist, timeoutMilliseconds, ...(from === undefined ? {} : { from }) };
    await this.#parts.switcher.switchOver(connection, sides, context);
    const keptUntil = toTimestamp(this.#parts.now() + (blueGreen?.retentionMilliseconds ?? 0));
    const revision = cluster.revision ?? 0;
    await writeInstallation(
      this.#parts.client,
      installationAfterInstall(rollout, cluster, to, { revision, before: from, keptUntil }),
    );
  }

  async check(target: ClusterTarget): Promise<HealthOutcome> {
    const { plan, cluster, rollout, context } = target;
    const checkStartedAt = this.#parts.now();
    const isRollback = cluster.state === 'RollingBack';
    const snapshot = await this.#snapshot(isRollback ? cluster.snapshotBefore : cluster.snapshot);
    const connection = await this.#parts.fleet.connect(cluster.name, { kind: 'observe' }, context);
    const operator = operatorFromPlan(rollout, plan);
    const podsOnly = !isRollback && pacingOf(plan).blueGreen !== undefined && cluster.switched !== true;
    const subject = { operator, snapshot, revision: cluster.revision ?? 0, ...(podsOnly ? { podsOnly } : {}) };
    const { state, message } = await this.#parts.health.check(connection, subject, context);
    return { state, message, checkStartedAt };
  }

  /**
   * Restores the previous release, or removes the release if there was none. Returns the revision that is deployed
   * then.
   */
  async restore(target: ClusterTarget): Promise<number | undefined> {
    const { rollout, plan, cluster } = target;
    const { installer, switcher, client } = this.#parts;
    const [snapshot, before] = await this.#snapshots(target);
    const connection = await this.#connect(target, before === undefined ? [snapshot] : [snapshot, before]);
    const { blueGreen } = pacingOf(plan);
    const release = { name: snapshot.releaseName, namespace: snapshot.namespace };
    const { operator } = rollout.spec;
    return this.#span('operator.rollback', target, async (traceparent) => {
      const context = { ...target.context, traceparent };
      const options = { ...this.#options(target), context };
      const { timeoutMilliseconds } = options;
      let kept: string | undefined;
      if (blueGreen !== undefined) {
        // If the switch never started, the other side is still in use.
        if (before !== undefined && cluster.switched !== undefined) {
          const location = { name: before.releaseName, namespace: before.namespace };
          const there = await installer.current(connection, location, context);
          // The side may have been removed after its retention period, or an earlier try to restore it was interrupted.
          if (there === undefined || (there.attempt === options.attempt && there.status !== 'deployed')) {
            const atZero = blueGreen.coexist ? {} : { atZero: true };
            await installer.restore(connection, before, { ...options, only: 'namespaced', ...atZero });
          }
          const { coexist } = blueGreen;
          const sides = { from: snapshot, to: before, coexist, timeoutMilliseconds };
          await switcher.switchOver(connection, sides, context);
        }
        kept = await switcher.retire(connection, snapshot, before, context);
        if (kept !== undefined) target.onOutput(kept);
      } else if (before === undefined) await installer.remove(connection, release, options);
      if (before === undefined) {
        await this.#retireKept(target, context);
        await deleteInstallation(client, operator, cluster.name);
        return undefined;
      }
      if (blueGreen !== undefined) {
        const location = { name: before.releaseName, namespace: before.namespace };
        const { revision = 0 } = (await installer.current(connection, location, context)) ?? {};
        // Without a switch the OperatorInstallation still names this release.
        if (cluster.switched === undefined) return revision;
        const back = installationAfterRollback(rollout, cluster, before, revision);
        // The side is removed once another version serves the conversion webhook.
        const previous = kept === undefined ? {} : { previous: previousOf(snapshot, toTimestamp(this.#parts.now())) };
        await writeInstallation(client, { ...back, ...previous });
        return revision;
      }
      const isColored = cluster.colorBefore !== undefined;
      const only = isColored ? { only: 'namespaced' as const } : {};
      const { revision } = await installer.restore(connection, before, { ...options, ...only });
      if (isColored) {
        const sides = { from: snapshot, to: before, coexist: true, timeoutMilliseconds };
        await switcher.switchOver(connection, sides, context);
      }
      await writeInstallation(client, installationAfterRollback(rollout, cluster, before, revision));
      return revision;
    });
  }

  /** Removes the older sides: without the OperatorInstallation they would be lost. */
  async #retireKept(target: ClusterTarget, context: WorkContext): Promise<void> {
    const installation = await this.#installation(target);
    for (const { snapshot } of installation === undefined ? [] : keptSides(installation.spec)) {
      const side = await undefinedIfMissing(this.#parts.snapshots.get(snapshot));
      if (side === undefined) continue;
      const why = await this.#parts.switcher.retire(await this.#connect(target, [side]), side, undefined, context);
      if (why !== undefined) target.onOutput(why);
    }
  }

  /** Compares the CRDs again: the cluster may have changed since planning, or was unreachable then. */
  async #validate(connection: ClusterConnection, snapshot: Snapshot, target: ClusterTarget): Promise<void> {
    const { plan, cluster, context } = target;
    const found = await this.#span('operator.validate', target, () =>
      this.#parts.verdicts.on(connection, snapshot.definitions, context.signal),
    );
    const [unplanned] = unplannedBreaks(plan, cluster.environment, found);
    if (unplanned === undefined) return;
    const message = `CRD ${unplanned.name} has breaking changes on this cluster that were not known at planning: ${unplanned.summary ?? ''}`;
    throw new FleetError('chart/invalid', message);
  }

  async #snapshots({ cluster }: ClusterTarget): Promise<readonly [Snapshot, Snapshot | undefined]> {
    const { snapshot, snapshotBefore } = cluster;
    const before = snapshotBefore === undefined ? undefined : await this.#snapshot(snapshotBefore);
    return [await this.#snapshot(snapshot), before];
  }

  #connect(target: ClusterTarget, snapshots: readonly Snapshot[]): Promise<ClusterConnection> {
    const { name } = target.cluster;
    return this.#span('cluster.connect', target, (traceparent) =>
      this.#parts.fleet.connect(name, { kind: 'install', snapshots }, { ...target.context, traceparent }),
    );
  }

  #span<T>(
    name: string,
    { rollout, cluster, context }: ClusterTarget,
    run: (traceparent: string) => Promise<T>,
  ): Promise<T> {
    const { spec, metadata } = rollout;
    const attributes = {
      'operator.name': spec.operator,
      'operator.version': spec.version,
      'cluster.name': cluster.name,
      'deployment.id': metadata.uid ?? '',
      'deployment.strategy': spec.strategy,
    };
    const parent = context.traceparent;
    const options = { attributes, ...(parent === undefined ? {} : { parent }) };
    return this.#parts.tracer.span(name, options, ({ traceparent }) => run(traceparent));
  }

  #options({ rollout, cluster, context, onOutput }: ClusterTarget): ApplyOptions {
    return {
      attempt: cluster.attempt ?? '',
      timeoutMilliseconds: millisecondsOf(rollout.spec.helmTimeout ?? 'PT5M'),
      onOutput,
      context,
    };
  }

  /** Reads a snapshot through a cache. Its name identifies its content, so a cached one is never stale. */
  async #snapshot(name: string | undefined): Promise<Snapshot> {
    if (name === undefined) throw new FleetError('snapshot/missing', 'the status names no snapshot');
    const snapshot = this.#known.get(name) ?? (await this.#parts.snapshots.get(name));
    this.#known.delete(name);
    this.#known.set(name, snapshot);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxSnapshots && oldest !== undefined) this.#known.delete(oldest);
    return snapshot;
  }

  async #installation({ rollout, cluster }: ClusterTarget): Promise<OperatorInstallation | undefined> {
    const name = installationName(rollout.spec.operator, cluster.name);
    return undefinedIfNotFound(this.#parts.client.get<OperatorInstallation>(operatorInstallation.resource, { name }));
  }
}

/** Health is judged by the settings in the plan: the Operator may have been changed or deleted since. */
const operatorFromPlan = ({ spec: { operator: name } }: Rollout, { health = {} }: Plan): Operator =>
  ({ apiVersion: API_VERSION, kind: operatorKind.kind, metadata: { name }, spec: { health } }) as Operator;

async function undefinedIfNotFound<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
