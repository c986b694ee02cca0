/**
 * A schema that is written once: it carries its OpenAPI form at run time and its TypeScript type at compile time.
 *
 * A field is in one of three states of presence. `required` must be written. `optional` may be absent. `defaulted` may be
 * absent when written, but the API server fills it in, so that whoever reads the object always finds it: the type as
 * stored (`Stored`) and the type as written (`Written`) differ there.
 */
import type { OpenApiSchema, ValidationRule } from './openapi.ts';

type Presence = 'required' | 'optional' | 'defaulted';

export class Schema<StoredType, WrittenType = StoredType, P extends Presence = 'required'> {
  readonly openapi: OpenApiSchema;
  readonly presence: P;
  /** Only for the compiler: nothing is there at run time. */
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

  /** Rules that OpenAPI cannot say, in CEL. */
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

/** The type of a value as the API server returns it, defaults filled in. */
export type Stored<S extends AnySchema> = S['stored'];
/** The type of a value as a user may write it. */
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

/** A string. It is always bounded: the API server prices a rule by the longest value that it could meet. */
export function text(description: string, bounds: TextBounds): Schema<string> {
  return new Schema({ description, type: 'string', ...bounds }, 'required');
}

/** A string out of a closed list. Its length is said as well: older API servers (1.28) do not price a rule by the list. */
export function choice<const Value extends string>(description: string, values: readonly Value[]): Schema<Value> {
  const maxLength = Math.max(...values.map((value) => value.length));
  return new Schema({ description, type: 'string', maxLength, enum: values }, 'required');
}

/** An instant such as `2026-01-31T12:00:00Z`. */
export function instant(description: string): Schema<string> {
  return new Schema({ description, type: 'string', format: 'date-time' }, 'required');
}

export function integer(description: string, bounds: { minimum: number; maximum: number }): Schema<number> {
  const format = bounds.maximum > 2_147_483_647 ? 'int64' : 'int32';
  return new Schema({ description, type: 'integer', format, ...bounds }, 'required');
}

/** A number that may have a fraction, such as a share between 0 and 1. */
export function decimal(description: string, bounds: { minimum: number; maximum: number }): Schema<number> {
  return new Schema({ description, type: 'number', ...bounds }, 'required');
}

export function boolean(description: string): Schema<boolean> {
  return new Schema({ description, type: 'boolean' }, 'required');
}

/** A number or a string, as quantities and ports are: `minimum` is for the one, the other bounds are for the other. */
export function integerOrText(
  description: string,
  bounds: { minimum?: number; pattern?: string; maxLength: number },
): Schema<number | string> {
  return new Schema({ description, 'x-kubernetes-int-or-string': true, ...bounds }, 'required');
}

/** An object of a shape that is not ours to know. Nothing in it is dropped. */
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

/** Keys that the user chooses, all with values of one shape. */
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

/** A list that belongs to one writer as a whole: server-side apply replaces it, never merges it. */
export function list<S, W>(description: string, items: Schema<S, W>, bounds: ListBounds): Schema<S[], W[]> {
  return listOf(description, items, bounds, { 'x-kubernetes-list-type': 'atomic' });
}

/** A list without duplicates, merged entry by entry. */
export function set<S extends string | number>(description: string, items: Schema<S>, bounds: ListBounds): Schema<S[]> {
  return listOf(description, items, bounds, { 'x-kubernetes-list-type': 'set' });
}

/** A list whose entries are told apart by `keys`, merged entry by entry. */
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
 * The rule that a field keeps its value from creation on. It stands on the object that holds the field, because there it
 * also sees the field being removed or added later; on the field itself it would not be asked in those two cases.
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

/** The rule that a field may be filled in later, but then keeps its value. */
export function setOnce(field: string, message: string): ValidationRule {
  const [now, before] = [`self.${escaped(field)}`, `oldSelf.${escaped(field)}`];
  return {
    rule: `!has(${before}) || (has(${now}) && ${now} == ${before})`,
    message,
    fieldPath: `.${field}`,
    reason: 'FieldValueForbidden',
  };
}

/** Words that CEL keeps for itself stand in underscores where they are names of fields. */
function escaped(field: string): string {
  return CEL_RESERVED.has(field) ? `__${field}__` : field;
}
