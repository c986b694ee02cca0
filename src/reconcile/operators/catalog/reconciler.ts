/** Reconciles Operators: lists the versions in their repositories regularly, and inspects a few versions at a time. */
import {
  type Operator,
  type OperatorDeployment,
  type OperatorInstallation,
  operatorDeployment,
  operatorInstallation,
  operator as operatorKind,
} from '../../../api/index.ts';
import { type Charts, type DefinitionStore, FleetError } from '../../../fleet/index.ts';
import {
  controllerManagedBy,
  type DesiredCondition,
  type EventRecorder,
  generationChanged,
  type Manager,
  type ReconcileContext,
  type UnknownObject,
} from '../../../runtime/index.ts';
import { recordReadyEvent } from '../../platform/ready-event.ts';
import { applyStatus } from '../../platform/status.ts';
import { BY_OPERATOR, byOperator } from '../by-operator.ts';
import { compatibilityOf, describeDefinitions } from './definitions.ts';
import { type KnownVersion, unchecked, versionsOf, versionsToInspect } from './versions.ts';

interface OperatorReconcilerOptions {
  readonly charts: Charts;
  readonly definitions: DefinitionStore;
  readonly recorder: Pick<EventRecorder, 'record'>;
  /** Called for each CRD that was compared with the previous version. */
  readonly onValidated?: () => void;
  /** The interval at which a repository is listed. */
  readonly recheckMilliseconds?: number;
  /** The number of newest versions to inspect if spec.versions is not set. */
  readonly newestVersions?: number;
}

const fieldManager = 'kidp-operators';
const tenMinutes = 600_000;
/** The retry delay after a failed request to the repository. */
const retryMilliseconds = 30_000;
/**
 * The number of versions to inspect in one reconcile, so that an Operator with many versions does not delay the others.
 */
const versionsPerReconcile = 3;
/** The maximum length in the schema. */
const maxReasonLength = 1024;

export function addOperatorReconciler(manager: Manager, options: OperatorReconcilerOptions): void {
  const { recheckMilliseconds = tenMinutes, newestVersions = 10 } = options;
  const pruner = new DefinitionPruner(options.definitions, manager, recheckMilliseconds);
  controllerManagedBy(manager, 'operators')
    .for<Operator>(operatorKind.resource, { predicates: [generationChanged] })
    .watches<OperatorDeployment>(operatorDeployment.resource, ({ spec }) => [{ name: spec.operator }], {
      predicates: [generationChanged],
      indexes: byOperator,
    })
    .watches<OperatorInstallation>(operatorInstallation.resource, ({ spec }) => [{ name: spec.operator }], {
      predicates: [generationChanged],
      indexes: byOperator,
    })
    .withOptions({ maxConcurrentReconciles: 4, timeoutMilliseconds: tenMinutes })
    .complete(async ({ name }, context) => {
      // The cache may lag behind the status of the last reconcile.
      const object = await context.read.get<Operator>(operatorKind.resource, { name }, { live: true });
      if (object === undefined || object.metadata.deletionTimestamp !== undefined) return;
      const now = manager.clock.now();
      const inspection = await inspect(object, context, options, {
        now,
        named: namedVersions(name, context),
        newest: newestVersions,
        recheckMilliseconds: recheckMilliseconds,
      });
      const { ready, conditions, fields } = statusOf(object, inspection, now);
      await applyStatus(context.client, operatorKind.resource, object, { conditions, fields }, { now, fieldManager });
      recordReadyEvent(options.recorder, object, ready);
      await pruner.prune(context);
      if ('failure' in inspection)
        return { requeueAfterMilliseconds: Math.min(retryMilliseconds, recheckMilliseconds) };
      return { requeueAfterMilliseconds: inspection.more ? 1 : recheckMilliseconds };
    });
}

type Inspection =
  | { readonly failure: FleetError }
  /** `more`: some versions are still to be inspected. */
  | { readonly versions: readonly KnownVersion[]; readonly more: boolean };

