/** The functions of cel-go's lists extension on values, and its macro. */
import type { Expr } from '../ast.ts';
import { compare, equal } from '../compare.ts';
import type { Macro, MacroBuilder } from '../declarations.ts';
import { BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, type Type, UINT } from '../types.ts';
import {
  CelError,
  Double,
  Duration,
  invalidArgument,
  noSuchOverload,
  Timestamp,
  typeOf,
  Uint,
  type Value,
} from '../values.ts';

type List = readonly Value[];
type Int = number | bigint;

/** The types with an order, and their names in overload ids. */
export const COMPARABLE: readonly { readonly name: string; readonly runtimeName: string; readonly type: Type }[] = [
  { name: 'int', runtimeName: 'int', type: INT },
  { name: 'uint', runtimeName: 'uint', type: UINT },
  { name: 'double', runtimeName: 'double', type: DOUBLE },
  { name: 'bool', runtimeName: 'bool', type: BOOL },
  { name: 'duration', runtimeName: 'google.protobuf.Duration', type: DURATION },
  { name: 'timestamp', runtimeName: 'google.protobuf.Timestamp', type: TIMESTAMP },
  { name: 'string', runtimeName: 'string', type: STRING },
  { name: 'bytes', runtimeName: 'bytes', type: BYTES },
];

export function isComparable(value: Value): boolean {
  if (typeof value !== 'object') return true;
  return (
    value instanceof Uint ||
    value instanceof Double ||
    value instanceof Timestamp ||
    value instanceof Duration ||
    value instanceof Uint8Array
  );
}

export function slice(list: List, start: Int, end: Int): List | CelError {
  const call = `slice(${start}, ${end})`;
  if (start < 0 || end < 0) return invalidArgument(`cannot ${call}, negative indexes not supported`);
  if (start > end) {
    return invalidArgument(`cannot ${call}, start index must be less than or equal to end index`);
  }
  if (end > list.length) return invalidArgument(`cannot ${call}, list is length ${list.length}`);
  return list.slice(Number(start), Number(end));
}

/**
 * `flatten` flattens nested lists, `depth` levels deep. cel-go does not check the argument types, so it accepts any
 * value.
 */
export function flatten(list: Value, depth: Value): List | CelError {
  if (!Array.isArray(list) || (typeof depth !== 'number' && typeof depth !== 'bigint'))
    return noSuchOverload('flatten');
  if (depth < 0) return invalidArgument('level must be non-negative');
  return list.flat(Number(depth)) as Value[];
}

export function distinct(list: List): List {
  const unique: Value[] = [];
  const seen = new Set<Value>();
  for (const element of list) {
    // A string equals only itself, so a set replaces the pairwise comparison.
    if (typeof element === 'string') {
      if (!seen.has(element)) unique.push(element);
      seen.add(element);
    } else if (!unique.some((other) => equal(element, other))) unique.push(element);
  }
  return unique;
}

/**
 * `sortByKeys` returns `list` in the order of `keys`, which must have one ordered type. cel-go does not check the
 * argument types, so it accepts any value.
 */
export function sortByKeys(list: Value, keys: Value): List | CelError {
  if (!Array.isArray(list) || !Array.isArray(keys)) return noSuchOverload('sort');
  if (list.length !== keys.length) {
    return invalidArgument(
      `@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got ${list.length} and ${keys.length} elements respectively`,
    );
  }
  if (list.length === 0) return list;
  const first = keys[0] as Value;
  if (!isComparable(first)) return invalidArgument('list elements must be comparable');
  const type = typeOf(first);
  if (keys.length > 1 && keys.some((key) => typeOf(key as Value) !== type)) {
    return invalidArgument('list elements must have the same type');
  }
  const less = (left: number, right: number): boolean => {
    const order = compare(keys[left] as Value, keys[right] as Value);
    // NaN has no order, so it keeps its position.
    return !(order instanceof CelError) && order < 0;
  };
  const order = keys.map((_, index) => index);
  if (order.length <= INSERTION_LENGTH) insertionSort(order, less);
  else order.sort((left, right) => (less(left, right) ? -1 : less(right, left) ? 1 : 0));
  return order.map((index) => list[index] as Value);
}

/** Go uses insertion sort up to this length; with NaN, the result depends on the algorithm. */
const INSERTION_LENGTH = 12;

function insertionSort(order: number[], less: (left: number, right: number) => boolean): void {
  for (let end = 1; end < order.length; end++) {
    for (let at = end; at > 0; at--) {
      const left = order[at - 1] as number;
      const right = order[at] as number;
      if (!less(right, left)) break;
      order[at - 1] = right;
      order[at] = left;
    }
  }
}

const SORTED_INPUT = '@__sortBy_input__';

/** `list.sortBy(e, key)` binds the list to a name, maps its keys, and calls a function that sorts one by the other. */
export const sortBy: Macro = {
  name: 'sortBy',
  member: true,
  arguments: 2,
  expand(builder, target, args) {
    const [variable, key] = args;
    if (target === undefined || variable === undefined || key === undefined) return undefined;
    if (target.kind === 'literal' || target.kind === 'map' || target.kind === 'struct') {
      return builder.error(
        target,
        'sortBy can only be applied to a list, identifier, comprehension, call or select expression',
      );
    }
    if (variable.kind !== 'identifier' || variable.name.startsWith('.')) {
      return builder.error(variable, 'argument is not an identifier');
    }
    return builder.comprehension({
      range: builder.list(),
      variable: '#unused',
      accumulator: SORTED_INPUT,
      initial: target,
      condition: builder.literal(false),
      step: builder.identifier(SORTED_INPUT),
      result: builder.memberCall(
        '@sortByAssociatedKeys',
        builder.identifier(SORTED_INPUT),
        mapped(builder, variable.name, key),
      ),
    });
  },
};

function mapped(builder: MacroBuilder, variable: string, key: Expr): Expr {
  return builder.comprehension({
    range: builder.identifier(SORTED_INPUT),
    variable,
    initial: builder.list(),
    condition: builder.literal(true),
    step: builder.call('_+_', builder.identifier(builder.accumulator), builder.list(key)),
    result: builder.identifier(builder.accumulator),
  });
}
