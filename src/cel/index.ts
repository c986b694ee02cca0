/**
 * The Common Expression Language over JSON, as Kubernetes 1.36 speaks it.
 *
 * In: the source of an expression, an environment (variables with their types, function libraries), and values.
 * Out: a value or an error as a value, each with its place in the source and what it cost.
 * It must not know policies, Kubernetes objects, or any other room: the Kubernetes function libraries under
 * `library/` are functions like any other.
 *
 *     const env = environment('kubernetes-1.36', { variables: { object: types.DYN } });
 *     const compiled = compile('object.spec.replicas <= 5', env);
 *     if (compiled.evaluate === undefined) throw new Error(compiled.message);
 *     compiled.evaluate({ object });
 *
 * What a host builds on it with:
 * - one budget for many evaluations, and a way to stop them: `Budget`, the second argument of `evaluate`;
 * - variables that are expressions, computed when they are first read (`variables.x`): compose.ts;
 * - variables that the host computes when they are first read, and data it need not have looked at: `trust`;
 * - which variables and fields an expression reads: `reads`; any other question to its tree: `walk`, `children`;
 * - types from the schemas of Kubernetes and CRDs: `typesFromSchema`, and the worst cost by them: `estimate`;
 * - why an answer is what it is: `explain`;
 * - texts read as Go and Kubernetes read them: names, URLs, addresses, durations.
 */
export * from './ast.ts';
export { type Checked, type CheckResult, check, type Reference } from './check/checker.ts';
export { nearest } from './check/suggest.ts';
export { BATCH_COST_LIMIT, type Batch, batches, prepareForBatch } from './codegen/batch.ts';
export { codeAllowed, generate } from './codegen/index.ts';
export { compare, equal } from './compare.ts';
export { type Compiled, type CompileOptions, compile, type Rejected } from './compile.ts';
export { ComposedVariables, compose, composedType, withComposed } from './compose.ts';
export { estimate, type SizeBounds } from './cost/estimate.ts';
export * from './declarations.ts';
export { DecodeError, type DecodeOptions, decodeJson } from './decode.ts';
export { Environment, type LanguageOptions, type ObjectType, type TypeProvider } from './environment.ts';
export { type EnvironmentAdditions, type EnvironmentName, environment, mutationTypes } from './environments.ts';
export { type ExplainOptions, type Explanation, explain, pathOf, type Step } from './explain.ts';
export { format, literal } from './format.ts';
export { hostValue, trust } from './host.ts';
export * from './library/index.ts';
export * from './library/kubernetes/name-rules.ts';
export { toBytes, UrlProblem } from './library/kubernetes/url/escape.ts';
export { parseRequestUri } from './library/kubernetes/url/parse.ts';
export { parseAddress } from './library/net/address.ts';
export { mapEntries, mapGet, mapHas, mapKeys, mapOf, mapSize } from './map.ts';
export { type Parsed, type ParseOptions, parse } from './parse/parser.ts';
export { type Read, reads } from './reads.ts';
export { type Budget, DEFAULT_COST_LIMIT, type Evaluate } from './run/evaluate.ts';
export type { Variables } from './run/frame.ts';
export { escapeProperty } from './schema/escape.ts';
export type { Schema } from './schema/schema.ts';
export { type SchemaOptions, type SchemaTypes, typesFromSchema } from './schema/types.ts';
export { trustedBySchema, valueBySchema } from './schema/values.ts';
export { show } from './show.ts';
export { formatIssues, type Issue, type IssueCode, type Position, Source } from './source.ts';
export { parseAnyDuration } from './time/any-duration.ts';
export type { Type } from './types.ts';
export * as types from './types.ts';
export * from './values.ts';
