/**
 * What is to be done at run time, made from the checked tree: names resolved to slots, constants folded, selections
 * joined into attributes, overloads chosen. Both back ends (closures and generated code) run this and nothing else,
 * and the plan is shaped like cel-go's, because its shape is what Kubernetes' costs are counted on.
 */
import type { Expr } from '../ast.ts';
import type { Overload, RuntimeCost } from '../declarations.ts';
import type { Type } from '../types.ts';
import type { CelError, JsonMap, Value } from '../values.ts';

interface PlanBase {
  /** Where it comes from: its id for explain, its offset for errors. */
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

/** A variable of a loop or of cel.bind. */
export interface Local {
  readonly slot: number;
  readonly name: string;
  /** Computed when first asked for: the value of cel.bind and optMap. */
  lazy?: Plan;
}

interface LocalPlan extends PlanBase {
  readonly op: 'local';
  readonly local: Local;
  readonly type: Type;
}

export interface Qualifier {
  readonly node: Expr;
  /** A constant, or what computes the key. */
  readonly key: Value | undefined;
  readonly computed?: Plan;
  /** `.?` or `[?`. */
  readonly optional: boolean;
  /** The last one of has(). */
  readonly test: boolean;
  /** To ask what cannot have fields for one is an error; Kubernetes answers that it is not there. */
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
  /** @not_strictly_false: true for everything but false. */
  readonly op: 'notFalse';
  readonly operand: Plan;
}

export interface CallPlan extends PlanBase {
  readonly op: 'call';
  readonly name: string;
  readonly args: readonly Plan[];
  /** Tried in order; one alone with the same implementation for all is called without looking at the arguments. */
  readonly overloads: readonly Overload[];
  readonly singleton: boolean;
  /** undefined: 1. */
  readonly cost: RuntimeCost | undefined;
  /** The first argument that fails ends the call: calls of three and more, as cel-go has it. */
  readonly early: boolean;
  /** The value and cost of a call whose arguments are constants: it is made once and charged every time. */
  readonly known?: { readonly value: Value; readonly cost: number };
  /** Static types of the arguments. */
  readonly types: readonly Type[];
}

/** `x in [constants]`: a look into a set, at no cost of its own. */
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

/** `accumulator + [element]` of the fold that owns the accumulator: may be done in place. */
export interface AppendPlan extends PlanBase {
  readonly op: 'append';
  readonly accumulator: LocalPlan;
  readonly addition: Plan;
}

/** `cel.@mapInsert(accumulator, …)`, in place as well. */
export interface InsertPlan extends PlanBase {
  readonly op: 'insert';
  readonly accumulator: LocalPlan;
  /** Key and value, or one map. */
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

/** A body with a lazy variable: its value is in `local.lazy`. */
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
  /** How many nodes it was made of. */
  readonly size: number;
  /** The names of the variables it reads. */
  readonly variables: readonly string[];
}
