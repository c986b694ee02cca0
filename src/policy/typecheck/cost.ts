/**
 * Estimates the cost of an expression before it runs. The worst case of Kubernetes is not useful for policies: most
 * fields of built-in kinds have no bound, so nearly every loop could exceed the limit. Sizes are assumed instead:
 * typical ones for the cost in the status of a policy, and large but plausible ones for a warning.
 */
import { type Checked, estimate, type SchemaTypes, type SizeBounds, UNBOUNDED } from '../../cel/index.ts';
import { SHORTHANDS } from '../engine/environment.ts';

interface Sizes {
  /** The number of elements of lists and maps without a bound in the schema. */
  readonly elements: number;
  /** The number of characters of strings without a bound. */
  readonly text: number;
}

export const USUAL: Sizes = { elements: 8, text: 64 };
export const LARGE: Sizes = { elements: 32, text: 64 };

/** The cost limit of one evaluation in the API server. */
export const EXPRESSION_LIMIT = 1_000_000;

export function costOf(checked: Checked, object: SchemaTypes | undefined, sizes: Sizes): number {
  return Math.min(estimate(checked, boundsFor(object, sizes), sizes.elements).max, UNBOUNDED);
}

function boundsFor(object: SchemaTypes | undefined, sizes: Sizes): SizeBounds {
  return ([variable = '', ...path]) => {
    if (path.at(-1) === '@keys') return sizes.text;
    const steps = inObject(variable, path);
    const node = steps === undefined ? undefined : object?.root.at(steps);
    if (node === undefined) return sizes.elements;
    const assumed = node.schema.type === 'string' ? sizes.text : sizes.elements;
    return Math.min(assumed, node.maxElements);
  };
}

function inObject(variable: string, path: readonly string[]): readonly string[] | undefined {
  if (variable === 'object' || variable === 'oldObject') return path;
  return (SHORTHANDS as readonly string[]).includes(variable) ? [variable, ...path] : undefined;
}
