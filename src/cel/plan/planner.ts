/** Builds the plan from the checked tree. */
import type { Call, Comprehension, Expr, Select } from '../ast.ts';
import type { Checked, Reference } from '../check/checked.ts';
import type { Overload } from '../declarations.ts';
import { ACCUMULATOR } from '../parse/builder.ts';
import type { Issue } from '../source.ts';
import { compileRegex } from '../standard/regex.ts';
import { DYN } from '../types.ts';
import { CelError, type JsonMap, StructValue } from '../values.ts';
import { dispatch } from './dispatch.ts';
import { foldList, foldMap, withKnownValue } from './fold.ts';
import { planMembership } from './membership.ts';
import type { AttributePlan, CallPlan, ConstantPlan, FoldPlan, Local, Plan, Program, Qualifier } from './plan.ts';

interface PlanResult {
  readonly program?: Program;
  readonly issues: readonly Issue[];
}

/** `plan` builds a plan. For an unchecked expression, `checked.references` comes from resolve.ts. */
export function plan(checked: Checked): PlanResult {
  const planner = new Planner(checked);
  const root = planner.plan(checked.ast);
  if (planner.issues.length > 0) return { issues: planner.issues };
  return {
    program: { plan: root, locals: planner.locals, size: planner.size, variables: [...planner.variables] },
    issues: [],
  };
}

const CONVERSIONS = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'dyn',
  'int',
  'string',
  'timestamp',
  'type',
  'uint',
]);

class Planner {
  readonly issues: Issue[] = [];
  locals = 0;
  size = 0;
  readonly variables = new Set<string>();
  readonly #checked: Checked;
  #scopes: ReadonlyMap<string, Local>[] = [];

  constructor(checked: Checked) {
    this.#checked = checked;
  }

  plan(node: Expr): Plan {
    this.size++;
    const reference = this.#checked.references.get(node.id);
    if (node.kind === 'identifier' || node.kind === 'select') {
      const named = this.#named(node, reference);
      if (named !== undefined) return named;
    }
    switch (node.kind) {
      case 'literal':
        return { op: 'constant', node, value: node.value };
      case 'identifier':
        this.variables.add(node.name);
        return { op: 'variable', node, name: node.name };
      case 'select':
        return this.#select(node);
      case 'call':
        return this.#call(node, reference);
      case 'list': {
        const elements = node.elements.map((each, index) => ({
          plan: this.plan(each),
          optional: node.optional.includes(index),
        }));
        return foldList({ op: 'list', node, elements });
      }
      case 'map': {
        const entries = node.entries.map((each) => ({
          key: this.plan(each.key),
          value: this.plan(each.value),
          optional: each.optional,
        }));
        return foldMap({ op: 'map', node, entries, unique: this.#checked.environment.language.uniqueKeys });
      }
      case 'struct': {
        const fields = node.fields.map((each) => ({
          name: each.name,
          plan: this.plan(each.value),
          optional: each.optional,
        }));
        const typeName = reference?.kind === 'type' ? reference.value.name : node.typeName;
        const type = this.#checked.environment.objectType(typeName);
        const construct = type?.construct ?? ((made: JsonMap) => new StructValue(typeName, made));
        return { op: 'struct', node, typeName, construct, fields };
      }
      case 'comprehension':
        return this.#comprehension(node);
    }
  }

  #named(node: Expr, reference: Reference | undefined): Plan | undefined {
    switch (reference?.kind) {
      case 'type':
        return { op: 'constant', node, value: reference.value };
      case 'variable':
        this.variables.add(reference.name);
        return { op: 'variable', node, name: reference.name };
      case 'local': {
        const local = this.#scopes.findLast((scope) => scope.has(reference.name))?.get(reference.name);
        const type = this.#checked.types.get(node.id) ?? DYN;
        return local === undefined ? undefined : { op: 'local', node, local, type };
      }
      default:
        return undefined;
    }
  }

  #select(node: Select): Plan {
    const strict = this.#checked.environment.language.strictPresence;
    const qualifier = { node, key: node.field, optional: false, test: node.test, strict };
    return this.#qualify(node, this.plan(node.operand), qualifier);
  }

