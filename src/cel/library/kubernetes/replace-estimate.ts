/** Estimates the size of the result of `replace`, like Kubernetes. */
import { type Range, type StaticCost, UNBOUNDED } from '../../declarations.ts';
import { add, estimate, multiply, range, saturate, scale, sizeOfNode } from '../estimate.ts';

export const replaceEstimate: StaticCost = (target, [old, by]) => {
  if (target === undefined || by === undefined) return undefined;
  const text = sizeOfNode(target);
  const longest = longestResult(text.max, sizeOfNode(old), sizeOfNode(by));
  const shortest = shortestResult(text.min, sizeOfNode(old), sizeOfNode(by));
  const size = add(
    multiply(range(shortest.replaced, longest.replaced), sizeOfNode(by)),
    range(shortest.kept, longest.kept),
  );
  // The cost covers reading the text and writing the result.
  return estimate(scale(text, 2 * 0.1), size);
};

interface Outcome {
  /** The number of replacements. */
  readonly replaced: number;
  /** The size of the text that is kept. */
  readonly kept: number;
}

function longestResult(text: number, old: Range, by: Range): Outcome {
  // An empty string matches around every character.
  if (old.min === 0) return { replaced: afterEach(text), kept: text };
  if (by.max <= old.min) return { replaced: 0, kept: text };
  return { replaced: saturate(Math.ceil(text / old.min)), kept: 0 };
}

function shortestResult(text: number, old: Range, by: Range): Outcome {
  if (old.max === 0) return { replaced: afterEach(text), kept: text };
  if (old.max <= by.min) return { replaced: 0, kept: text };
  return { replaced: saturate(Math.ceil(text / old.max)), kept: 0 };
}

const afterEach = (text: number): number => (text < UNBOUNDED ? text + 1 : text);
