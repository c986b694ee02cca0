/** The part of OpenAPI v3 that a structural schema of a CustomResourceDefinition may use, and that we do use. */

/** A CEL rule of `x-kubernetes-validations`. One that reads `oldSelf` is judged on updates only. */
export interface ValidationRule {
  rule: string;
  /** What to do, not only what is wrong: this is all that the user sees. */
  message: string;
  /** Relative to where the rule stands, for example `.owner`: the field that the API server names in its answer. */
  fieldPath?: string;
  reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
}

export interface OpenApiSchema {
  description?: string;
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  /** Not `byte`: of a string with that format the API server does not check that it is a string. */
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
