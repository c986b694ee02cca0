/** cel-go's strings extension at version 2 (without `reverse`), with the costs of Kubernetes. */
import { sizeOf, traversal } from '../../cost/size.ts';
import type { Library, Range, RuntimeCost, StaticCost } from '../../declarations.ts';
import { add, estimate, literalCount, multiply, range, scale, sizeOfNode } from '../estimate.ts';
import { stringsLibrary } from '../string-declarations.ts';
import { format } from './format-string.ts';
import { walkCost, walkEstimate } from './lists.ts';
import { replaceEstimate } from './replace-estimate.ts';

const passes =
  (count: number): RuntimeCost =>
  ([text]) =>
    traversal(sizeOf(text ?? null), count);

const onePass = {
  cost: passes(1),
  estimate: ((target) => estimate(scale(sizeOfNode(target), 0.1), sizeOfNode(target))) satisfies StaticCost,
};

const splitting = {
  cost: passes(2),
  estimate: ((target, [, limit]) => {
    const size = sizeOfNode(target);
    // With an empty separator, every character becomes an element.
    return estimate(scale(size, 2 * 0.1), range(0, limit === undefined ? size.max : literalCount(limit, size.max)));
  }) satisfies StaticCost,
};

const joining = {
  cost: ((_args, result) => traversal(sizeOf(result), 2)) satisfies RuntimeCost,
  estimate: ((target, [separator]) => {
    if (target === undefined) return undefined;
    const count = sizeOfNode(target);
    const element = target.element();
    let size: Range = element === undefined ? range(0, 0) : multiply(count, sizeOfNode(element));
    if (separator !== undefined) {
      const gaps = range(Math.max(count.min - 1, 0), Math.max(count.max - 1, 0));
      size = add(size, multiply(sizeOfNode(separator), gaps));
    }
    return estimate(scale(size, 0.1), size);
  }) satisfies StaticCost,
};

export const strings: Library = stringsLibrary({
  format,
  emptySearch: 'at-offset',
  costs: {
    charAt: {},
    search: { cost: walkCost, estimate: walkEstimate },
    letterCase: onePass,
    trim: onePass,
    replace: { cost: passes(2), estimate: replaceEstimate },
    split: splitting,
    substring: onePass,
    join: joining,
    format: { soleCost: passes(1) },
    quote: { soleCost: passes(1) },
  },
});
