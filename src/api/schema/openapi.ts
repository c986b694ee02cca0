/** The subset of OpenAPI v3 that structural schemas of CustomResourceDefinitions can use and that the kinds use. */

/** A CEL rule of `x-kubernetes-validations`. A rule that reads `oldSelf` is evaluated on updates only. */
export interface ValidationRule {
  rule: string;
  /** The message. It is all that the user sees, so it says what to do, not only what is wrong. */
  message: string;
  /** The path of the field that the API server reports, relative to the location of the rule, for example `.owner`. */
  fieldPath?: string;
  reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
}

export interface OpenApiSchema {
  description?: string;
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  /** `byte` is not used: for that format the API server does not check that the value is a string. */
  format?: 'int32' | 'int64' | 'date-time';
  default?: unknown;
  enum?: readonly string[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  required?: readonly string[];
  properties?: Readonly<Record<string, OpenApiSchema>>;
  additionalProperties?: OpenApiSchema;
  items?: OpenApiSchema;
  'x-kubernetes-int-or-string'?: true;
  'x-kubernetes-preserve-unknown-fields'?: true;
  'x-kubernetes-list-type'?: 'map' | 'set' | 'atomic';
  'x-kubernetes-list-map-keys'?: readonly string[];
  'x-kubernetes-map-type'?: 'atomic';
  'x-kubernetes-validations'?: readonly ValidationRule[];
}
