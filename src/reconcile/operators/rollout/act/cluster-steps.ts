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
import type { Before, Checked, Deployed } from '../decide/outcomes.ts';
import { pacingOf } from '../decide/plan.ts';
import { type ClusterStatus, instantOf, type Plan, type Rollout } from '../rollout.ts';
import {
  forgetInstallation,
  installed,
  keptSides,
  previousOf,
  returned,
  writeInstallation,
} from '../store/installations.ts';
import { orMissing } from '../store/snapshots.ts';
import { unforeseen, type Verdicts } from './crd-verdicts.ts';
import { lookBefore } from './find-previous.ts';

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
  lookBefore(place: Place): Promise<Before> {
    return lookBefore(place, {
      ...this.#parts,
      snapshot: (name) => this.#snapshot(name),
      installation: () => this.#installation(place),
      connect: (snapshots) => this.#connect(place, snapshots),
    });
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
      await writeInstallation(this.#parts.client, installed(rollout, cluster, snapshot, { revision, before }));
    }
    return { revision, namespace: snapshot.namespace };
  }

  async switchOver(place: Place): Promise<void> {
    const { rollout, plan, cluster, context } = place;
    const [to, from] = await this.#both(place);
    const { blueGreen } = pacingOf(plan);
    const connection = await this.#connect(place, from === undefined ? [to] : [to, from]);
    const { timeoutMilliseconds } = this.#options(place);
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
      const { timeoutMilliseconds } = options;
      let kept: string | undefined;
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
          const { coexist } = blueGreen;
          const sides = { from: snapshot, to: before, coexist, timeoutMilliseconds };
          await switcher.switchOver(connection, sides, context);
        }
        kept = await switcher.retire(connection, snapshot, before, context);
        if (kept !== undefined) place.onOutput(kept);
      } else if (before === undefined) await installer.remove(connection, release, options);
      if (before === undefined) {
        await this.#retireKept(place, context);
        await forgetInstallation(client, operator, cluster.name);
        return undefined;
      }
      if (blueGreen !== undefined) {
        const location = { name: before.releaseName, namespace: before.namespace };
        const { revision = 0 } = (await installer.current(connection, location, context)) ?? {};
        // What was never switched is written down as it was.
        if (cluster.switched === undefined) return revision;
        const back = returned(rollout, cluster, before, revision);
        // It goes when somebody else converts.
        const previous = kept === undefined ? {} : { previous: previousOf(snapshot, instantOf(this.#parts.now())) };
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
      await writeInstallation(client, returned(rollout, cluster, before, revision));
      return revision;
    });
  }

  /** Nobody would know of older sides once the installation is forgotten. */
  async #retireKept(place: Place, context: WorkContext): Promise<void> {
    const installation = await this.#installation(place);
    for (const { snapshot } of installation === undefined ? [] : keptSides(installation.spec)) {
      const side = await orMissing(this.#parts.snapshots.get(snapshot));
      if (side === undefined) continue;
      const why = await this.#parts.switcher.retire(await this.#connect(place, [side]), side, undefined, context);
      if (why !== undefined) place.onOutput(why);
    }
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

  async #installation({ rollout, cluster }: Place): Promise<OperatorInstallation | undefined> {
    const name = installationName(rollout.spec.operator, cluster.name);
    return orUndefined(this.#parts.client.get<OperatorInstallation>(operatorInstallation.resource, { name }));
  }
}

/** What makes it well is what the plan says, to the end and back: the Operator may have changed since, or be gone. */
const asPlanned = ({ spec: { operator: name } }: Rollout, { health = {} }: Plan): Operator =>
  ({ apiVersion: API_VERSION, kind: operatorKind.kind, metadata: { name }, spec: { health } }) as Operator;

async function orUndefined<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
