/**
 * `+ - * / %` and negation for all types: numbers with overflow checks, strings, bytes, lists and times. The path for
 * two safe ints comes first; generated code has it inline and calls these functions for the rest.
 */
import { equal } from '../compare.ts';
import { listKind, mergeMarked } from '../lists.ts';
import { addTime, durationOf, subtractTime, timeBetween } from '../time/values.ts';
import {
  CelError,
  Double,
  Duration,
  double,
  doubleOf,
  int,
  isInt,
  noSuchOverload,
  Timestamp,
  Uint,
  uint,
  type Value,
} from '../values.ts';

type Binary = (left: Value, right: Value) => Value | CelError;

const divideByZero = (): CelError => new CelError('divide_by_zero', 'division by zero');
const modulusByZero = (): CelError => new CelError('divide_by_zero', 'modulus by zero');

export const add: Binary = (left, right) => {
  if (typeof left === 'string') return typeof right === 'string' ? left + right : noSuchOverload();
  if (typeof left === 'number' && typeof right === 'number') {
    const sum = left + right;
    if (Number.isSafeInteger(left) && Number.isSafeInteger(right)) {
      return Number.isSafeInteger(sum) ? sum : int(BigInt(left) + BigInt(right));
    }
  }
  if (Array.isArray(left)) return Array.isArray(right) ? addLists(left, right) : noSuchOverload();
  if (left instanceof Uint8Array) {
    return right instanceof Uint8Array ? new Uint8Array(Buffer.concat([left, right])) : noSuchOverload();
  }
  if (left instanceof Duration) {
    if (right instanceof Duration) return durationOf(left.nanoseconds + right.nanoseconds);
    return right instanceof Timestamp ? addTime(right, left.nanoseconds) : noSuchOverload();
  }
  if (left instanceof Timestamp) {
    return right instanceof Duration ? addTime(left, right.nanoseconds) : noSuchOverload();
  }
  return numbers(
    left,
    right,
    (a, b) => a + b,
    (a, b) => a + b,
  );
};

function addLists(left: readonly Value[], right: readonly Value[]): readonly Value[] {
  const kind = listKind(left);
  return kind === undefined ? left.concat(right) : mergeMarked(left, right, kind, equal);
}

export const subtract: Binary = (left, right) => {
  if (typeof left === 'number' && typeof right === 'number') {
    const difference = left - right;
    if (Number.isSafeInteger(left) && Number.isSafeInteger(right)) {
      return Number.isSafeInteger(difference) ? difference : int(BigInt(left) - BigInt(right));
    }
  }
  if (left instanceof Timestamp) {
    if (right instanceof Timestamp) return timeBetween(left, right);
    return right instanceof Duration ? subtractTime(left, right.nanoseconds) : noSuchOverload();
  }
  if (left instanceof Duration) {
    return right instanceof Duration ? durationOf(left.nanoseconds - right.nanoseconds) : noSuchOverload();
  }
  return numbers(
    left,
    right,
    (a, b) => a - b,
    (a, b) => a - b,
  );
};

export const multiply: Binary = (left, right) => {
  if (typeof left === 'number' && typeof right === 'number') {
    const product = left * right;
    if (Number.isSafeInteger(left) && Number.isSafeInteger(right)) {
      // 0 times a negative number is -0; as an int it is 0.
      return Number.isSafeInteger(product) ? product + 0 : int(BigInt(left) * BigInt(right));
    }
  }
  return numbers(
    left,
    right,
    (a, b) => a * b,
    (a, b) => a * b,
  );
};

export const divide: Binary = (left, right) => {
  if (isInt(left) && isInt(right)) {
    // biome-ignore lint/suspicious/noDoubleEquals: 0 and 0n alike
    if (right == 0) return divideByZero();
    if (typeof left === 'number' && typeof right === 'number') return Math.trunc(left / right) + 0;
  }
  if (left instanceof Uint && right instanceof Uint && Number(right.value) === 0) return divideByZero();
  return numbers(
    left,
    right,
    (a, b) => a / b,
    (a, b) => a / b,
  );
};

export const modulo: Binary = (left, right) => {
  if (isInt(left) && isInt(right)) {
    // biome-ignore lint/suspicious/noDoubleEquals: 0 and 0n alike
    if (right == 0) return modulusByZero();
    if (typeof left === 'number' && typeof right === 'number') return (left % right) + 0;
    const [a, b] = [BigInt(left), BigInt(right)];
    // Go overflows for the minimum int modulo -1, and cel-go reports that as an error.
    return a === -(2n ** 63n) && b === -1n ? new CelError('overflow', 'integer overflow') : int(a % b);
  }
  if (left instanceof Uint && right instanceof Uint) {
    return Number(right.value) === 0 ? modulusByZero() : uint(BigInt(left.value) % BigInt(right.value));
  }
  return noSuchOverload();
};

export function negate(value: Value): Value | CelError {
  if (isInt(value)) return typeof value === 'number' ? 0 - value : int(-value);
  const number = doubleOf(value);
  if (number !== undefined) return double(-number);
  return value instanceof Duration ? durationOf(-value.nanoseconds) : noSuchOverload();
}

/** Both operands must be int, uint or double; other combinations have no overload. */
function numbers(
  left: Value,
  right: Value,
  whole: (a: bigint, b: bigint) => bigint,
  real: (a: number, b: number) => number,
): Value | CelError {
  if (isInt(left)) return isInt(right) ? int(whole(BigInt(left), BigInt(right))) : noSuchOverload();
  if (left instanceof Uint) {
    return right instanceof Uint ? uint(whole(BigInt(left.value), BigInt(right.value))) : noSuchOverload();
  }
  if (typeof left !== 'number' && !(left instanceof Double)) return noSuchOverload();
  const a = doubleOf(left);
  const b = doubleOf(right);
  return a === undefined || b === undefined ? noSuchOverload() : double(real(a, b));
}
