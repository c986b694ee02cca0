/**
 * The Common Expression Language over JSON, with the semantics, functions and costs of Kubernetes 1.36.
 *
 * Stability: beta. Everything that this file exports follows semantic versioning from 1.0.0 on. Until then a minor
 * release may change it, and the changelog lists each change. Error messages follow cel-go and may change with it;
 * error codes do not.
 *
 * Input: the source of an expression, an environment (typed variables and function libraries) and values. Output: a
 * value, or an error as a value, with its position in the source and its cost. This module does not know policies,
 * Kubernetes objects or any other module of this project.
 *
 *     import { compile, environment, types } from 'kidp/cel';
 *
 *     const env = environment('kubernetes-1.36', { variables: { object: types.DYN } });
 *     const compiled = compile('object.spec.replicas <= 5', env);
 *     if (compiled.evaluate === undefined) throw new Error(compiled.message);
 *     console.log(compiled.evaluate({ object: { spec: { replicas: 3 } } })); // true
 */

// Expressions: parse, check, compile and evaluate them.

export { type Checked, type CheckResult, check, type Reference } from './check/checker.ts';
export { type Compiled, type CompileOptions, compile, type Rejected } from './compile.ts';
export { type Parsed, type ParseOptions, parse } from './parse/parser.ts';
export { type Budget, DEFAULT_COST_LIMIT, type Evaluate } from './run/evaluate.ts';
export type { Variables } from './run/frame.ts';
export { formatIssues, type Issue, type IssueCode, type Position, Source } from './source.ts';

// Environments: the variables, types and functions that an expression may use.

export {
  type CallEstimate,
  type CallValidator,
  type EstimateNode,
  type FunctionDeclaration,
  fn,
  type Implementation,
  type Library,
  type Macro,
  type MacroBuilder,
  member,
  type Overload,
  overload,
  type Range,
  type RuntimeCost,
  type StaticCost,
  UNBOUNDED,
} from './declarations.ts';
export { Environment, type LanguageOptions, type ObjectType, type TypeProvider } from './environment.ts';
export { type EnvironmentAdditions, type EnvironmentName, environment } from './environments.ts';
export type { Type } from './types.ts';
export * as types from './types.ts';

// Values: JSON and the types that JSON does not have.

export { compare, equal } from './compare.ts';
export { DecodeError, type DecodeOptions, decodeJson } from './decode.ts';
export { hostValue, trust } from './host.ts';
export { mapEntries, mapGet, mapHas, mapKeys, mapOf, mapSize } from './map.ts';
export { show } from './show.ts';
export {
  CelError,
  CelMap,
  Double,
  Duration,
  double,
  doubleOf,
  type ErrorCode,
  HostObject,
  INT_MAX,
  INT_MIN,
  int,
  isInt,
  isMap,
  type JsonMap,
  NonValue,
  noSuchOverload,
  OpaqueValue,
  Optional,
  type Result,
  StructValue,
  Timestamp,
  TypeValue,
  typeOf,
  UINT_MAX,
  Uint,
  Unknown,
  uint,
  type Value,
} from './values.ts';

// Analysis: explanation, worst-case cost, the fields that an expression reads, canonical source.

export { estimate, type SizeBounds } from './cost/estimate.ts';
export { type ExplainOptions, type Explanation, explain, type Step } from './explain.ts';
export { format, literal } from './format.ts';
export { type Read, reads } from './reads.ts';

// Variables that are expressions, computed when they are first read (`variables.x` of a policy).

export { ComposedVariables, compose, composedType, withComposed } from './compose.ts';

// Types and cost bounds from OpenAPI v3 schemas, as CRDs and Kubernetes publish them.

export type { Schema } from './schema/schema.ts';
export { type SchemaOptions, type SchemaTypes, typesFromSchema } from './schema/types.ts';

// The `authorizer` variable of admission policies: the host answers its questions.

export {
  type AuthorizationAnswer,
  type AuthorizationAttributes,
  type AuthorizationHost,
  Authorizer,
  type PathAttributes,
  type ResourceAttributes,
  ResourceCheck,
} from './library/index.ts';

// Syntax trees.

export {
  type Call,
  type Comprehension,
  children,
  type Expr,
  type Identifier,
  type ListLiteral,
  type Literal,
  type MapEntry,
  type MapLiteral,
  type Select,
  type StructField,
  type StructLiteral,
  walk,
} from './ast.ts';
