/**
 * Policies against schemas.
 *
 * In: the model of a policy, and schemas from wherever they can be had. Out: what does not fit, with the place and the
 * nearest field; which types it matches; what it costs. It must not know how a policy is evaluated.
 */
export { kubernetesSchemas } from './kubernetes-schemas.ts';
export { openApiSchemas } from './openapi-schemas.ts';
export { combineSchemas, crdSchemas, platformSchemas, type SchemaKind, type SchemaSource } from './schemas.ts';
export { type TypeCheckReport, typeCheck, typeCheckPolicy } from './typecheck.ts';
