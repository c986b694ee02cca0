/**
 * cel-go's lists extension at its newest version: version 3 plus costs that depend on the elements, and a bounded
 * range.
 */
import { sizeOf } from '../../cost/size.ts';
import { type EstimateNode, fn, type Library, member, overload, type Range, UNBOUNDED } from '../../declarations.ts';
import { BOOL, DYN, INT, list, parameter } from '../../types.ts';
import { type CelError, invalidArgument, type Value } from '../../values.ts';
import {
  add,
  estimate,
  fixed,
  literalCount,
  multiply,
  ONE,
  range,
  scale,
  sizeOfNode,
  UNKNOWN_SIZE,
} from '../estimate.ts';
import { allocation, listsExtension } from '../kubernetes/lists-extension.ts';
import { COMPARABLE, distinct, flatten, sortByKeys } from '../list-functions.ts';
import { contains, equivalent, intersects, setCosts } from '../sets.ts';

const LIST = list(parameter('T'));
const LISTS = list(LIST);
const DYNAMIC = list(DYN);
const MAX_RANGE = 1_000_000;

const listCall = (cost: Range, result: Range) => estimate(add(cost, fixed(10), ONE), result);

/** Returns the size of the flattened list. */
function flattened(node: EstimateNode | undefined, depth: number): Range {
  const size = sizeOfNode(node);
  if (depth === 0 || node?.type.kind !== 'list') return size;
  const element = node.element();
  return element?.type.kind === 'list' ? multiply(size, flattened(element, depth - 1)) : size;
}

const flattening = {
  cost: (_args: unknown, result: Parameters<typeof sizeOf>[0]) => allocation(sizeOf(result), 1),
  estimate: (target: EstimateNode | undefined, args: readonly EstimateNode[]) => {
    const size = flattened(target, args.length === 0 ? 1 : Math.min(literalCount(args[0], UNBOUNDED), 64));
    return listCall(size, size);
  },
};

/** Returns the maximum cost of comparing two elements. */
function elementCost(kind: string | undefined, element: EstimateNode | undefined): Range {
  switch (kind) {
    case 'string':
    case 'bytes':
      return scale(sizeOfNode(element), 0.1);
    case 'list':
    case 'map':
    case 'object':
      return UNKNOWN_SIZE;
    default:
      return ONE;
  }
}

function comparingAll(keys: EstimateNode | undefined, kind: string | undefined, element = keys?.element()): Range {
  const size = sizeOfNode(keys);
  return scale(multiply(multiply(size, size), elementCost(kind, element)), 2);
}

/** The functions of the sets extension as member functions with other names. */
const asSets = (name: string, holds: (list: Elements, other: Elements) => boolean, passes: number) =>
  fn(name, [member(`list_${name}_list`, [LIST, LIST], BOOL, holds, setCosts(passes))]);

type Elements = readonly Value[];

const replaced = new Set(['flatten', 'lists.range', 'distinct', 'sort', '@sortByAssociatedKeys']);
const kept = (listsExtension.functions ?? []).filter(({ name }) => !replaced.has(name));
const runtimeCostOf = (name: string, id: string) =>
  listsExtension.functions?.find((each) => each.name === name)?.overloads.find((each) => each.id === id)?.soleCost;

/** The run-time cost is that of version 3. */
const costOf = (name: string, id: string) => {
  const cost = runtimeCostOf(name, id);
  return cost === undefined ? {} : { cost };
};

export const lists: Library = {
  ...listsExtension,
  functions: [
    ...kept,
    fn('flatten', [
      member('list_flatten', [LISTS], LIST, (input) => flatten(input, 1), { singleton: true, ...flattening }),
      member('list_flatten_int', [DYNAMIC, INT], DYNAMIC, flatten, { singleton: true, ...flattening }),
    ]),
    asSets('hasAll', contains, 1),
    asSets('hasAny', intersects, 1),
    asSets('hasExactly', equivalent, 2),
    asSets('hasOnly', (whole, part) => contains(part, whole), 1),
    fn('lists.range', [
      overload('lists_range', [INT], list(INT), boundedRange, {
        cost: (_args, result) => allocation(sizeOf(result), 1),
        estimate: (_target, [count]) => {
          const size = fixed(literalCount(count, UNBOUNDED));
          return listCall(size, size);
        },
      }),
    ]),
    fn('distinct', [
      member('list_distinct', [LIST], LIST, distinct, {
        ...costOf('distinct', 'list_distinct'),
        estimate: (target) =>
          listCall(
            comparingAll(target, target?.type.parameters[0]?.kind),
            range(Math.min(sizeOfNode(target).min, 1), sizeOfNode(target).max),
          ),
      }),
    ]),
    fn(
      'sort',
      COMPARABLE.map(({ runtimeName, type }) =>
        member(`list_${runtimeName}_sort`, [list(type)], list(type), (of) => sortByKeys(of, of), {
          singleton: true,
          ...costOf('sort', `list_${runtimeName}_sort`),
          estimate: (target) => listCall(comparingAll(target, type.kind), sizeOfNode(target)),
        }),
      ),
    ),
    fn(
      '@sortByAssociatedKeys',
      COMPARABLE.map(({ runtimeName, type }) => {
        const id = `list_${runtimeName}_sortByAssociatedKeys`;
        return member(id, [LIST, list(type)], LIST, sortByKeys, {
          singleton: true,
          ...costOf('@sortByAssociatedKeys', id),
          estimate: (target, [keys]) => listCall(comparingAll(keys, type.kind, target?.element()), sizeOfNode(keys)),
        });
      }),
    ),
  ],
};

function boundedRange(count: number | bigint): readonly number[] | CelError {
  if (count < 0) return invalidArgument(`lists.range: size must be non-negative, got ${count}`);
  if (count > MAX_RANGE) {
    return invalidArgument(`lists.range: size ${count} exceeds maximum allowed (${MAX_RANGE})`);
  }
  return Array.from({ length: Number(count) }, (_, index) => index);
}
