/**
 * A structural schema of a CustomResourceDefinition, as the comparison, the validator and the sample generator use it.
 */
import type { Schema } from '../cel/index.ts';

export interface ValidationRule {
  readonly rule: string;
  readonly message?: string;
  readonly messageExpression?: string;
  readonly reason?: string;
  readonly fieldPath?: string;
  readonly optionalOldSelf?: boolean;
}

export interface CrdSchema extends Schema {
  readonly properties?: Readonly<Record<string, CrdSchema>>;
  readonly additionalProperties?: boolean | CrdSchema;
  readonly items?: CrdSchema;
  readonly description?: string;
  readonly title?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly allOf?: readonly CrdSchema[];
  readonly anyOf?: readonly CrdSchema[];
  readonly oneOf?: readonly CrdSchema[];
  readonly not?: CrdSchema;
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-validations'?: readonly ValidationRule[];
}
