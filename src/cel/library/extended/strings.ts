/**
 * cel-go's strings extension at its newest version (5), with `reverse`, and costs that depend on the size of the
 * result.
 */
import { sizeOf } from '../../cost/size.ts';
import type { Library, Range, RuntimeCost, StaticCost } from '../../declarations.ts';
import type { Result } from '../../values.ts';
import {
  add,
  estimate,
  fixed,
  literalCount,
  multiply,
  ONE,
  range,
  saturate,
  scale,
  sizeOfNode,
  subtractUnsigned,
} from '../estimate.ts';
import { stringsLibrary } from '../string-declarations.ts';
import { format } from './format-string.ts';

const LIST_CREATE = 10;
const TRAVERSAL = 0.1;

const size = (value: Result | undefined): number => sizeOf(value ?? null);
const scan = (of: number): number => Math.ceil(of * TRAVERSAL);
const atLeastOne = (of: Range): Range => range(Math.max(of.min, 1), Math.max(of.max, 1));

const transformCost: RuntimeCost = ([text], result) => 1 + scan(size(text)) + size(result);

/** The costs of functions whose result is as long as the text. */
const sameLength = {
  cost: transformCost,
  estimate: ((target) => {
    const text = sizeOfNode(target);
    return estimate(add(scale(text, TRAVERSAL), ONE, text), text);
  }) satisfies StaticCost,
};

const trimming = {
  cost: transformCost,
  estimate: ((target) => {
    const text = sizeOfNode(target);
    const result = range(0, text.max);
    return estimate(add(scale(text, TRAVERSAL), ONE, result), result);
  }) satisfies StaticCost,
};

const cutting = {
  cost: transformCost,
  estimate: ((target, [start, end]) => {
    const text = sizeOfNode(target);
    const result = fixed(subtractUnsigned(literalCount(end, text.max), literalCount(start, 0)));
    return estimate(add(scale(text, TRAVERSAL), ONE, result), result);
  }) satisfies StaticCost,
};

const searching = {
  cost: (([text, part]) => scan(size(text) * size(part)) + 1) satisfies RuntimeCost,
  estimate: ((target, [part]) =>
    estimate(add(scale(multiply(sizeOfNode(target), sizeOfNode(part)), TRAVERSAL), ONE))) satisfies StaticCost,
};

const replacing = {
  cost: (([text, old], result) =>
    1 + scan(Math.max(size(text), 1) * Math.max(size(old), 1)) + size(result)) satisfies RuntimeCost,
  estimate: ((target, [old, by]) => {
    const text = sizeOfNode(target);
    const search = scale(multiply(atLeastOne(text), atLeastOne(sizeOfNode(old))), TRAVERSAL);
    const replacement = add(sizeOfNode(by), ONE);
    const result = range(Math.min(text.min, replacement.min), saturate((text.max + 1) * replacement.max));
    return estimate(add(search, result, ONE), result);
  }) satisfies StaticCost,
};

const splitting = {
  cost: (([text], result) => 1 + scan(size(text) + 1) + size(result) + LIST_CREATE) satisfies RuntimeCost,
  estimate: ((target) => {
    const text = sizeOfNode(target);
    const result = range(0, text.max);
    return estimate(add(scale(add(text, ONE), TRAVERSAL), result, fixed(LIST_CREATE), ONE), result);
  }) satisfies StaticCost,
};

const joining = {
  cost: (([of], result) => 1 + scan(size(of) + 1) + size(result)) satisfies RuntimeCost,
  estimate: ((target, [separator]) => {
    const count = sizeOfNode(target);
    const between = separator === undefined ? 0 : sizeOfNode(separator).max;
    const result = range(0, saturate(count.max * (1 + between) + between));
    return estimate(add(scale(add(count, ONE), TRAVERSAL), result, ONE), result);
  }) satisfies StaticCost,
};

const onePass: RuntimeCost = ([text]) => scan(size(text));

export const strings: Library = stringsLibrary({
  format,
  emptySearch: 'within-text',
  costs: {
    charAt: {
      cost: ([text]) => 1 + scan(size(text)) + 1,
      estimate: (target) => estimate(add(scale(sizeOfNode(target), TRAVERSAL), ONE, ONE), range(0, 1)),
    },
    search: searching,
    letterCase: sameLength,
    reverse: sameLength,
    trim: trimming,
    replace: replacing,
    split: splitting,
    substring: cutting,
    join: joining,
    format: { cost: onePass },
    quote: { cost: onePass },
  },
});
