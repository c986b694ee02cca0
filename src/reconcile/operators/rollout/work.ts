/**
 * One step on one cluster: what goes in is what the status says, what comes out is what becomes of the status. Each may be asked for again
 * after a crash at any point, because those who do the work know by the attempt what they have done.
 */
import {
  API_VERSION,
  installationName,
  millisecondsOf,
  type Operator,
  type OperatorInstallation,
  operatorInstallation,
  operator as operatorKind,
  sameVersion,
} from '../../../api/index.ts';
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
} from '../../../fleet/index.ts';
import { type Client, isNotFound, type Tracer } from '../../../runtime/index.ts';
import { levelsFor, type RolloutSettings } from '../settings.ts';
import { forgetInstallation, writeInstallation } from './installations.ts';
import type { Before, Checked, Deployed } from './outcomes.ts';
import { pacingOf } from './plan.ts';
import { type ClusterStatus, instantOf, type Plan, type Rollout } from './rollout.ts';
import { unforeseen, type Verdicts } from './verdicts.ts';

export interface WorkParts {
  readonly client: Client;
  readonly fleet: Pick<Fleet, 'connect'>;
  readonly snapshots: SnapshotStore;
  readonly installer: Installer;
  readonly switcher: Switcher;
  readonly health: HealthChecker;
  readonly verdicts: Verdicts;
  readonly tracer: Tracer;
  readonly settings: RolloutSettings;
  readonly now: () => number;
}

/** One cluster of a rollout, as a step finds it. */
export interface Place {
  readonly rollout: Rollout;
  readonly plan: Plan;
  readonly cluster: ClusterStatus;
  readonly context: WorkContext;
  /** A line of Helm's. */
  readonly onOutput: (line: string) => void;
}

/** Some have megabytes. */
const mostSnapshots = 16;

export class Work {
  readonly #parts: WorkParts;
  readonly #known = new Map<string, Snapshot>();

  constructor(parts: WorkParts) {
    this.#parts = parts;
  }

