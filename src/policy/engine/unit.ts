/**
 * A compiled expression with its dependencies. Policies with the same expression share one unit, whatever its
 * whitespace: it is compiled once per process and evaluated once per request, and a thousand policies stay small.
 */
import {
  type Compiled,
  compile,
  type Evaluate,
  type Expr,
  environment,
  format,
  type Issue,
  parse,
  type Read,
  type Result,
  reads,
  type Type,
  types,
} from '../../cel/index.ts';
import type { ContextModel } from '../model.ts';
import type { RequestPart } from '../request.ts';
import { type EnvironmentNeeds, policyEnvironment, SHORTHANDS } from './environment.ts';

export class Unit {
  /** Equal for units that give the same result for the same request. */
  readonly key: string;
  readonly compiled: Compiled;
  readonly evaluate: Evaluate;
  /** The paths that it reads itself. See `variables` for indirect reads. */
  readonly reads: readonly Read[];
  /** The definitions of the variables that it reads as `variables.x`. */
  readonly variables: ReadonlyMap<string, Unit> | undefined;
  readonly context: readonly ContextModel[];
  /** The options it was compiled with, to compile its terms in the same way. */
  readonly needs: UnitNeeds;
  /** The parts of the request that it reads, including reads through variables. */
  readonly parts: readonly RequestPart[];
  readonly readsParams: boolean;
  readonly readsNamespace: boolean;
  /** Whether it reads anything but the request, including reads through variables. */
  readonly readsCluster: boolean;
  /** Whether it needs only the object, so that no information can be missing. */
  readonly plain: boolean;
  /** Whether it does not even read the object's metadata in `request`. */
  readonly readsObjectAlone: boolean;

  // The result for the last request. It is stored here and not in a map of the request, because a passing rule must not
  // allocate; `epoch` identifies the scope that it belongs to. Only rules are cached, and their results reference no
  // object.
  epoch = 0;
  result: Result = null;
  cost = 0;
  /** The variables that the evaluation read. */
  used: readonly Unit[] = NONE;
  /** The number of the last policy evaluation that was charged for it. */
  charged = 0;

  constructor(parts: {
    key: string;
    compiled: Compiled;
    reads: readonly Read[];
    variables: ReadonlyMap<string, Unit> | undefined;
    context: readonly ContextModel[];
    needs: UnitNeeds;
  }) {
    this.key = parts.key;
    this.compiled = parts.compiled;
    this.evaluate = parts.compiled.evaluate;
    this.reads = parts.reads;
    this.variables = parts.variables;
    this.context = parts.context;
    this.needs = parts.needs;
    const below = [...(parts.variables?.values() ?? [])];
    this.parts = [...new Set([...partsOf(parts.reads), ...below.flatMap((each) => each.parts)])];
    const has = (name: string): boolean => parts.reads.some(({ variable }) => variable === name);
    this.readsParams = has('params') || below.some((each) => each.readsParams);
    this.readsNamespace = has('namespaceObject') || below.some((each) => each.readsNamespace);
    this.readsCluster =
      this.readsParams ||
      this.readsNamespace ||
      this.parts.includes('authorizer') ||
      parts.context.length > 0 ||
      below.some((each) => each.readsCluster);
    this.plain =
      this.parts.length === 0 &&
      !this.readsNamespace &&
      parts.context.length === 0 &&
      below.every(({ context }) => context.length === 0);
    this.readsObjectAlone =
      this.plain && this.variables === undefined && parts.reads.every(({ variable }) => OF_AN_OBJECT.has(variable));
  }

  get text(): string {
    return this.compiled.source.text;
  }
}

const NONE: readonly Unit[] = [];

const OF_AN_OBJECT: ReadonlySet<string> = new Set(['object', ...SHORTHANDS]);

/** The fields of `request` that are known for any object. */
const OF_THE_OBJECT = new Set([
  'kind',
  'resource',
  'requestKind',
  'requestResource',
  'name',
  'namespace',
  'subResource',
  'requestSubResource',
]);

function* partsOf(all: readonly Read[]): Iterable<RequestPart> {
  for (const { variable, path } of all) {
    if (variable === 'oldObject') yield 'oldObject';
    else if (variable === 'authorizer' || variable === 'authorizer.requestResource') yield 'authorizer';
    else if (variable === 'request') {
      const [field] = path;
      if (field === 'userInfo') yield 'userInfo';
      else if (field === undefined || field === '*') {
        yield 'userInfo';
        yield 'operation';
      } else if (!OF_THE_OBJECT.has(field)) yield 'operation';
    }
  }
}