async function inspect(
  object: Operator,
  { signal }: ReconcileContext,
  { charts, definitions, onValidated }: OperatorReconcilerOptions,
  selection: Parameters<typeof versionsToInspect>[2],
): Promise<Inspection> {
  const work = { operator: object.metadata.name, signal };
  let listed: Awaited<ReturnType<Charts['versions']>>;
  try {
    listed = await charts.versions(object, work);
  } catch (error) {
    if (error instanceof FleetError) return { failure: error };
    throw error;
  }
  const versions = [...versionsOf(object, listed)];
  const due = versionsToInspect(object, versions, selection);
  const fetched = new Map<string, readonly UnknownObject[]>();
  const inspected = new Set<number>();
  for (const each of due.slice(0, versionsPerReconcile)) {
    const index = versions.indexOf(each);
    versions[index] = await inspectVersion(object, each, { charts, definitions, fetched, now: selection.now, signal });
    inspected.add(index);
  }
  await compare(versions, inspected, { definitions, fetched, onValidated });
  const more = versionsToInspect(object, versions, selection).length > 0;
  return { versions, more };
}

interface InspectOptions {
  readonly charts: Charts;
  readonly definitions: DefinitionStore;
  /** Keyed by reference, so that they need not be read back from the store. */
  readonly fetched: Map<string, readonly UnknownObject[]>;
  readonly now: number;
  readonly signal: AbortSignal;
}

async function inspectVersion(object: Operator, version: KnownVersion, options: InspectOptions): Promise<KnownVersion> {
  const { charts, definitions: store, fetched, now, signal } = options;
  const {
    compatibility: _,
    message: __,
    definitions: ___,
    definitionsRef: ____,
    doesNotRender: _____,
    ...before
  } = version;
  const checkedAt = new Date(now).toISOString();
  try {
    const work = { operator: object.metadata.name, signal };
    const chart = await charts.fetch(object, version.chartVersion, work);
    const { definitions, doesNotRender } = await charts.look(chart, work);
    const { described, problem } = describeDefinitions(definitions);
    const { digest, appVersion } = chart;
    const known = {
      ...before,
      ...(appVersion === undefined ? {} : { appVersion }),
      digest,
      ...(doesNotRender === undefined ? {} : { doesNotRender: doesNotRender.slice(0, maxReasonLength) }),
      checkedAt,
    };
    if (problem !== undefined) return { ...known, state: 'Invalid', message: problem };
    if (definitions.length === 0) return { ...known, state: 'Available', definitions: [] };
    const definitionsRef = await store.put(definitions);
    fetched.set(definitionsRef, definitions);
    return { ...known, state: 'Available', definitions: [...described], definitionsRef };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const state = error.temporary ? 'Listed' : 'Invalid';
    return { ...before, state, message: error.message, checkedAt };
  }
}

/** Compares each inspected version with its predecessor, and its successor with it. */
async function compare(
  versions: KnownVersion[],
  inspected: ReadonlySet<number>,
  {
    definitions,
    fetched,
    onValidated,
  }: Pick<InspectOptions, 'definitions' | 'fetched'> & { onValidated: (() => void) | undefined },
): Promise<void> {
  const contentOf = async ({ definitionsRef }: KnownVersion): Promise<readonly UnknownObject[] | undefined> => {
    if (definitionsRef === undefined) return [];
    const content = fetched.get(definitionsRef) ?? (await definitions.get(definitionsRef).catch(undefinedIfMissing));
    if (content !== undefined) fetched.set(definitionsRef, content);
    return content;
  };
  for (const [index, version] of versions.entries()) {
    const before = versions.findIndex((each, at) => at > index && each.state === 'Available');
    const earlier = versions[before];
    if (version.state !== 'Available' || earlier === undefined) continue;
    if (version.compatibility !== undefined && !inspected.has(index) && !inspected.has(before)) continue;
    const [old, now] = [await contentOf(earlier), await contentOf(version)];
    if (old === undefined) versions[before] = unchecked(earlier);
    if (now === undefined) versions[index] = unchecked(version);
    if (old === undefined || now === undefined) continue;
    versions[index] = { ...version, compatibility: await compatibilityOf(old, now, onValidated) };
  }
}

