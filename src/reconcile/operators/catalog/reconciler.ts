/** Operators: what their repositories have, looked at now and then, a few versions at a time. */
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
import { type KnownVersion, toLookAt, unchecked, versionsOf } from './versions.ts';

interface OperatorReconcilerOptions {
  readonly charts: Charts;
  readonly definitions: DefinitionStore;
  readonly recorder: Pick<EventRecorder, 'record'>;
  /** Told of each definition that was compared with the one of the version before. */
  readonly onValidated?: () => void;
  /** How often a repository is asked what it has. */
  readonly recheckMilliseconds?: number;
  /** How many of the newest versions are looked at where spec.versions does not say which. */
  readonly newestVersions?: number;
}

const fieldManager = 'kidp-operators';
const tenMinutes = 600_000;
/** What was not reached is asked again sooner. */
const retryMilliseconds = 30_000;
/** Looked at in one go, so that an Operator with many versions does not keep the others waiting. */
const versionsInOneGo = 3;
/** What the schema has room for. */
const longestReason = 1024;

export function addOperatorReconciler(manager: Manager, options: OperatorReconcilerOptions): void {
  const { recheckMilliseconds = tenMinutes, newestVersions = 10 } = options;
  const wanted = new Sweep(options.definitions, manager, recheckMilliseconds);
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
      // What was found out a moment ago is in its status, and may not be in the cache yet.
      const object = await context.read.get<Operator>(operatorKind.resource, { name }, { live: true });
      if (object === undefined || object.metadata.deletionTimestamp !== undefined) return;
      const now = manager.clock.now();
      const look = await lookAt(object, context, options, {
        now,
        named: namedVersions(name, context),
        newest: newestVersions,
        againMilliseconds: recheckMilliseconds,
      });
      const { ready, conditions, fields } = described(object, look, now);
      await applyStatus(context.client, operatorKind.resource, object, { conditions, fields }, { now, fieldManager });
      recordReadyEvent(options.recorder, object, ready);
      await wanted.sweep(context);
      if ('failure' in look) return { requeueAfterMilliseconds: Math.min(retryMilliseconds, recheckMilliseconds) };
      return { requeueAfterMilliseconds: look.more ? 1 : recheckMilliseconds };
    });
}

type Look =
  | { readonly failure: FleetError }
  /** `more`: some versions wait for their turn. */
  | { readonly versions: readonly KnownVersion[]; readonly more: boolean };

async function lookAt(
  object: Operator,
  { signal }: ReconcileContext,
  { charts, definitions, onValidated }: OperatorReconcilerOptions,
  attention: Parameters<typeof toLookAt>[2],
): Promise<Look> {
  const work = { operator: object.metadata.name, signal };
  let listed: Awaited<ReturnType<Charts['versions']>>;
  try {
    listed = await charts.versions(object, work);
  } catch (error) {
    if (error instanceof FleetError) return { failure: error };
    throw error;
  }
  const versions = [...versionsOf(object, listed)];
  const due = toLookAt(object, versions, attention);
  const fetched = new Map<string, readonly UnknownObject[]>();
  const looked = new Set<number>();
  for (const each of due.slice(0, versionsInOneGo)) {
    const index = versions.indexOf(each);
    versions[index] = await found(object, each, { charts, definitions, fetched, now: attention.now, signal });
    looked.add(index);
  }
  await compare(versions, looked, { definitions, fetched, onValidated });
  const more = toLookAt(object, versions, attention).length > 0;
  return { versions, more };
}

interface Finding {
  readonly charts: Charts;
  readonly definitions: DefinitionStore;
  /** By where they are kept, so that they need not be read back. */
  readonly fetched: Map<string, readonly UnknownObject[]>;
  readonly now: number;
  readonly signal: AbortSignal;
}

async function found(object: Operator, version: KnownVersion, finding: Finding): Promise<KnownVersion> {
  const { charts, definitions: store, fetched, now, signal } = finding;
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
    const { told, problem } = describeDefinitions(definitions);
    const { digest, appVersion } = chart;
    const known = {
      ...before,
      ...(appVersion === undefined ? {} : { appVersion }),
      digest,
      ...(doesNotRender === undefined ? {} : { doesNotRender: doesNotRender.slice(0, longestReason) }),
      checkedAt,
    };
    if (problem !== undefined) return { ...known, state: 'Invalid', message: problem };
    if (definitions.length === 0) return { ...known, state: 'Available', definitions: [] };
    const definitionsRef = await store.put(definitions);
    fetched.set(definitionsRef, definitions);
    return { ...known, state: 'Available', definitions: [...told], definitionsRef };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const state = error.temporary ? 'Listed' : 'Invalid';
    return { ...before, state, message: error.message, checkedAt };
  }
}

