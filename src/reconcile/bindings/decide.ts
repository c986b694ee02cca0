/** Decides the bindings of an object: from its dependencies and the visible sources to bindings and a condition. */
import type { Condition, DesiredCondition } from '../../runtime/index.ts';
import { type Binding, describeObject, firstNames, type OwnedObject } from '../platform/ownership.ts';
import type { Dependency } from './visible.ts';

export interface Found {
  readonly dependency: Dependency;
  /** All sources that match. */
  readonly sources: readonly OwnedObject[];
}

export interface Before {
  readonly bindings: readonly Binding[];
  readonly condition: Condition | undefined;
}

export interface Decision {
  readonly bound: readonly OwnedObject[];
  /** Bindings that existed and are lost now. */
  readonly lost: readonly Binding[];
  readonly condition: DesiredCondition;
}

type Reason = 'BindingLost' | 'NoMatch' | 'AmbiguousSelector' | 'SecretNameConflict' | 'DependencyNotReady';

/** Reasons in order of importance. */
const reasons: readonly Reason[] = [
  'BindingLost',
  'NoMatch',
  'AmbiguousSelector',
  'SecretNameConflict',
  'DependencyNotReady',
];
/** The limit of `status.bindings`. */
const mostBindings = 256;

interface Verdict {
  readonly bound: readonly OwnedObject[];
  readonly problem?: { readonly reason: Reason; readonly message: string };
  /** Sources that match and are not ready. */
  readonly waiting: readonly OwnedObject[];
}

/**
 * Why a source with a connection in its status cannot be bound: its Secret is missing, or the copy conflicts with
 * another Secret.
 */
export interface Obstacle {
  readonly kind: 'missing' | 'taken';
  readonly secret: string;
}
type Obstacles = ReadonlyMap<OwnedObject, Obstacle>;

export function decideBindings(found: readonly Found[], before: Before, obstacles: Obstacles = new Map()): Decision {
  const verdicts = found.map((each) => evaluateDependency(each, before, obstacles));
  const all = verdicts
    .flatMap(({ bound }) => bound)
    .sort((one, other) => compare(describeObject(one), describeObject(other)));
  const bound = all.slice(0, mostBindings);
  const lost = before.bindings.filter((binding) => !bound.some((source) => isOf(binding, source)));
  const problems = verdicts.flatMap(({ problem }) => problem ?? []);
  const reason = reasons.find((each) => problems.some((problem) => problem.reason === each));
  if (reason !== undefined) {
    const message = problems.map((problem) => problem.message).join('; ');
    return { bound, lost, condition: { type: 'DependenciesBound', status: 'False', reason, message } };
  }
  const waiting = verdicts.flatMap((verdict) => verdict.waiting).map(describeObject);
  const words = [
    `${bound.length} resource${bound.length === 1 ? ' is' : 's are'} bound`,
    ...(all.length > bound.length
      ? [`${all.length - bound.length} more match and exceed the limit: narrow the selectors`]
      : []),
    ...(waiting.length > 0 ? [`${firstNames(waiting)} will be bound when ready`] : []),
  ];
  return {
    bound,
    lost,
    condition: { type: 'DependenciesBound', status: 'True', reason: 'AllBound', message: words.join('; ') },
  };
}

function evaluateDependency({ dependency, sources }: Found, before: Before, obstacles: Obstacles): Verdict {
  const { field, kind, selector } = dependency;
  const expect = selector.expect ?? 'Some';
  const known = before.bindings.filter((binding) => binding.kind === kind);
  const isBindable = (source: OwnedObject) => hasConnection(source) && !obstacles.has(source);
  const bindable = sources.filter(isBindable);
  const waiting = sources.filter((source) => !isBindable(source));
  if (expect === 'Any') return { bound: bindable, waiting };
  const fail = (reason: Reason, message: string, bound: readonly OwnedObject[] = []): Verdict => ({
    bound,
    waiting,
    problem: { reason, message: `${field} ${message}` },
  });
  if (sources.length === 0) {
    const lost = known.length > 0 || isStillLost(before.condition, field);
    return lost
      ? fail(
          'BindingLost',
          `${foundBefore} and has none now: restore a matching ${kind}, or remove the selector from spec.dependencies`,
        )
      : fail(
          'NoMatch',
          `matches no ${kind} of this team or shared with it: create one with these labels, have one shared (spec.sharedWith), or change the selector`,
        );
  }
  if (expect === 'One' && sources.length > 1) {
    // An existing binding is kept: a second match must not break a working setup.
    const kept = bindable.filter((source) => known.some((binding) => isOf(binding, source)));
    const names = firstNames(sources.map(describeObject));
    return fail(
      'AmbiguousSelector',
      `expects one ${kind} and matches ${sources.length} (${names}): add a label to the selector`,
      kept.length === 1 ? kept : [],
    );
  }
  const taken = waiting.flatMap((source) => obstacles.get(source) ?? []).find(({ kind: why }) => why === 'taken');
  if (taken !== undefined) {
    const message = `cannot be bound: Secret ${taken.secret} exists and is not managed by kidp; delete it`;
    return fail('SecretNameConflict', message, bindable);
  }
  // Initially all matches are waited for. Later matches are bound when ready and block nothing. Failed sources are not
  // waited for.
  const awaited = waiting.filter(({ status }) => status?.phase !== 'failed');
  if (bindable.length > 0 && (known.length > 0 || awaited.length === 0)) return { bound: bindable, waiting };
  const described = waiting.map((source) => `${describeObject(source)} (${stateOf(source, obstacles)})`);
  return fail('DependencyNotReady', `waits for ${firstNames(described)}; see the conditions there`);
}

const foundBefore = 'had a match before';
const isStillLost = (condition: Condition | undefined, field: string): boolean =>
  condition?.reason === 'BindingLost' && condition.message.includes(`${field} ${foundBefore}`);

/** Whether a source has a connection: credentials if the kind has any, else an address. */
function hasConnection({ kind, status }: OwnedObject): boolean {
  if (status?.connectionSecret !== undefined) return true;
  if (kind !== 'Service' && kind !== 'Topic') return false;
  const hasAddress = kind === 'Service' || Object.keys(status?.outputs ?? {}).length > 0;
  return status?.phase === 'ready' && hasAddress;
}

function stateOf(source: OwnedObject, obstacles: Obstacles): string {
  const missing = obstacles.get(source);
  if (missing !== undefined) return `its Secret ${missing.secret} does not exist`;
  const phase = source.status?.phase ?? 'pending';
  return phase === 'ready' ? 'ready, but its broker reported no connection' : phase;
}

const isOf = (binding: Binding, { kind, metadata }: OwnedObject): boolean =>
  binding.kind === kind && binding.namespace === metadata.namespace && binding.name === metadata.name;

const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
