/**
 * Type-checks policies against schemas.
 *
 * Input: the model of a policy and schemas from any source. Output: type errors with position and suggestions, the
 * matched types, and the cost. It does not know how a policy is evaluated.
 */
export { kubernetesSchemas } from './kubernetes-schemas.ts';
export { openApiSchemas } from './openapi-schemas.ts';
export { combineSchemas, crdSchemas, platformSchemas, type SchemaKind, type SchemaSource } from './schemas.ts';
export { type TypeCheckReport, typeCheck, typeCheckPolicy, typeCheckSteps } from './typecheck.ts';