/** What was looked at is compared with the version before it, and what comes after it is compared with it. */
async function compare(
  versions: KnownVersion[],
  looked: ReadonlySet<number>,
  {
    definitions,
    fetched,
    onValidated,
  }: Pick<Finding, 'definitions' | 'fetched'> & { onValidated: (() => void) | undefined },
): Promise<void> {
  const contentOf = async ({ definitionsRef }: KnownVersion): Promise<readonly UnknownObject[] | undefined> => {
    if (definitionsRef === undefined) return [];
    const content = fetched.get(definitionsRef) ?? (await definitions.get(definitionsRef).catch(isLost));
    if (content !== undefined) fetched.set(definitionsRef, content);
    return content;
  };
  for (const [index, version] of versions.entries()) {
    const before = versions.findIndex((each, at) => at > index && each.state === 'Available');
    const earlier = versions[before];
    if (version.state !== 'Available' || earlier === undefined) continue;
    if (version.compatibility !== undefined && !looked.has(index) && !looked.has(before)) continue;
    const [old, now] = [await contentOf(earlier), await contentOf(version)];
    if (old === undefined) versions[before] = unchecked(earlier);
    if (now === undefined) versions[index] = unchecked(version);
    if (old === undefined || now === undefined) continue;
    versions[index] = { ...version, compatibility: await compatibilityOf(old, now, onValidated) };
  }
}

/** What is no longer in the store is fetched anew. */
function isLost(error: unknown): undefined {
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
  'chart/missing': 'ChartMissing',
  'chart/digest': 'DigestDiffers',
  'chart/invalid': 'ChartInvalid',
};

function described({ metadata, status }: Operator, look: Look, now: number) {
  const observedGeneration = metadata.generation ?? 0;
  const condition = (type: string, value: boolean, reason: string, message: string): DesiredCondition => ({
    type,
    status: value ? 'True' : 'False',
    reason,
    message,
    observedGeneration,
  });
  if ('failure' in look) {
    const { code, message } = look.failure;
    const reason = reasons[code] ?? 'Unusable';
    const ready = condition('Ready', false, reason, message);
    const { versions = [], repositoryCheckedAt } = status ?? {};
    // What was found out before may be about another repository.
    const isSameSpec = status?.observedGeneration === observedGeneration;
    const kept = isSameSpec ? versions : versions.map(unchecked);
    return {
      ready,
      conditions: [ready, condition('RepositoryReachable', false, reason, message)],
      fields: { phase: 'failed', observedGeneration, versions: kept, repositoryCheckedAt },
    };
  }
  const { versions } = look;
  const usable = versions.filter(({ state }) => state === 'Available' || state === 'Listed');
  const unusable = versions.filter(({ state }) => state === 'Missing' || state === 'Invalid');
  const words = `${versions.length} version${versions.length === 1 ? '' : 's'}, the newest ${versions[0]?.version ?? 'none'}`;
  const first = unusable[0];
  const but =
    first === undefined ? '' : `; ${unusable.length} cannot be used, ${first.version}: ${first.message ?? first.state}`;
  const ready =
    usable.length > 0
      ? condition('Ready', true, 'ResourceReady', `${words}${but}`)
      : condition('Ready', false, 'NoUsableVersion', `No version can be rolled out: ${words}${but}`);
  return {
    ready,
    conditions: [ready, condition('RepositoryReachable', true, 'Reached', words)],
    fields: {
      phase: usable.length > 0 ? 'ready' : 'failed',
      observedGeneration,
      versions,
      repositoryCheckedAt: new Date(now).toISOString(),
    },
  };
}

/** What no Operator tells of any longer goes, now and then. */
class Sweep {
  readonly #definitions: DefinitionStore;
  readonly #clock: Manager['clock'];
  readonly #everyMilliseconds: number;
  #last: number;

  constructor(definitions: DefinitionStore, { clock }: Pick<Manager, 'clock'>, everyMilliseconds: number) {
    this.#definitions = definitions;
    this.#clock = clock;
    this.#everyMilliseconds = everyMilliseconds;
    this.#last = clock.monotonic();
  }

  async sweep({ read }: ReconcileContext): Promise<void> {
    if (this.#clock.monotonic() - this.#last < this.#everyMilliseconds) return;
    this.#last = this.#clock.monotonic();
    const all = read.store<Operator>(operatorKind.resource).list();
    const names = all.flatMap(({ status }) => (status?.versions ?? []).map(({ definitionsRef }) => definitionsRef));
    await this.#definitions.retain(new Set(names.filter((name) => name !== undefined)));
  }
}
