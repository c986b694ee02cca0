/** cel-go's lists extension at version 3, with the costs of that version. */
import { sizeOf } from '../../cost/size.ts';
import {
  type CallEstimate,
  type EstimateNode,
  type FunctionDeclaration,
  fn,
  type Library,
  member,
  overload,
  type Range,
  type RuntimeCost,
  UNBOUNDED,
} from '../../declarations.ts';
import { DYN, INT, list, parameter } from '../../types.ts';
import { CelError, type Result, type Value } from '../../values.ts';
import { add, estimate, fixed, literalCount, multiply, ONE, scale, sizeOfNode, subtractUnsigned } from '../estimate.ts';
import { COMPARABLE, distinct, flatten, slice, sortBy, sortByKeys } from '../list-functions.ts';

type List = readonly Value[];
type Int = number | bigint;

const LIST = list(parameter('T'));
const LISTS = list(LIST);
const DYNAMIC = list(DYN);

/** The base cost of creating a list. */
const LIST_CREATE = 10;
/** The maximum length of a range. No Kubernetes object needs a longer one, and the limit protects memory. */
const MAX_RANGE = 10_000_000;

/** `allocation` is the cost of a call that creates a list; the product is rounded down. */
export const allocation = (size: number, factor: number): number => Math.floor(size * factor) + 1 + LIST_CREATE;

const outputSize: RuntimeCost = (_args, result) => allocation(sizeOf(result), 1);

const selfCompare = (of: Result | undefined): number => {
  const size = sizeOf(of ?? null);
  const first = Array.isArray(of) ? of[0] : undefined;
  const factor = typeof first === 'string' || first instanceof Uint8Array ? 2.1 : 2;
  return allocation(size * size, factor);
};

/** Go converts a negative product to uint64, where it wraps around; the sum then wraps back. */
const flattenCost: RuntimeCost = ([input, depth]) => {
  const levels = depth === undefined ? 1 : Number(depth);
  const product = Math.trunc(sizeOf(input ?? null) * levels);
  // Past int64, the conversion yields the minimum integer, which is 2^63 as uint64.
  if (product < -(2 ** 63)) return 2 ** 63;
  return product < 0 ? Number(BigInt.asUintN(64, BigInt(product) + 11n)) : product + 1 + LIST_CREATE;
};

const allocating = (size: Range, factor: number): CallEstimate =>
  estimate(add(scale(size, factor), ONE, fixed(LIST_CREATE)), size);

const square = (node: EstimateNode | undefined): Range => multiply(sizeOfNode(node), sizeOfNode(node));

const sortFactor = (name: string): number => (name === 'string' || name === 'bytes' ? 2.1 : 2);

export const listsExtension: Library = {
  name: 'cel.lib.ext.lists',
  macros: [sortBy],
  functions: [
    fn('slice', [
      member('list_slice', [LIST, INT, INT], LIST, slice, {
        soleCost: outputSize,
        estimate: (target, [start, end]) =>
          allocating(fixed(subtractUnsigned(literalCount(end, sizeOfNode(target).max), literalCount(start, 0))), 1),
      }),
    ]),
    fn('flatten', [
      member('list_flatten', [LISTS], LIST, (input) => flatten(input, 1), {
        singleton: true,
        soleCost: flattenCost,
        estimate: (target) => allocating(sizeOfNode(target), 1),
      }),
      member('list_flatten_int', [DYNAMIC, INT], DYNAMIC, flatten, {
        singleton: true,
        soleCost: flattenCost,
        estimate: (target, [depth]) => allocating(sizeOfNode(target), literalCount(depth, UNBOUNDED)),
      }),
    ]),
    ...sorting(),
    fn('lists.range', [
      overload('lists_range', [INT], list(INT), range, {
        soleCost: outputSize,
        estimate: (_target, [count]) => allocating(fixed(literalCount(count, UNBOUNDED)), 1),
      }),
    ]),
    fn('reverse', [
      member('list_reverse', [LIST], LIST, (of: List) => [...of].reverse(), {
        soleCost: outputSize,
        estimate: (target) => allocating(sizeOfNode(target), 1),
      }),
    ]),
    fn('distinct', [
      member('list_distinct', [LIST], LIST, distinct, {
        soleCost: ([of]) => selfCompare(of),
        estimate: (target) => allocating(square(target), 2),
      }),
    ]),
  ],
};

function sorting(): readonly FunctionDeclaration[] {
  return [
    fn(
      'sort',
      COMPARABLE.map(({ runtimeName, name, type }) =>
        member(`list_${runtimeName}_sort`, [list(type)], list(type), (of) => sortByKeys(of, of), {
          singleton: true,
          soleCost: ([of]) => selfCompare(of),
          estimate: (target) => allocating(square(target), sortFactor(name)),
        }),
      ),
    ),
    fn(
      '@sortByAssociatedKeys',
      COMPARABLE.map(({ runtimeName, name, type }) =>
        member(`list_${runtimeName}_sortByAssociatedKeys`, [LIST, list(type)], LIST, sortByKeys, {
          singleton: true,
          soleCost: ([, keys]) => selfCompare(keys),
          estimate: (_target, [keys]) => allocating(square(keys), sortFactor(name)),
        }),
      ),
    ),
  ];
}

function range(count: Int): List | CelError {
  if (count > MAX_RANGE) return new CelError('invalid_argument', `lists.range: size ${count} exceeds ${MAX_RANGE}`);
  return Array.from({ length: Math.max(Number(count), 0) }, (_, index) => index);
}
