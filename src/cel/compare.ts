/**
 * Equality and order of values. Between int and uint both are exact; an int or uint past 2^53 is compared with a
 * double as the nearest double, as cel-go does.
 */
import { equalMarked, listKind } from './lists.ts';
import { mapEntries, mapGet, mapSize } from './map.ts';
import { compareText } from './text.ts';
import {
  CelError,
  Double,
  Duration,
  isMap,
  noSuchOverload,
  OpaqueValue,
  Optional,
  StructValue,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './values.ts';

/**
 * `equal` implements `left == right`: values of different types are unequal, numbers are equal across int, uint and
 * double.
 */
export function equal(left: Value, right: Value): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || left === null) return equalNumbers(left, right);
  if (Array.isArray(left)) return Array.isArray(right) && equalLists(left, right);
  if (left instanceof Double || left instanceof Uint) return equalNumbers(left, right);
  if (typeof right !== 'object' || right === null) return false;
  if (isMap(left)) return isMap(right) && equalMaps(left, right);
  if (left instanceof Timestamp) {
    return right instanceof Timestamp && left.seconds === right.seconds && left.nanos === right.nanos;
  }
  if (left instanceof Duration) return right instanceof Duration && left.nanoseconds === right.nanoseconds;
  if (left instanceof Uint8Array) return right instanceof Uint8Array && compareBytes(left, right) === 0;
  if (left instanceof OpaqueValue) return left.equals(right);
  if (left instanceof TypeValue) return right instanceof TypeValue && left.name === right.name;
  if (left instanceof Optional) return right instanceof Optional && equalOptionals(left, right);
  if (left instanceof StructValue) {
    return right instanceof StructValue && left.typeName === right.typeName && equalMaps(left.fields, right.fields);
  }
  return false;
}

/** `equalOrError` implements the operator `==`: opaque types of Kubernetes fail for a value of another type. */
export function equalOrError(left: Value, right: Value): boolean | CelError {
  return left instanceof OpaqueValue && left.equalsOrError !== undefined
    ? left.equalsOrError(right)
    : equal(left, right);
}

function equalNumbers(left: Value, right: Value): boolean {
  const a = numeric(left);
  if (a === undefined) return false;
  const b = numeric(right);
  if (b === undefined) return false;
  return typeof a === typeof b ? a === b : Number(a) === Number(b);
}

function equalLists(left: readonly Value[], right: readonly Value[]): boolean {
  const kind = listKind(left);
  if (kind !== undefined) return equalMarked(left, right, kind, equal);
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) {
    if (!equal(left[index] as Value, right[index] as Value)) return false;
  }
  return true;
}

function equalMaps(left: Parameters<typeof mapSize>[0], right: Parameters<typeof mapSize>[0]): boolean {
  if (mapSize(left) !== mapSize(right)) return false;
  for (const [key, value] of mapEntries(left)) {
    const other = mapGet(right, key);
    if (other === undefined || !equal(value, other)) return false;
  }
  return true;
}

function equalOptionals(left: Optional, right: Optional): boolean {
  if (left.value === undefined || right.value === undefined) return left.value === right.value;
  return equal(left.value, right.value);
}

/** Returns the number of an int, uint or double. A bigint is never a safe integer, so different kinds round alike. */
function numeric(value: Value): number | bigint | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (value instanceof Uint || value instanceof Double) return value.value;
  return undefined;
}

/** `compare` returns a negative number, zero or a positive number; an error if the two values have no order. */
export function compare(left: Value, right: Value): number | CelError {
  if (typeof left === 'string') return typeof right === 'string' ? compareText(left, right) : noSuchOverload();
  if (typeof left === 'boolean') return typeof right === 'boolean' ? Number(left) - Number(right) : noSuchOverload();
  const a = numeric(left);
  if (a !== undefined) return compareNumbers(a, numeric(right));
  if (left instanceof Timestamp) {
    if (!(right instanceof Timestamp)) return noSuchOverload();
    return left.seconds - right.seconds || left.nanos - right.nanos;
  }
  if (left instanceof Duration) {
    if (!(right instanceof Duration)) return noSuchOverload();
    return left.nanoseconds < right.nanoseconds ? -1 : left.nanoseconds > right.nanoseconds ? 1 : 0;
  }
  if (left instanceof Uint8Array) return right instanceof Uint8Array ? compareBytes(left, right) : noSuchOverload();
  if (left instanceof OpaqueValue && left.compare !== undefined) return left.compare(right);
  return noSuchOverload();
}

function compareNumbers(left: number | bigint, right: number | bigint | undefined): number | CelError {
  if (right === undefined) return noSuchOverload();
  if (typeof left !== typeof right) return compareNumbers(Number(left), Number(right));
  if (left < right) return -1;
  if (left > right) return 1;
  return left === right ? 0 : new CelError('invalid_argument', 'NaN values cannot be ordered');
}

function compareBytes(left: Uint8Array, right: Uint8Array): number {
  return Buffer.compare(left, right);
}
