/** cel-go's sets extension, which treats lists as sets; it is the same in both environments. */
import { equal } from '../compare.ts';
import { sizeOf } from '../cost/size.ts';
import { fn, type Library, overload, type RuntimeCost, type StaticCost } from '../declarations.ts';
import { BOOL, list, parameter } from '../types.ts';
import type { Value } from '../values.ts';
import { add, estimate, multiply, ONE, scale, sizeOfNode } from './estimate.ts';

type List = readonly Value[];

const LIST = list(parameter('T'));

/** Each element of one list is compared with each element of the other, `passes` times. */
export const setCosts = (passes: number): { soleCost: RuntimeCost; estimate: StaticCost } => ({
  soleCost: ([left, right]) => 1 + Math.floor(sizeOf(left ?? null) * sizeOf(right ?? null) * passes),
  estimate: (_target, [left, right]) =>
    estimate(add(scale(multiply(sizeOfNode(left), sizeOfNode(right)), passes), ONE)),
});

export const sets: Library = {
  name: 'cel.lib.ext.sets',
  functions: [
    fn('sets.contains', [overload('list_sets_contains_list', [LIST, LIST], BOOL, contains, setCosts(1))]),
    fn('sets.equivalent', [overload('list_sets_equivalent_list', [LIST, LIST], BOOL, equivalent, setCosts(2))]),
    fn('sets.intersects', [overload('list_sets_intersects_list', [LIST, LIST], BOOL, intersects, setCosts(1))]),
  ],
};

export function contains(whole: List, part: List): boolean {
  return part.every((element) => has(whole, element));
}

export function equivalent(left: List, right: List): boolean {
  return contains(left, right) && contains(right, left);
}

export function intersects(left: List, right: List): boolean {
  return left.some((element) => has(right, element));
}

const has = (whole: List, element: Value): boolean => whole.some((each) => equal(element, each));