export interface UnitNeeds extends Omit<EnvironmentNeeds, 'context' | 'variables'> {
  readonly context: readonly ContextModel[];
  /** Absent if the expression must not read `variables`. */
  readonly variables?: ReadonlyMap<string, { readonly unit: Unit; readonly type: Type }>;
  readonly backend: 'auto' | 'code' | 'closures';
  readonly costLimit: number;
  /** Called with the value of every sub-expression. Such a unit is not shared. */
  readonly watch?: (node: Expr, value: Result) => void;
}

type UnitOrIssues =
  | { readonly unit: Unit; readonly issues?: undefined }
  | { readonly issues: readonly Issue[]; readonly message: string };

/** `unitFor` returns the shared unit for a text, and compiles it if there is none. */
export function unitFor(text: string, needs: UnitNeeds): UnitOrIssues {
  const written = writtenKey(text, needs);
  const same = written === undefined ? undefined : UNITS.get(written)?.deref();
  if (same !== undefined) return { unit: same };
  const made = unitOf(text, needs);
  if (made.issues === undefined && written !== undefined) keep(written, made.unit);
  return made;
}

/** A key for identical text and options, which avoids parsing. Undefined if the unit depends on more than these. */
function writtenKey(text: string, needs: UnitNeeds): string | undefined {
  const { native, params, authorizer, backend, costLimit, context, variables, watch } = needs;
  if (watch !== undefined || context.length > 0 || (variables !== undefined && variables.size > 0)) return undefined;
  return `${native} ${params} ${authorizer} ${variables !== undefined} ${backend} ${costLimit} ${text}`;
}

function unitOf(text: string, needs: UnitNeeds): UnitOrIssues {
  const { macros, language } = PLAIN;
  const parsed = parse(text, { macros, ...language });
  const found = parsed.ast === undefined ? [] : reads(parsed.ast);
  const isRead = (name: string): boolean => found.some(({ variable }) => variable === name);
  const context = needs.context.filter(({ name }) => isRead(name));
  const variables = isRead('variables') ? needs.variables : undefined;
  const base = {
    native: needs.native,
    params: needs.params && isRead('params'),
    authorizer: needs.authorizer && isRead('authorizer'),
    context: context.map(({ name }) => name),
  };
  const used = variables === undefined ? undefined : usedVariables(variables, found);
  const canonical = parsed.ast === undefined ? text : format(parsed.ast);
  const key = JSON.stringify([
    canonical,
    base,
    needs.backend,
    needs.costLimit,
    context,
    [...(used ?? [])].map(([name, { key: definition }]) => [name, definition]),
  ]);
  const { backend, costLimit, watch } = needs;
  const known = watch === undefined ? UNITS.get(key)?.deref() : undefined;
  if (known !== undefined) return { unit: known };
  const scope = policyEnvironment(variables === undefined ? base : { ...base, variables: typesOf(variables) });
  const compiled = compile(text, scope, { backend, costLimit, parsed, ...(watch === undefined ? {} : { watch }) });
  if (compiled.evaluate === undefined) return { issues: compiled.issues, message: compiled.message };
  const unit = new Unit({ key, compiled, reads: found, variables: used, context, needs });
  if (watch !== undefined) return { unit };
  keep(key, unit);
  return { unit };
}

function keep(key: string, unit: Unit): void {
  UNITS.set(key, new WeakRef(unit));
  FORGET.register(unit, key);
}

const PLAIN = environment('kubernetes-1.36', { variables: { object: types.DYN } });

/** A cache of units by key. It does not influence results; a unit lives as long as a policy that uses it. */
const UNITS = new Map<string, WeakRef<Unit>>();
const FORGET = new FinalizationRegistry<string>((key) => {
  if (UNITS.get(key)?.deref() === undefined) UNITS.delete(key);
});

const typesOf = (variables: NonNullable<UnitNeeds['variables']>): Record<string, Type> =>
  Object.fromEntries([...variables].map(([name, { type }]) => [name, type]));

/** The variables whose names are read, or all of them if the names are computed. */
function usedVariables(
  variables: NonNullable<UnitNeeds['variables']>,
  found: readonly Read[],
): ReadonlyMap<string, Unit> {
  const names = new Set(found.flatMap(({ variable, path }) => (variable === 'variables' ? [path[0] ?? '*'] : [])));
  const kept = [...variables].filter(([name]) => names.has('*') || names.has(name));
  return new Map(kept.map(([name, { unit }]) => [name, unit]));
}
