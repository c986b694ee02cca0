/**
 * The plan of an evaluation, built from the checked tree: names resolved to slots, constants folded, selections joined
 * into attributes, overloads selected. Both back ends (closures and generated code) run only the plan. It has the shape
 * of cel-go's plan, because the costs of Kubernetes depend on that shape.
 */
import type { Expr } from '../ast.ts';
import type { Overload, RuntimeCost } from '../declarations.ts';
import type { Type } from '../types.ts';
import type { CelError, JsonMap, Value } from '../values.ts';

interface PlanBase {
  /** The source node: its id for explain, its offset for errors. */
  readonly node: Expr;
}

export interface ConstantPlan extends PlanBase {
  readonly op: 'constant';
  readonly value: Value;
}

interface VariablePlan extends PlanBase {
  readonly op: 'variable';
  readonly name: string;
}

/** A loop variable or a variable of cel.bind. */
export interface Local {
  readonly slot: number;
  readonly name: string;
  /** The plan of a value that is computed on first use, for cel.bind and optMap. */
  lazy?: Plan;
}

interface LocalPlan extends PlanBase {
  readonly op: 'local';
  readonly local: Local;
  readonly type: Type;
}

export interface Qualifier {
  readonly node: Expr;
  /** A constant key, or the plan that computes it. */
  readonly key: Value | undefined;
  readonly computed?: Plan;
  /** Whether it is written `.?` or `[?`. */
  readonly optional: boolean;
  /** Whether it is the last selection of has(). */
  readonly test: boolean;
  /** Whether selecting a field of a value without fields is an error; in Kubernetes the field is absent. */
  readonly strict: boolean;
}

export interface AttributePlan extends PlanBase {
  readonly op: 'attribute';
  readonly root: Plan;
  readonly qualifiers: readonly Qualifier[];
}

export interface ConditionalPlan extends PlanBase {
  readonly op: 'conditional';
  readonly condition: Plan;
  readonly truthy: Plan;
  readonly falsy: Plan;
}

export interface LogicPlan extends PlanBase {
  readonly op: 'and' | 'or';
  readonly terms: readonly Plan[];
}

export interface EqualityPlan extends PlanBase {
  readonly op: 'equal' | 'unequal';
  readonly left: Plan;
  readonly right: Plan;
}

interface NotFalsePlan extends PlanBase {
  /** The function @not_strictly_false, which is true for everything but false. */
  readonly op: 'notFalse';
  readonly operand: Plan;
}

export interface CallPlan extends PlanBase {
  readonly op: 'call';
  readonly name: string;
  readonly args: readonly Plan[];
  /** The candidates, in order. A single one with a shared implementation is called without checking the arguments. */
  readonly overloads: readonly Overload[];
  readonly singleton: boolean;
  /** The cost function; undefined means 1. */
  readonly cost: RuntimeCost | undefined;
  /** Whether the first failed argument ends the call, as in cel-go for calls with three or more arguments. */
  readonly early: boolean;
  /** The value and cost of a call with constant arguments: it is computed once and charged every time. */
  readonly known?: { readonly value: Value; readonly cost: number };
  /** The static types of the arguments. */
  readonly types: readonly Type[];
}

/** A plan for `x in [constants]`: a set lookup without a cost of its own. */
interface MembershipPlan extends PlanBase {
  readonly op: 'membership';
  readonly element: Plan;
  readonly members: ReadonlySet<string | number | bigint | boolean>;
}

interface OptionalOrPlan extends PlanBase {
  readonly op: 'or optional' | 'or value';
  readonly operand: Plan;
  readonly otherwise: Plan;
}

export interface ListPlan extends PlanBase {
  readonly op: 'list';
  readonly elements: readonly { readonly plan: Plan; readonly optional: boolean }[];
}

export interface MapPlan extends PlanBase {
  readonly op: 'map';
  readonly entries: readonly { readonly key: Plan; readonly value: Plan; readonly optional: boolean }[];
  readonly unique: boolean;
}

export interface StructPlan extends PlanBase {
  readonly op: 'struct';
  readonly typeName: string;
  readonly construct: (fields: JsonMap) => Value | CelError;
  readonly fields: readonly { readonly name: string; readonly plan: Plan; readonly optional: boolean }[];
}

/** A plan for `accumulator + [element]` in the fold that owns the accumulator: it may append in place. */
export interface AppendPlan extends PlanBase {
  readonly op: 'append';
  readonly accumulator: LocalPlan;
  readonly addition: Plan;
}

/** A plan for `cel.@mapInsert(accumulator, …)`, which may also insert in place. */
export interface InsertPlan extends PlanBase {
  readonly op: 'insert';
  readonly accumulator: LocalPlan;
  /** A key and a value, or one map. */
  readonly args: readonly Plan[];
}

export interface FoldPlan extends PlanBase {
  readonly op: 'fold';
  readonly range: Plan;
  readonly variable: Local;
  readonly variable2: Local | undefined;
  readonly accumulator: Local;
  readonly initial: Plan;
  readonly condition: Plan;
  readonly step: Plan;
  readonly result: Plan;
}

/** A body with a lazy variable, whose value is in `local.lazy`. */
interface BindPlan extends PlanBase {
  readonly op: 'bind';
  readonly local: Local;
  readonly body: Plan;
}

export type Plan =
  | ConstantPlan
  | VariablePlan
  | LocalPlan
  | AttributePlan
  | ConditionalPlan
  | LogicPlan
  | EqualityPlan
  | NotFalsePlan
  | CallPlan
  | MembershipPlan
  | OptionalOrPlan
  | ListPlan
  | MapPlan
  | StructPlan
  | AppendPlan
  | InsertPlan
  | FoldPlan
  | BindPlan;

export interface Program {
  readonly plan: Plan;
  readonly locals: number;
  /** The number of nodes in the plan. */
  readonly size: number;
  /** The names of the variables that the expression reads. */
  readonly variables: readonly string[];
}
