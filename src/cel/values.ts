/**
 * The values of CEL at run time. This is the contract between the language, its function libraries and the host.
 *
 * | CEL       | here                                                                                             |
 * |-----------|--------------------------------------------------------------------------------------------------|
 * | null      | `null`                                                                                           |
 * | bool      | `boolean`                                                                                        |
 * | int       | a `number` for which `Number.isSafeInteger` holds; past that a `bigint`, never a safe one        |
 * | uint      | `Uint`, whose `value` follows the rule of int                                                    |
 * | double    | any other `number` (fractions, NaN, infinities, huge ones); a safe integral one (or -0) is boxed |
 * |           | in `Double`. Make one with `double(n)`, read one with `doubleOf(value)`                          |
 * | string    | `string`; sizes and indices count code points, see text.ts                                       |
 * | bytes     | `Uint8Array`                                                                                     |
 * | list      | array                                                                                            |
 * | map       | an object of JSON (prototype Object.prototype or null): own properties only. `CelMap` where a    |
 * |           | key is not a string. Read both with map.ts                                                       |
 * | timestamp | `Timestamp`; duration: `Duration`                                                                |
 * | type      | `TypeValue`; optional: `Optional`                                                                |
 * | others    | subclasses of `OpaqueValue` (quantity, ip, url …); `StructValue` for `Object{…}`, `JSONPatch{…}` |
 *
 * Errors and unknowns are values too (`CelError`, `Unknown`, both `NonValue`): nothing on the way to an answer throws.
 * Functions get values only (never a NonValue) and answer with a value or an error. Values are never mutated.
 */
import { CelError, type NonValue } from './errors.ts';

export * from './errors.ts';

export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint
  | Double
  | Uint8Array
  | readonly Value[]
  | JsonMap
  | CelMap
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | OpaqueValue
  | StructValue;

/** A map with string keys. Read it through map.ts: a name like `constructor` must not reach the prototype. */
export interface JsonMap {
  readonly [key: string]: Value;
}

/** A value, an error or an unknown. */
export type Result = Value | NonValue;

export class Uint {
  readonly value: number | bigint;
  constructor(value: number | bigint) {
    this.value = value;
  }
}

/** A double whose number would otherwise read as an int. Use `double()` to make one. */
export class Double {
  readonly value: number;
  constructor(value: number) {
    this.value = value;
  }
}

/**
 * Seconds since 1970 and 0…999,999,999 nanoseconds, from year 1 to 9999. `zone` is the offset from UTC in seconds that
 * the text had: only `string()` shows it, and comparisons ignore it.
 */
export class Timestamp {
  readonly seconds: number;
  readonly nanos: number;
  readonly zone: number;
  constructor(seconds: number, nanos: number, zone = 0) {
    this.seconds = seconds;
    this.nanos = nanos;
    this.zone = zone;
  }
}

/** Nanoseconds in the range of int64, as in Go. */
export class Duration {
  readonly nanoseconds: bigint;
  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds;
  }
}

export class Optional {
  static readonly none = new Optional(undefined);
  readonly value: Value | undefined;
  constructor(value: Value | undefined) {
    this.value = value;
  }
}

/** A type as a value. Types are equal by name: parameters are erased at run time. */
export class TypeValue {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/**
 * The base class of values that only a library understands. A subclass names its type and defines equality; with
 * `compare` it has an order (for `isSorted`, `sort`), and with `size` a size for costs.
 */
export abstract class OpaqueValue {
  abstract readonly type: TypeValue;
  /** `other` may have any type. */
  abstract equals(other: Value): boolean;
  /** Like `equals`, for types whose `==` is an error for some operands; inside lists and maps these are unequal. */
  equalsOrError?(other: Value): boolean | CelError;
  compare?(other: Value): number | CelError;
  /** Go's traits.Sizer: the size of this value in the cost of a call. */
  size?(): number;
  /** The text in explanations and error messages. */
  abstract toString(): string;
}

/** A message constructed by an expression: `Object.spec{replicas: 1}`, `JSONPatch{op: "add"}`. */
export class StructValue {
  readonly typeName: string;
  readonly fields: JsonMap;
  constructor(typeName: string, fields: JsonMap) {
    this.typeName = typeName;
    this.fields = fields;
  }
}

/**
 * A host object whose fields are computed on access, such as a policy's `variables`.
 * `field` returns undefined for an absent field, and may return an error.
 */
export abstract class HostObject extends OpaqueValue {
  abstract field(name: string): Value | NonValue | undefined;
  abstract has(name: string): boolean | NonValue;
  equals(other: Value): boolean {
    return this === other;
  }
}

/** A map in which some key is not a string. Keys are bool, int, uint or string; 1, 1u and 1.0 find the same entry. */
export class CelMap {
  readonly #entries: ReadonlyMap<string | number | bigint | boolean, readonly [Value, Value]>;