  /** What is there before anything is changed. */
  async lookBefore(place: Place): Promise<Before> {
    const { rollout, cluster } = place;
    const snapshot = await this.#snapshot(cluster.snapshot);
    const installation = await this.#installation(place);
    this.#demandAgreed(place, installation);
    // A rollout goes to where it is, a blue-green one to the other side of it: nothing else was planned.
    const isBlueGreen = rollout.spec.strategy === 'BlueGreen';
    if (installation !== undefined && (installation.spec.namespace === snapshot.namespace) === isBlueGreen) {
      const message = 'what is there has moved to another namespace since this was planned: create the rollout anew';
      throw new FleetError('chart/invalid', message);
    }
    const release = installation?.spec ?? ownPlace(place, snapshot);
    const location = { name: release.releaseName, namespace: release.namespace };
    // What is there may be in another namespace than what comes: there, only the records of Helm are looked at.
    const elsewhere = { ...snapshot, namespace: location.namespace, manifests: [], definitions: [] };
    const places = location.namespace === snapshot.namespace ? [snapshot] : [snapshot, elsewhere];
    const connection = await this.#connect(place, places);
    const current = await this.#parts.installer.current(connection, location, place.context);
    if (current === undefined) return {};
    // A release of ours is named after its Operator; one that was left half removed has an empty digest.
    if ((current.snapshotDigest ?? '') !== '' && current.chart !== snapshot.operator) {
      const where = `release ${location.name} in namespace ${location.namespace}`;
      throw new FleetError('chart/invalid', `${where} is of the Operator ${current.chart}: choose another releaseName`);
    }
    const { deployment, color } = installation?.spec ?? {};
    const known = {
      ...(color === undefined ? {} : { colorBefore: color }),
      ...(deployment === undefined ? {} : { deploymentBefore: deployment }),
    };
    const kept = installation === undefined ? undefined : await this.#kept(installation.spec.snapshot);
    if (installation !== undefined && kept !== undefined && kept.digest === current.snapshotDigest) {
      return { ...known, fromVersion: installation.spec.version, snapshotBefore: kept.name };
    }
    // Somebody else has put it there, or has changed it since: what is there is what goes back.
    const found = await this.#parts.snapshots.put({
      operator: snapshot.operator,
      version: current.version,
      chartDigest: '',
      valuesDigest: '',
      environment: snapshot.environment,
      kubernetesVersion: snapshot.kubernetesVersion,
      namespace: location.namespace,
      releaseName: location.name,
      definitions: current.definitions ?? [],
      manifests: current.manifests,
    });
    return { ...known, fromVersion: current.version, snapshotBefore: found.name };
  }

  async install(place: Place): Promise<Deployed> {
    const { rollout, plan, cluster, context } = place;
    const [snapshot, before] = await this.#both(place);
    const connection = await this.#connect(place, before === undefined ? [snapshot] : [snapshot, before]);
    await this.#validate(connection, snapshot, place);
    const blueGreen = pacingOf(plan).blueGreen;
    const isColored = cluster.color !== undefined;
    const options = {
      ...this.#options(place),
      ...(isColored ? { only: 'namespaced' as const } : {}),
      ...(blueGreen !== undefined && !blueGreen.coexist ? { atZero: true } : {}),
    };
    const { revision } = await this.#parts.installer.apply(connection, snapshot, options);
    // In a blue-green deployment it is not in use before the switch.
    if (blueGreen === undefined) {
      if (isColored) await this.#parts.switcher.switchOver(connection, { to: snapshot, coexist: true }, context);
      await writeInstallation(this.#parts.client, installed(rollout, cluster, snapshot, { revision, before }));
    }
    return { revision, namespace: snapshot.namespace };
  }

  async switchOver(place: Place): Promise<void> {
    const { rollout, plan, cluster, context } = place;
    const [to, from] = await this.#both(place);
    const { blueGreen } = pacingOf(plan);
    const connection = await this.#connect(place, from === undefined ? [to] : [to, from]);
    const timeoutMilliseconds = millisecondsOf(rollout.spec.helmTimeout ?? 'PT5M');
    const coexist = blueGreen?.coexist === true;
    const sides = { to, coexist, timeoutMilliseconds, ...(from === undefined ? {} : { from }) };
    await this.#parts.switcher.switchOver(connection, sides, context);
    const keptUntil = instantOf(this.#parts.now() + (blueGreen?.retentionMilliseconds ?? 0));
    const revision = cluster.revision ?? 0;
    await writeInstallation(this.#parts.client, installed(rollout, cluster, to, { revision, before: from, keptUntil }));
  }

  async check(place: Place): Promise<Checked> {
    const { plan, cluster, rollout, context } = place;
    const begunAt = this.#parts.now();
    const isBack = cluster.state === 'RollingBack';
    const snapshot = await this.#snapshot(isBack ? cluster.snapshotBefore : cluster.snapshot);
    const connection = await this.#parts.fleet.connect(cluster.name, { kind: 'observe' }, context);
    const operator = asPlanned(rollout, plan);
    const podsOnly = !isBack && pacingOf(plan).blueGreen !== undefined && cluster.switched !== true;
    const target = { operator, snapshot, revision: cluster.revision ?? 0, ...(podsOnly ? { podsOnly } : {}) };
    const { state, message } = await this.#parts.health.check(connection, target, context);
    return { state, message, begunAt };
  }

  /** Back to what was there, or to nothing. Returns the revision that is there then. */
  async restore(place: Place): Promise<number | undefined> {
    const { rollout, plan, cluster } = place;
    const { installer, switcher, client } = this.#parts;
    const [snapshot, before] = await this.#both(place);
    const connection = await this.#connect(place, before === undefined ? [snapshot] : [snapshot, before]);
    const { blueGreen } = pacingOf(plan);
    const release = { name: snapshot.releaseName, namespace: snapshot.namespace };
    const { operator } = rollout.spec;
    return this.#span('operator.rollback', place, async (traceparent) => {
      const context = { ...place.context, traceparent };
      const options = { ...this.#options(place), context };
      if (blueGreen !== undefined) {
        // What was never begun is not undone: the other side works as it did.
        if (before !== undefined && cluster.switched !== undefined) {
          const location = { name: before.releaseName, namespace: before.namespace };
          const there = await installer.current(connection, location, context);
          // It was kept for a time only; what we have begun to bring back and were cut off from is not there either.
          if (there === undefined || (there.attempt === options.attempt && there.status !== 'deployed')) {
            const atZero = blueGreen.coexist ? {} : { atZero: true };
            await installer.restore(connection, before, { ...options, only: 'namespaced', ...atZero });
          }
          await switcher.switchOver(connection, { from: snapshot, to: before, coexist: blueGreen.coexist }, context);
        }
        await switcher.retire(connection, snapshot, context);
      } else if (before === undefined) await installer.remove(connection, release, options);
      if (before === undefined) {
        await forgetInstallation(client, operator, cluster.name);
        return undefined;
      }
      if (blueGreen !== undefined) {
        const location = { name: before.releaseName, namespace: before.namespace };
        const { revision = 0 } = (await installer.current(connection, location, context)) ?? {};
        // What was never switched is written down as it was.
        if (cluster.switched === undefined) return revision;
        await writeInstallation(client, returned(rollout, cluster, before, revision));
        return revision;
      }
      const isColored = cluster.colorBefore !== undefined;
      const only = isColored ? { only: 'namespaced' as const } : {};
      const { revision } = await installer.restore(connection, before, { ...options, ...only });
      if (isColored) await switcher.switchOver(connection, { to: before, coexist: true }, context);
      await writeInstallation(client, returned(rollout, cluster, before, revision));
      return revision;
    });
  }

  /** Another rollout may have ended since this was planned: what was agreed to as a new installation, or from one version, is now another step. */
  #demandAgreed({ rollout, cluster }: Place, installation: OperatorInstallation | undefined): void {
    const { version } = installation?.spec ?? {};
    if (version === undefined || sameVersion(version, rollout.spec.version)) return;
    const { fromVersion, environment } = cluster;
    if (fromVersion !== undefined && sameVersion(version, fromVersion)) return;
    if (levelsFor(this.#parts.settings, 'VersionUpgrade', environment).length === 0) return;
    const planned = fromVersion === undefined ? 'nothing was there' : `${fromVersion} was there`;
    const message = `${version} is there now, and ${planned} when this was planned: nobody has agreed to this upgrade. Create the rollout anew`;
    throw new FleetError('chart/invalid', message);
  }

  /** What is on the cluster may have changed since it was planned, or nobody could be asked then. */
  async #validate(connection: ClusterConnection, snapshot: Snapshot, place: Place): Promise<void> {
    const { plan, cluster, context } = place;
    const found = await this.#span('operator.validate', place, () =>
      this.#parts.verdicts.on(connection, snapshot.definitions, context.signal),
    );
    const [surprise] = unforeseen(plan, cluster.environment, found);
    if (surprise === undefined) return;
    const message = `the definition ${surprise.name} would break what is on the cluster, in a way that was not known when this was planned: ${surprise.summary ?? ''}`;
    throw new FleetError('chart/invalid', message);
  }

  async #both({ cluster }: Place): Promise<readonly [Snapshot, Snapshot | undefined]> {
    const { snapshot, snapshotBefore } = cluster;
    const before = snapshotBefore === undefined ? undefined : await this.#snapshot(snapshotBefore);
    return [await this.#snapshot(snapshot), before];
  }

  #connect(place: Place, snapshots: readonly Snapshot[]): Promise<ClusterConnection> {
    const { name } = place.cluster;
    return this.#span('cluster.connect', place, (traceparent) =>
      this.#parts.fleet.connect(name, { kind: 'install', snapshots }, { ...place.context, traceparent }),
    );
  }

  #span<T>(name: string, { rollout, cluster, context }: Place, run: (traceparent: string) => Promise<T>): Promise<T> {
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

  #options({ rollout, cluster, context, onOutput }: Place): ApplyOptions {
    return {
      attempt: cluster.attempt ?? '',
      timeoutMilliseconds: millisecondsOf(rollout.spec.helmTimeout ?? 'PT5M'),
      onOutput,
      context,
    };
  }

  /** Its name stands for its content, so that the one that is looked at again and again is read once. */
  async #snapshot(name: string | undefined): Promise<Snapshot> {
    if (name === undefined) throw new FleetError('snapshot/missing', 'no snapshot was written down');
    const snapshot = this.#known.get(name) ?? (await this.#parts.snapshots.get(name));
    this.#known.delete(name);
    this.#known.set(name, snapshot);
    const [oldest] = this.#known.keys();
    if (this.#known.size > mostSnapshots && oldest !== undefined) this.#known.delete(oldest);
    return snapshot;
  }

  /** Undefined where it is not there any more. */
  async #kept(name: string): Promise<Snapshot | undefined> {
    return this.#parts.snapshots.get(name).catch((error: unknown) => {
      if (error instanceof FleetError && error.code === 'snapshot/missing') return undefined;
      throw error;
    });
  }

  async #installation({ rollout, cluster }: Place): Promise<OperatorInstallation | undefined> {
    const name = installationName(rollout.spec.operator, cluster.name);
    return orUndefined(this.#parts.client.get<OperatorInstallation>(operatorInstallation.resource, { name }));
  }
}

