/** The list functions of Kubernetes: isSorted, sum, min, max, indexOf, lastIndexOf. */
import { compare, equal } from '../../compare.ts';
import { traversalCost } from '../../cost/size.ts';
import { fn, type Library, member, type Overload, type RuntimeCost, type StaticCost } from '../../declarations.ts';
import { addTime } from '../../time/values.ts';
import { BOOL, DOUBLE, DURATION, INT, list, parameter, type Type, UINT } from '../../types.ts';
import {
  CelError,
  Double,
  Duration,
  double,
  doubleOf,
  INT_MAX,
  INT_MIN,
  int,
  invalidArgument,
  isInt,
  noSuchOverload,
  Timestamp,
  Uint,
  uint,
  type Value,
} from '../../values.ts';
import { add, estimate, multiply, ONE, scale, sizeOfNode } from '../estimate.ts';
import { COMPARABLE, isComparable } from '../list-functions.ts';

type List = readonly Value[];

const A = parameter('A');

/** One traversal of the receiver for every overload, including indexOf on a string. */
export const walkCost: RuntimeCost = ([target]) => (target === undefined ? 0 : traversalCost(target));

/** One per element, plus a traversal of each element for strings and bytes. */
export const walkEstimate: StaticCost = (target) => {
  if (target === undefined) return undefined;
  const size = sizeOfNode(target);
  if (target.type.parameters.length === 0) return estimate(scale(size, 0.1));
  const element = target.element();
  const kind = element?.type.kind ?? target.type.parameters[0]?.kind;
  const each = kind === 'string' || kind === 'bytes' ? add(ONE, scale(sizeOfNode(element), 0.1)) : ONE;
  return estimate(multiply(size, each));
};

const costs = { cost: walkCost, estimate: walkEstimate };

export const lists: Library = {
  name: 'kubernetes.lists',
  functions: [
    fn(
      'isSorted',
      comparableOverloads((name) => `list_${name}_is_sorted_bool`, isSorted, BOOL),
    ),
    fn('sum', [
      member('list_int_sum_int', [list(INT)], INT, sumInts, costs),
      member('list_uint_sum_uint', [list(UINT)], UINT, sumUints, costs),
      member('list_double_sum_double', [list(DOUBLE)], DOUBLE, sumDoubles, costs),
      member('list_duration_sum_duration', [list(DURATION)], DURATION, sumDurations, costs),
    ]),
    fn(
      'max',
      comparableOverloads(
        (name) => `list_${name}_max_${name}`,
        (of) => extreme('max', of),
      ),
    ),
    fn(
      'min',
      comparableOverloads(
        (name) => `list_${name}_min_${name}`,
        (of) => extreme('min', of),
      ),
    ),
    fn('indexOf', [
      member(
        'list_a_index_of_int',
        [list(A), A],
        INT,
        (of: List, item: Value) => of.findIndex((each) => equal(each, item)),
        costs,
      ),
    ]),
    fn('lastIndexOf', [
      member(
        'list_a_last_index_of_int',
        [list(A), A],
        INT,
        (of: List, item: Value) => of.findLastIndex((each) => equal(each, item)),
        costs,
      ),
    ]),
  ],
};

function comparableOverloads(
  id: (name: string) => string,
  implementation: (of: List) => Value | CelError,
  result?: Type,
): readonly Overload[] {
  return COMPARABLE.map(({ name, type }) => member(id(name), [list(type)], result ?? type, implementation, costs));
}

function isSorted(of: List): boolean | CelError {
  let previous: Value | undefined;
  for (const each of of) {
    if (!isComparable(each)) return noSuchOverload('isSorted');
    if (previous !== undefined) {
      const order = compare(previous, each);
      // Two elements without an order do not count as unsorted.
      if (!(order instanceof CelError) && order > 0) return false;
    }
    previous = each;
  }
  return true;
}

function extreme(name: 'min' | 'max', of: List): Value | CelError {
  let found: Value | undefined;
  for (const each of of) {
    if (!isComparable(each)) return noSuchOverload(name);
    if (found === undefined) {
      found = each;
      continue;
    }
    const order = compare(found, each);
    if (!(order instanceof CelError) && (name === 'min' ? order > 0 : order < 0)) found = each;
  }
  return found === undefined ? invalidArgument(`${name} called on empty list`) : found;
}

function sumInts(of: List): Value | CelError {
  let total: number | bigint = 0;
  for (const each of of) {
    if (!isInt(each)) return noSuchOverload('sum');
    if (typeof total === 'number' && typeof each === 'number' && Number.isSafeInteger(total + each)) {
      total += each;
      continue;
    }
    // Go adds element by element, so an intermediate overflow is an error even if the final sum would be in range.
    const sum: number | bigint | CelError = int(BigInt(total) + BigInt(each));
    if (sum instanceof CelError) return sum;
    total = sum;
  }
  return total;
}

function sumUints(of: List): Value | CelError {
  let total = 0n;
  for (const each of of) {
    if (!(each instanceof Uint)) return noSuchOverload('sum');
    total += BigInt(each.value);
  }
  return uint(total);
}

function sumDoubles(of: List): Value | CelError {
  let total = 0;
  for (const each of of) {
    const number = each instanceof Double ? each.value : doubleOf(each);
    if (number === undefined) return noSuchOverload('sum');
    total += number;
  }
  return double(total);
}

/** A duration plus a timestamp is a timestamp, so the sum may contain one timestamp; a second one is an error. */
function sumDurations(of: List): Value | CelError {
  let total = 0n;
  let time: Timestamp | undefined;
  for (const each of of) {
    if (each instanceof Timestamp && time === undefined) {
      const moved = addTime(each, total);
      if (moved instanceof CelError) return moved;
      time = moved;
    } else if (!(each instanceof Duration)) return noSuchOverload('sum');
    else if (time !== undefined) {
      const moved = addTime(time, each.nanoseconds);
      if (moved instanceof CelError) return moved;
      time = moved;
    } else {
      total += each.nanoseconds;
      if (total < INT_MIN || total > INT_MAX) return new CelError('overflow', 'integer overflow');
    }
  }
  return time ?? new Duration(total);
}
