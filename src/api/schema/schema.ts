/**
 * A schema with its OpenAPI form at run time and its TypeScript type at compile time.
 *
 * A field has one of three states of presence. A `required` field must be set. An `optional` field may be absent. A
 * `defaulted` field may be absent in a manifest; the API server sets its default, so that readers always find it. For
 * such fields the stored type (`Stored`) and the written type (`Written`) differ.
 */
import type { OpenApiSchema, ValidationRule } from './openapi.ts';

type Presence = 'required' | 'optional' | 'defaulted';

export class Schema<StoredType, WrittenType = StoredType, P extends Presence = 'required'> {
  readonly openapi: OpenApiSchema;
  readonly presence: P;
  /** For the compiler only: it does not exist at run time. */
  declare readonly stored: StoredType;
  declare readonly written: WrittenType;

  constructor(openapi: OpenApiSchema, presence: P) {
    this.openapi = openapi;
    this.presence = presence;
  }

  optional(): Schema<StoredType, WrittenType, 'optional'> {
    return new Schema(this.openapi, 'optional');
  }

  default(value: WrittenType): Schema<StoredType, WrittenType, 'defaulted'> {
    return new Schema({ ...this.openapi, default: value }, 'defaulted');
  }

  /** Adds CEL rules that OpenAPI cannot express. */
  rules(...rules: ValidationRule[]): Schema<StoredType, WrittenType, P> {
    const already = this.openapi['x-kubernetes-validations'] ?? [];
    return new Schema({ ...this.openapi, 'x-kubernetes-validations': [...already, ...rules] }, this.presence);
  }
}

const CEL_RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

type AnySchema = Schema<unknown, unknown, Presence>;
export type Fields = Readonly<Record<string, AnySchema>>;

/** The type of a value as the API server returns it, with defaults applied. */
export type Stored<S extends AnySchema> = S['stored'];
/** The type of a value as a user writes it. */
export type Written<S extends AnySchema> = S['written'];

type KeysWith<F extends Fields, P extends Presence> = {
  [K in keyof F]: F[K] extends Schema<unknown, unknown, P> ? K : never;
}[keyof F];
type Flat<T> = { [K in keyof T]: T[K] };

type StoredFields<F extends Fields> = Flat<
  { -readonly [K in KeysWith<F, 'required' | 'defaulted'>]: Stored<F[K]> } & {
    -readonly [K in KeysWith<F, 'optional'>]?: Stored<F[K]>;
  }
>;
type WrittenFields<F extends Fields> = Flat<
  { -readonly [K in KeysWith<F, 'required'>]: Written<F[K]> } & {
    -readonly [K in KeysWith<F, 'optional' | 'defaulted'>]?: Written<F[K]>;
  }
>;

interface TextBounds {
  maxLength: number;
  minLength?: number;
  pattern?: string;
}

/**
 * `text` is a string. It is always bounded: the API server estimates the cost of a rule from the longest possible
 * value.
 */
export function text(description: string, bounds: TextBounds): Schema<string> {
  return new Schema({ description, type: 'string', ...bounds }, 'required');
}

/**
 * `choice` is a string from a fixed list. It also has a maximum length, because API servers up to 1.28 do not derive
 * the cost of a rule from the list.
 */
export function choice<const Value extends string>(description: string, values: readonly Value[]): Schema<Value> {
  const maxLength = Math.max(...values.map((value) => value.length));
  return new Schema({ description, type: 'string', maxLength, enum: values }, 'required');
}

/** `instant` is a point in time such as `2026-01-31T12:00:00Z`. */
export function instant(description: string): Schema<string> {
  return new Schema({ description, type: 'string', format: 'date-time' }, 'required');
}

export function integer(description: string, bounds: { minimum: number; maximum: number }): Schema<number> {
  const format = bounds.maximum > 2_147_483_647 ? 'int64' : 'int32';
  return new Schema({ description, type: 'integer', format, ...bounds }, 'required');
}

/** `decimal` is a number that may have a fraction, such as a share between 0 and 1. */
export function decimal(description: string, bounds: { minimum: number; maximum: number }): Schema<number> {
  return new Schema({ description, type: 'number', ...bounds }, 'required');
}