/** Definitions that are missing in the store are fetched again. */
function undefinedIfMissing(error: unknown): undefined {
  if (error instanceof FleetError) return undefined;
  throw error;
}

function namedVersions(operator: string, { read }: ReconcileContext): readonly string[] {
  const of = <T extends OperatorDeployment | OperatorInstallation>(resource: typeof operatorDeployment.resource) =>
    read.store<T>(resource).byIndex(BY_OPERATOR, operator);
  return [
    ...of<OperatorDeployment>(operatorDeployment.resource).map(({ spec }) => spec.version),
    ...of<OperatorInstallation>(operatorInstallation.resource).map(({ spec }) => spec.version),
  ];
}

const reasons: Readonly<Record<string, string>> = {
  'chart/unreachable': 'RepositoryUnreachable',
  'chart/missing': 'ChartNotFound',
  'chart/digest': 'DigestMismatch',
  'chart/invalid': 'ChartInvalid',
};

function statusOf({ metadata, status }: Operator, inspection: Inspection, now: number) {
  const observedGeneration = metadata.generation ?? 0;
  const condition = (type: string, value: boolean, reason: string, message: string): DesiredCondition => ({
    type,
    status: value ? 'True' : 'False',
    reason,
    message,
    observedGeneration,
  });
  if ('failure' in inspection) {
    const { code, message } = inspection.failure;
    const reason = reasons[code] ?? 'ChartUnusable';
    const ready = condition('Ready', false, reason, message);
    const { versions = [], repositoryCheckedAt } = status ?? {};
    // After a change of the spec the known versions may be of another repository.
    const isSameSpec = status?.observedGeneration === observedGeneration;
    const kept = isSameSpec ? versions : versions.map(unchecked);
    return {
      ready,
      conditions: [ready, condition('RepositoryReachable', false, reason, message)],
      fields: { phase: 'failed', observedGeneration, versions: kept, repositoryCheckedAt },
    };
  }
  const { versions } = inspection;
  const usable = versions.filter(({ state }) => state === 'Available' || state === 'Listed');
  const unusable = versions.filter(({ state }) => state === 'Missing' || state === 'Invalid');
  const summary = `${versions.length} version${versions.length === 1 ? '' : 's'}, the newest ${versions[0]?.version ?? 'none'}`;
  const first = unusable[0];
  const but =
    first === undefined ? '' : `; ${unusable.length} unusable, ${first.version}: ${first.message ?? first.state}`;
  const ready =
    usable.length > 0
      ? condition('Ready', true, 'ResourceReady', `${summary}${but}`)
      : condition('Ready', false, 'NoUsableVersion', `no version can be rolled out: ${summary}${but}`);
  return {
    ready,
    conditions: [ready, condition('RepositoryReachable', true, 'RepositoryReachable', summary)],
    fields: {
      phase: usable.length > 0 ? 'ready' : 'failed',
      observedGeneration,
      versions,
      repositoryCheckedAt: new Date(now).toISOString(),
    },
  };
}

/** Deletes the stored CRDs that no Operator status references any more, at an interval. */
class DefinitionPruner {
  readonly #definitions: DefinitionStore;
  readonly #clock: Manager['clock'];
  readonly #intervalMilliseconds: number;
  #last: number;

  constructor(definitions: DefinitionStore, { clock }: Pick<Manager, 'clock'>, intervalMilliseconds: number) {
    this.#definitions = definitions;
    this.#clock = clock;
    this.#intervalMilliseconds = intervalMilliseconds;
    this.#last = clock.monotonic();
  }

  async prune({ read }: ReconcileContext): Promise<void> {
    if (this.#clock.monotonic() - this.#last < this.#intervalMilliseconds) return;
    this.#last = this.#clock.monotonic();
    const all = read.store<Operator>(operatorKind.resource).list();
    const names = all.flatMap(({ status }) => (status?.versions ?? []).map(({ definitionsRef }) => definitionsRef));
    await this.#definitions.retain(new Set(names.filter((name) => name !== undefined)));
  }
}
