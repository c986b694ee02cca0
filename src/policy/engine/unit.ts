/**
 * An expression that is ready to run, with what it depends on. Two policies that say the same get the same unit, however they space
 * it: so it is compiled once a process and evaluated once a request, and a thousand policies stay small.
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
  /** Equal for what gives the same answer to the same request. */
  readonly key: string;
  readonly compiled: Compiled;
  readonly evaluate: Evaluate;
  /** What it reads itself; through variables: see `variables`. */
  readonly reads: readonly Read[];
  /** The definitions that it reads as `variables.x`, those alone. */
  readonly variables: ReadonlyMap<string, Unit> | undefined;
  readonly context: readonly ContextModel[];
  /** What it was made with, to make its parts alike. */
  readonly needs: UnitNeeds;
  /** What only a request can tell and this must know, through variables too. */
  readonly parts: readonly RequestPart[];
  readonly readsParams: boolean;
  readonly readsNamespace: boolean;
  /** Needs nothing but the object: nothing can be missing. */
  readonly plain: boolean;
  /** Not even what `request` says of the object. */
  readonly readsObjectAlone: boolean;

  // The answer to the request that was judged last. It is kept here, not in a table of the request, because passing must cost
  // nothing: `epoch` tells whether it is still the answer. Only rules are kept so; their results hold on to no object.
  epoch = 0;
  result: Result = null;
  cost = 0;
  /** Variables that the evaluation read. */
  used: readonly Unit[] = NONE;
  /** The policy that was charged for it last, as a number that no other evaluation has. */
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

/** Fields of `request` that are known of any object. */
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
  /** Left out where `variables` must not be read. */
  readonly variables?: ReadonlyMap<string, { readonly unit: Unit; readonly type: Type }>;
  readonly backend: 'auto' | 'code' | 'closures';
  readonly costLimit: number;
  /** Sees what every part of the expression gives. Such a unit is nobody else's. */
  readonly watch?: (node: Expr, value: Result) => void;
}

type UnitOrIssues =
  | { readonly unit: Unit; readonly issues?: undefined }
  | { readonly issues: readonly Issue[]; readonly message: string };

/** The unit for a text, made when nobody has it. */
export function unitFor(text: string, needs: UnitNeeds): UnitOrIssues {
  const written = writtenKey(text, needs);
  const same = written === undefined ? undefined : UNITS.get(written)?.deref();
  if (same !== undefined) return { unit: same };
  const made = unitOf(text, needs);
  if (made.issues === undefined && written !== undefined) keep(written, made.unit);
  return made;
}

/** For what is written alike and knows the same: it need not even be parsed. Undefined where it hangs on more than that. */
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

/** A unit lives as long as a policy that has it. */
const UNITS = new Map<string, WeakRef<Unit>>();
const FORGET = new FinalizationRegistry<string>((key) => {
  if (UNITS.get(key)?.deref() === undefined) UNITS.delete(key);
});

const typesOf = (variables: NonNullable<UnitNeeds['variables']>): Record<string, Type> =>
  Object.fromEntries([...variables].map(([name, { type }]) => [name, type]));

/** Those whose names are read; all of them where it cannot be told. */
function usedVariables(
  variables: NonNullable<UnitNeeds['variables']>,
  found: readonly Read[],
): ReadonlyMap<string, Unit> {
  const names = new Set(found.flatMap(({ variable, path }) => (variable === 'variables' ? [path[0] ?? '*'] : [])));
  const kept = [...variables].filter(([name]) => names.has('*') || names.has(name));
  return new Map(kept.map(([name, { unit }]) => [name, unit]));
}