export function boolean(description: string): Schema<boolean> {
  return new Schema({ description, type: 'boolean' }, 'required');
}

/**
 * `integerOrText` is a number or a string, like a quantity or a port. `minimum` applies to numbers, the other bounds to
 * strings.
 */
export function integerOrText(
  description: string,
  bounds: { minimum?: number; pattern?: string; maxLength: number },
): Schema<number | string> {
  return new Schema({ description, 'x-kubernetes-int-or-string': true, ...bounds }, 'required');
}

/** `anyObject` is an object of unknown shape. No field of it is pruned. */
export function anyObject(description: string): Schema<Record<string, unknown>> {
  return new Schema({ description, type: 'object', 'x-kubernetes-preserve-unknown-fields': true }, 'required');
}

export function object<const F extends Fields>(
  description: string,
  fields: F,
  options: { atomic?: boolean } = {},
): Schema<StoredFields<F>, WrittenFields<F>> {
  const required = Object.keys(fields).filter((name) => fields[name]?.presence === 'required');
  return new Schema(
    {
      description,
      type: 'object',
      ...(options.atomic ? { 'x-kubernetes-map-type': 'atomic' as const } : {}),
      ...(required.length > 0 ? { required } : {}),
      properties: Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.openapi])),
    },
    'required',
  );
}

/** `map` is an object with arbitrary keys and values of one schema. */
export function map<S, W>(
  description: string,
  values: Schema<S, W>,
  bounds: { maxProperties: number },
): Schema<Record<string, S>, Record<string, W>> {
  return new Schema({ description, type: 'object', ...bounds, additionalProperties: values.openapi }, 'required');
}

interface ListBounds {
  maxItems: number;
  minItems?: number;
}

/** `list` is an atomic list: server-side apply replaces it as a whole. */
export function list<S, W>(description: string, items: Schema<S, W>, bounds: ListBounds): Schema<S[], W[]> {
  return listOf(description, items, bounds, { 'x-kubernetes-list-type': 'atomic' });
}

/** `set` is a list without duplicates, merged entry by entry. */
export function set<S extends string | number>(description: string, items: Schema<S>, bounds: ListBounds): Schema<S[]> {
  return listOf(description, items, bounds, { 'x-kubernetes-list-type': 'set' });
}

/** `listByKey` is a list whose entries are identified by `keys` and merged entry by entry. */
export function listByKey<S extends object, W extends object>(
  description: string,
  keys: readonly (keyof S & string)[],
  items: Schema<S, W>,
  bounds: ListBounds,
): Schema<S[], W[]> {
  return listOf(description, items, bounds, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys });
}

function listOf<S, W>(
  description: string,
  items: Schema<S, W>,
  bounds: ListBounds,
  merge: Pick<OpenApiSchema, 'x-kubernetes-list-type' | 'x-kubernetes-list-map-keys'>,
): Schema<S[], W[]> {
  return new Schema({ description, type: 'array', ...merge, ...bounds, items: items.openapi }, 'required');
}

/**
 * `immutable` is the rule that a field keeps its value after creation. It belongs to the object that contains the
 * field: on the field itself it would not be evaluated when the field is added or removed.
 */
export function immutable(field: string, message: string): ValidationRule {
  const [now, before] = [`self.${escaped(field)}`, `oldSelf.${escaped(field)}`];
  return {
    rule: `has(${now}) == has(${before}) && (!has(${now}) || ${now} == ${before})`,
    message,
    fieldPath: `.${field}`,
    reason: 'FieldValueForbidden',
  };
}

/** `setOnce` is the rule that a field may be set later, but then keeps its value. */
export function setOnce(field: string, message: string): ValidationRule {
  const [now, before] = [`self.${escaped(field)}`, `oldSelf.${escaped(field)}`];
  return {
    rule: `!has(${before}) || (has(${now}) && ${now} == ${before})`,
    message,
    fieldPath: `.${field}`,
    reason: 'FieldValueForbidden',
  };
}

/** Escapes field names that are reserved words in CEL. */
function escaped(field: string): string {
  return CEL_RESERVED.has(field) ? `__${field}__` : field;
}
