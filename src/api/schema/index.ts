/**
 * The schema language of the kinds.
 *
 * Input: fields with descriptions, bounds, defaults and rules. Output: one value that is the OpenAPI schema at run time
 * and the TypeScript type at compile time. This module does not know any kind.
 */
export type { OpenApiSchema, ValidationRule } from './openapi.ts';
export {
  anyObject,
  boolean,
  choice,
  decimal,
  type Fields,
  immutable,
  instant,
  integer,
  integerOrText,
  list,
  listByKey,
  map,
  object,
  Schema,
  type Stored,
  set,
  setOnce,
  text,
  type Written,
} from './schema.ts';
export { structuralViolations } from './structural.ts';