  /** Extends the attribute of the operand, or starts a new one. */
  #qualify(node: Expr, operand: Plan, qualifier: Qualifier): AttributePlan {
    if (operand.op === 'attribute' && operand.qualifiers.at(-1)?.test !== true) {
      return { ...operand, node, qualifiers: [...operand.qualifiers, qualifier] };
    }
    return { op: 'attribute', node, root: operand, qualifiers: [qualifier] };
  }

  #index(node: Expr, key: Plan, optional: boolean): Qualifier {
    const strict = this.#checked.environment.language.strictPresence;
    const common = { node, optional, test: false, strict };
    return key.op === 'constant' ? { ...common, key: key.value } : { ...common, key: undefined, computed: key };
  }

  #call(node: Call, reference: Reference | undefined): Plan {
    const resolved = reference?.kind === 'function' ? reference : undefined;
    const name = resolved?.name ?? node.function;
    const nodes = node.target === undefined || resolved?.member === false ? node.args : [node.target, ...node.args];
    const args = nodes.map((each) => this.plan(each));
    const [first, second, third] = args as [Plan, Plan, Plan];
    switch (name) {
      case '_&&_':
      case '_||_': {
        const op = name === '_&&_' ? 'and' : 'or';
        return { op, node, terms: args };
      }
      case '_?_:_':
        return { op: 'conditional', node, condition: first, truthy: second, falsy: third };
      case '_==_':
      case '_!=_':
        return { op: name === '_==_' ? 'equal' : 'unequal', node, left: first, right: second };
      case '@not_strictly_false':
        return { op: 'notFalse', node, operand: first };
      case '_[_]':
        return this.#qualify(node, first, this.#index(node, second, false));
      case '_[?_]':
      case '_?._':
        return this.#qualify(node, first, this.#index(node, second, true));
      case 'or':
      case 'orValue':
        if (isOptionalOr(resolved, name)) {
          return { op: name === 'or' ? 'or optional' : 'or value', node, operand: first, otherwise: second };
        }
    }
    return this.#ordinary(node, name, args, nodes, resolved);
  }

  #ordinary(
    node: Call,
    name: string,
    args: readonly Plan[],
    nodes: readonly Expr[],
    resolved: (Reference & { kind: 'function' }) | undefined,
  ): Plan {
    const accumulated = this.#accumulate(node, name, args);
    if (accumulated !== undefined) return accumulated;
    const candidates = resolved?.overloads ?? [];
    const sole = resolved?.unchecked !== true && candidates.length === 1 ? candidates[0] : undefined;
    const membership = sole?.id === 'in_list' ? planMembership(node, args) : undefined;
    if (membership !== undefined) return membership;
    // If several overloads remain, cel-go tries every overload of the function, member or not.
    const overloads = sole === undefined ? (this.#checked.environment.functions.get(name) ?? []) : candidates;
    const call: CallPlan = {
      op: 'call',
      node,
      name,
      args,
      overloads,
      singleton: isSingleton(overloads, args.length),
      cost: sole?.soleCost ?? (sole ?? candidates.find((each) => each.cost !== undefined))?.cost,
      early: isEarly(name, args, overloads, sole !== undefined),
      types: nodes.map((each) => this.#checked.types.get(each.id) ?? DYN),
    };
    if (name === 'matches') this.#checkPattern(node, args[1]);
    return withKnownValue(this.#foldConversion(call));
  }

  /** Evaluates `int('1')` at compile time; a failure is a compile error, as in cel-go. */
  #foldConversion(call: CallPlan): Plan {
    const [argument] = call.args;
    if (argument?.op !== 'constant' || call.args.length !== 1 || !CONVERSIONS.has(call.name)) return call;
    const value = dispatch(call.name, call.overloads, [argument.value]);
    if (!(value instanceof CelError)) return { op: 'constant', node: call.node, value };
    this.issues.push(this.#checked.source.issue('invalid_literal', call.node.offset, value.message));
    return call;
  }

  #checkPattern(node: Call, pattern: Plan | undefined): void {
    if (pattern?.op !== 'constant' || typeof pattern.value !== 'string') return;
    const compiled = compileRegex(pattern.value);
    if (!(compiled instanceof CelError)) return;
    this.issues.push(
      this.#checked.source.issue('invalid_literal', node.args.at(-1)?.offset ?? node.offset, compiled.message),
    );
  }

  /** Plans the steps of map, filter, transformMap and others as in-place updates. */
  #accumulate(node: Call, name: string, args: readonly Plan[]): Plan | undefined {
    const [accumulator, ...rest] = args;
    if (accumulator?.op !== 'local' || accumulator.local.name !== ACCUMULATOR) return undefined;
    if (name === '_+_' && rest[0] !== undefined && isList(rest[0])) {
      return { op: 'append', node, accumulator, addition: rest[0] };
    }
    return name === 'cel.@mapInsert' ? { op: 'insert', node, accumulator, args: rest } : undefined;
  }

  #comprehension(node: Comprehension): Plan {
    const range = this.plan(node.range);
    const initial = this.plan(node.initial);
    const outer = this.#scopes;
    const accumulator: Local = { slot: this.locals++, name: node.accumulator };
    const scope = [...outer, new Map([[node.accumulator, accumulator]])];
    if (isEmptyList(range)) {
      accumulator.lazy = initial;
      this.#scopes = scope;
      const body = this.plan(node.result);
      this.#scopes = outer;
      return { op: 'bind', node, local: accumulator, body };
    }
    const variable: Local = { slot: this.locals++, name: node.variable };
    const variable2: Local | undefined =
      node.variable2 === undefined ? undefined : { slot: this.locals++, name: node.variable2 };
    const variables = new Map([[variable.name, variable]]);
    if (variable2 !== undefined) variables.set(variable2.name, variable2);
    this.#scopes = [...scope, variables];
    const condition = this.plan(node.condition);
    const step = this.plan(node.step);
    this.#scopes = scope;
    const result = this.plan(node.result);
    this.#scopes = outer;
    const fold: FoldPlan = {
      op: 'fold',
      node,
      range,
      variable,
      variable2,
      accumulator,
      initial,
      condition,
      step,
      result,
    };
    return fold;
  }
}

const isEmptyList = (each: Plan): boolean =>
  each.op === 'constant' && Array.isArray(each.value) && each.value.length === 0;

const isList = (each: Plan): boolean =>
  each.op === 'list' || (each.op === 'constant' && Array.isArray((each as ConstantPlan).value));

function isOptionalOr(reference: (Reference & { kind: 'function' }) | undefined, name: string): boolean {
  const id = name === 'or' ? 'optional_or_optional' : 'optional_orValue_value';
  return reference?.overloads.some((each) => each.id === id) === true;
}

/** Reports whether cel-go evaluates the arguments as a list, which stops at the first failure. */
function isEarly(name: string, args: readonly Plan[], overloads: readonly Overload[], sole: boolean): boolean {
  if (args.length > 2 || (name === 'matches' && args[1]?.op === 'constant')) return true;
  return !sole && overloads.length > 1 && !isSingleton(overloads, args.length);
}

/** Reports whether one implementation serves all overloads, as for the operators of cel-go. */
function isSingleton(overloads: readonly Overload[], count: number): boolean {
  const first = overloads[0]?.implementation;
  return first !== undefined && overloads.every((each) => each.singleton === true && each.parameters.length === count);
}