  constructor(entries: Iterable<readonly [Value, Value]>) {
    const map = new Map<string | number | bigint | boolean, readonly [Value, Value]>();
    for (const entry of entries) {
      const key = normalKey(entry[0]);
      if (key !== undefined) map.set(key, entry);
    }
    this.#entries = map;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value): Value | undefined {
    const normal = normalKey(key);
    return normal === undefined ? undefined : this.#entries.get(normal)?.[1];
  }

  has(key: Value): boolean {
    const normal = normalKey(key);
    return normal !== undefined && this.#entries.has(normal);
  }

  *keys(): IterableIterator<Value> {
    for (const [key] of this.#entries.values()) yield key;
  }

  entries(): IterableIterator<readonly [Value, Value]> {
    return this.#entries.values();
  }
}

/** Normalizes keys that are equal in CEL; undefined for values that cannot be keys. */
function normalKey(key: Value): string | number | bigint | boolean | undefined {
  switch (typeof key) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return key;
    case 'number':
      return numericKey(key);
    default:
      if (key instanceof Uint) return key.value;
      if (key instanceof Double) return numericKey(key.value);
      return undefined;
  }
}

function numericKey(number: number): number | bigint | undefined {
  if (Number.isSafeInteger(number)) return number + 0;
  return Number.isInteger(number) ? BigInt(number) : undefined;
}

// ---- constructors --------------------------------------------------------------------------------------------

export const INT_MIN = -(2n ** 63n);
export const INT_MAX = 2n ** 63n - 1n;
export const UINT_MAX = 2n ** 64n - 1n;

/** `double` returns `number` as a double value: boxed if the bare number would be an int. */
export function double(number: number): number | Double {
  return Number.isSafeInteger(number) ? new Double(number) : number;
}

/** `doubleOf` returns the number of a double value, or undefined for other values. */
export function doubleOf(value: Result): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? undefined : value;
  return value instanceof Double ? value.value : undefined;
}

export function isInt(value: Result): value is number | bigint {
  return typeof value === 'number' ? Number.isSafeInteger(value) : typeof value === 'bigint';
}

/** `int` returns `big` as an int value, or an overflow error if it is outside int64. */
export function int(big: bigint): number | bigint | CelError {
  if (big >= -9007199254740991n && big <= 9007199254740991n) return Number(big);
  return big < INT_MIN || big > INT_MAX ? new CelError('overflow', 'integer overflow') : big;
}

export function uint(big: bigint): Uint | CelError {
  if (big >= 0n && big <= 9007199254740991n) return new Uint(Number(big));
  return big < 0n || big > UINT_MAX ? new CelError('overflow', 'unsigned integer overflow') : new Uint(big);
}

// ---- inspection ----------------------------------------------------------------------------------------------

export function isMap(value: Result): value is JsonMap | CelMap {
  if (typeof value !== 'object' || value === null) return false;
  if (value instanceof CelMap) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

const TYPES = {
  null: new TypeValue('null_type'),
  bool: new TypeValue('bool'),
  int: new TypeValue('int'),
  uint: new TypeValue('uint'),
  double: new TypeValue('double'),
  string: new TypeValue('string'),
  bytes: new TypeValue('bytes'),
  list: new TypeValue('list'),
  map: new TypeValue('map'),
  timestamp: new TypeValue('google.protobuf.Timestamp'),
  duration: new TypeValue('google.protobuf.Duration'),
  type: new TypeValue('type'),
  optional: new TypeValue('optional_type'),
  /** A host object of any other type: a class instance, a function, a symbol, undefined. */
  foreign: new TypeValue('foreign'),
} as const;

/** `typeOf` returns the type of a value, like `type(x)`. */
export function typeOf(value: Value): TypeValue {
  switch (typeof value) {
    case 'boolean':
      return TYPES.bool;
    case 'number':
      return Number.isSafeInteger(value) ? TYPES.int : TYPES.double;
    case 'bigint':
      return TYPES.int;
    case 'string':
      return TYPES.string;
    case 'object':
      return typeOfObject(value);
    default:
      return TYPES.foreign;
  }
}

function typeOfObject(value: object | null): TypeValue {
  if (value === null) return TYPES.null;
  if (Array.isArray(value)) return TYPES.list;
  if (isMap(value as Value)) return TYPES.map;
  if (value instanceof Double) return TYPES.double;
  if (value instanceof Uint) return TYPES.uint;
  if (value instanceof Timestamp) return TYPES.timestamp;
  if (value instanceof Duration) return TYPES.duration;
  if (value instanceof Uint8Array) return TYPES.bytes;
  if (value instanceof Optional) return TYPES.optional;
  if (value instanceof TypeValue) return TYPES.type;
  if (value instanceof OpaqueValue) return value.type;
  if (value instanceof StructValue) return new TypeValue(value.typeName);
  return TYPES.foreign;
}