/** What makes it well is what the plan says, to the end and back: the Operator may have changed since, or be gone. */
const asPlanned = ({ spec: { operator: name } }: Rollout, { health = {} }: Plan): Operator =>
  ({ apiVersion: API_VERSION, kind: operatorKind.kind, metadata: { name }, spec: { health } }) as Operator;

/** Where it would be if somebody had installed it by hand, as the Operator said. */
function ownPlace({ rollout, plan }: Place, snapshot: Snapshot): { releaseName: string; namespace: string } {
  const { namespace = snapshot.namespace } = rollout.spec.strategy === 'BlueGreen' ? plan : snapshot;
  return { releaseName: snapshot.releaseName, namespace };
}

async function orUndefined<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

type InstallationSpec = Parameters<typeof writeInstallation>[1];

function installed(
  { spec, metadata }: Rollout,
  cluster: ClusterStatus,
  snapshot: Snapshot,
  more: { readonly revision: number; readonly before: Snapshot | undefined; readonly keptUntil?: string },
): InstallationSpec {
  const { revision, before, keptUntil } = more;
  const { color } = cluster;
  return {
    operator: spec.operator,
    cluster: cluster.name,
    version: spec.version,
    ...placeOf(snapshot),
    revision,
    ...(color === undefined ? {} : { color }),
    deployment: metadata.name,
    ...(before === undefined
      ? {}
      : {
          previous: {
            version: before.version,
            snapshot: before.name,
            namespace: before.namespace,
            ...(keptUntil === undefined ? {} : { keptUntil }),
          },
        }),
  };
}

function returned(
  { spec, metadata }: Rollout,
  cluster: ClusterStatus,
  before: Snapshot,
  revision: number,
): InstallationSpec {
  const { colorBefore, deploymentBefore, fromVersion, name } = cluster;
  return {
    operator: spec.operator,
    cluster: name,
    version: fromVersion ?? before.version,
    ...placeOf(before),
    revision,
    ...(colorBefore === undefined ? {} : { color: colorBefore }),
    ...(deploymentBefore === undefined ? {} : { deployment: deploymentBefore }),
    restoredBy: metadata.name,
  };
}

const placeOf = ({ name, namespace, releaseName }: Snapshot) => ({ snapshot: name, namespace, releaseName });
