/** Decides the bindings of an object: from its dependencies and the visible sources to bindings and a condition. */
import type { Condition, DesiredCondition } from '../../runtime/index.ts';
import { type Binding, describeObject, firstNames, type OwnedObject } from '../platform/ownership.ts';
import type { Dependency } from './visible.ts';

export interface Found {
  readonly dependency: Dependency;
  /** The matches of the own team. */
  readonly own: readonly OwnedObject[];
  /** The matches of other teams that the selector names. */
  readonly foreign: readonly OwnedObject[];
  /** The sources that would match if the selector named their teams. */
  readonly unasked: readonly { readonly source: OwnedObject; readonly team: string }[];
}

export interface Before {
  readonly bindings: readonly Binding[];
  readonly condition: Condition | undefined;
  /** Whether further matches wait for the next deployment: they must not restart a running object. */
  readonly holds: boolean;
}

export interface Decision {
  readonly bound: readonly OwnedObject[];
  /** Bindings that existed and are lost now. */
  readonly lost: readonly Binding[];
  /** Matches that wait for the next deployment. */
  readonly later: readonly OwnedObject[];
  readonly condition: DesiredCondition;
}

type Reason =
  | 'BindingLost'
  | 'NoMatch'
  | 'AmbiguousSelector'
  | 'SecretNameConflict'
  | 'DependencyNotReady'
  | 'VariableConflict';

/** Reasons in order of importance. The last one does not block a deployment. */
const reasons: readonly Reason[] = [
  'BindingLost',
  'NoMatch',
  'AmbiguousSelector',
  'SecretNameConflict',
  'DependencyNotReady',
  'VariableConflict',
];
/** The limit of `status.bindings`. */
const mostBindings = 256;

interface Verdict {
  readonly bound: readonly OwnedObject[];
  readonly problem?: { readonly reason: Reason; readonly message: string };
  /** Sources that match and are not ready. */
  readonly waiting: readonly OwnedObject[];
  readonly later: readonly OwnedObject[];
}

/**
 * Why a source with a connection in its status cannot be bound: its Secret is missing, the copy conflicts with another
 * Secret, or its variables with those of another source. Of two bound sources with such a conflict both are `kept`.
 */
export type Obstacle =
  | { readonly kind: 'missing'; readonly secret: string }
  | { readonly kind: 'taken'; readonly secret: string }
  | { readonly kind: 'variable'; readonly text: string; readonly kept: boolean };
type Obstacles = ReadonlyMap<OwnedObject, Obstacle>;

export function decideBindings(found: readonly Found[], before: Before, obstacles: Obstacles = new Map()): Decision {
  const verdicts = found.map((each) => evaluateDependency(each, before, obstacles));
  const all = inOrder(
    verdicts.flatMap(({ bound }) => bound),
    found,
    before,
  );
  const bound = all.slice(0, mostBindings).sort((one, other) => compare(describeObject(one), describeObject(other)));
  const lost = before.bindings.filter((binding) => !bound.some((source) => isOf(binding, source)));
  const later = verdicts.flatMap((verdict) => verdict.later);
  const problems = verdicts.flatMap(({ problem }) => problem ?? []);
  const dropped = found.flatMap((each) => unaskedText(each, before));
  const reason = reasons.find((each) => problems.some((problem) => problem.reason === each));
  if (reason !== undefined) {
    const message = [...problems.map((problem) => problem.message), ...dropped].join('; ');
    return { bound, lost, later, condition: { type: 'DependenciesBound', status: 'False', reason, message } };
  }
  const waiting = verdicts.flatMap((verdict) => verdict.waiting).map(describeObject);
  const words = [
    `${bound.length} resource${bound.length === 1 ? ' is' : 's are'} bound`,
    ...(all.length > bound.length
      ? [`${all.length - bound.length} more match and exceed the limit: narrow the selectors`]
      : []),
    ...(waiting.length > 0 ? [`${firstNames(waiting)} will be bound when ready`] : []),
    ...(later.length > 0
      ? [
          `${firstNames(later.map(describeObject))} will be bound with the next deployment, so that a new match restarts nothing: change the spec to deploy now, or narrow the selector`,
        ]
      : []),
    ...dropped,
  ];
  return {
    bound,
    lost,
    later,
    condition: {
      type: 'DependenciesBound',
      status: 'True',
      reason: later.length > 0 ? 'MatchesPending' : 'AllBound',
      message: words.join('; '),
    },
  };
}

/**
 * `inOrder` sorts sources by precedence: the own team before others, existing bindings before new ones, older first.
 * Until the next deployment, existing bindings come before everything.
 */
export function inOrder(sources: readonly OwnedObject[], found: readonly Found[], before: Before): OwnedObject[] {
  const foreign = new Set(found.flatMap((each) => each.foreign));
  const isNew = (source: OwnedObject) => !before.bindings.some((binding) => isOf(binding, source));
  const ageOf = ({ metadata }: OwnedObject) => metadata.creationTimestamp ?? '';
  return [...sources].sort(
    (one, other) =>
      (before.holds ? Number(isNew(one)) - Number(isNew(other)) : 0) ||
      Number(foreign.has(one)) - Number(foreign.has(other)) ||
      Number(isNew(one)) - Number(isNew(other)) ||
      compare(ageOf(one), ageOf(other)) ||
      compare(describeObject(one), describeObject(other)),
  );
}

function evaluateDependency(found: Found, before: Before, obstacles: Obstacles): Verdict {
  const { dependency, own, foreign } = found;
  const { field, kind, selector } = dependency;
  const expect = selector.expect ?? 'Some';
  const known = before.bindings.filter((binding) => binding.kind === kind);
  const isKnown = (source: OwnedObject) => known.some((binding) => isOf(binding, source));
  const all = [...own, ...foreign];
  // Another team never makes a match of the own team ambiguous.
  const wanted = expect === 'One' && own.length > 0 ? own : all;
  const holds = before.holds && all.some(isKnown);
  const sources = holds ? all.filter(isKnown) : wanted;
  const further = holds ? wanted.filter((source) => !isKnown(source)) : [];
  const later = further.filter((source) => obstacles.get(source)?.kind !== 'variable');
  const isBindable = (source: OwnedObject) => {
    const obstacle = obstacles.get(source);
    return hasConnection(source) && (obstacle === undefined || (obstacle.kind === 'variable' && obstacle.kept));
  };
  const bindable = sources.filter(isBindable);
  const waiting = sources.filter((source) => !isBindable(source) && obstacles.get(source)?.kind !== 'variable');
  const fail = (reason: Reason, message: string, bound: readonly OwnedObject[] = []): Verdict => ({
    bound,
    waiting,
    later,
    problem: { reason, message: `${field} ${message}` },
  });
  if (all.length === 0 && expect !== 'Any') {
    const { fromTeams = [] } = selector;
    const lost = known.length > 0 || isStillLost(before.condition, field);
    return lost
      ? fail(
          'BindingLost',
          `${foundBefore} and has none now: restore a matching ${kind}, or remove the selector from spec.dependencies`,
        )
      : fail(
          'NoMatch',
          `matches no ${kind} of this team${fromTeams.length === 0 ? '' : ` or shared with it by ${firstNames(fromTeams)}`}: create one with these labels, change the selector, or name a team that shares one (spec.sharedWith) in ${teamsField(field)}`,
        );
  }
  if (expect === 'One' && wanted.length > 1) {
    // An existing binding is kept: a second match must not break a working setup.
    const kept = all.filter((source) => isKnown(source) && isBindable(source));
    const names = firstNames(wanted.map(describeObject));
    return fail(
      'AmbiguousSelector',
      `expects one ${kind} and matches ${wanted.length} (${names}): add a label to the selector`,
      kept.length === 1 ? kept : [],
    );
  }
  const met = [...sources, ...further].flatMap((source) => obstacles.get(source) ?? []);
  const taken = met.find((obstacle) => obstacle.kind === 'taken');
  if (taken !== undefined) {
    const message = `cannot be bound: Secret ${taken.secret} exists and is not managed by kidp; delete it`;
    return fail('SecretNameConflict', message, bindable);
  }
  // Initially all matches are waited for. Later matches are bound when ready and block nothing. Failed sources and, if
  // there is something to bind, sources of other teams are not waited for.
  const awaited = waiting.filter((source) => source.status?.phase !== 'failed' && own.includes(source));
  const isDone = expect === 'Any' || (bindable.length > 0 && (known.length > 0 || awaited.length === 0));
  const conflict = met.find((obstacle) => obstacle.kind === 'variable');
  if (conflict !== undefined && (isDone || waiting.length === 0)) {
    const remedy = conflict.kept ? 'nothing is deployed until one is renamed' : 'the first is kept; rename the other';
    return fail('VariableConflict', `has a conflict: ${conflict.text}; ${remedy}, or narrow the selector`, bindable);
  }
  if (isDone) return { bound: bindable, waiting, later };
  const described = waiting.map((source) => `${describeObject(source)} (${stateOf(source, obstacles)})`);
  return fail('DependencyNotReady', `waits for ${firstNames(described)}; see the conditions there`);
}

/** Names sources that were bound before the selector had to name their teams, as long as they could be used. */
function unaskedText({ dependency, unasked }: Found, { bindings, condition }: Before): string[] {
  const named = unasked
    .map(({ source, team }) => ({ source, text: `${describeObject(source)} of Team ${team}` }))
    .filter(
      ({ source, text }) => bindings.some((binding) => isOf(binding, source)) || condition?.message.includes(text),
    )
    .map(({ text }) => text);
  if (named.length === 0) return [];
  const remedy = `name the team in ${teamsField(dependency.field)} to use it`;
  return [`${firstNames(named)} ${named.length === 1 ? 'is' : 'are'} shared, but not selected: ${remedy}`];
}

const teamsField = (field: string): string => `spec.dependencies.${field}.fromTeams`;

const foundBefore = 'had a match before';
const isStillLost = (condition: Condition | undefined, field: string): boolean =>
  condition?.reason === 'BindingLost' && condition.message.includes(`${field} ${foundBefore}`);

/** Whether a source has a connection: credentials if the kind has any, else an address. */
export function hasConnection({ kind, status }: OwnedObject): boolean {
  if (status?.connectionSecret !== undefined) return true;
  if (kind !== 'Service' && kind !== 'Topic') return false;
  const hasAddress = kind === 'Service' || Object.keys(status?.outputs ?? {}).length > 0;
  return status?.phase === 'ready' && hasAddress;
}

function stateOf(source: OwnedObject, obstacles: Obstacles): string {
  const missing = obstacles.get(source);
  if (missing?.kind === 'missing') return `its Secret ${missing.secret} does not exist`;
  const phase = source.status?.phase ?? 'pending';
  return phase === 'ready' ? 'ready, but its broker reported no connection' : phase;
}

export const isOf = (binding: Binding, { kind, metadata }: OwnedObject): boolean =>
  binding.kind === kind && binding.namespace === metadata.namespace && binding.name === metadata.name;

const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
