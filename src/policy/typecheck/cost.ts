/**
 * What an expression costs, before it has ever run. Kubernetes' worst case is no help for policies: most fields of
 * built-in kinds have no bound, so nearly every loop could cost more than is allowed. We assume sizes instead, and say
 * so: usual ones for the cost that the status of a policy shows, and large but plausible ones for a warning.
 */
import { type Checked, estimate, type SchemaTypes, type SizeBounds, UNBOUNDED } from '../../cel/index.ts';
import { SHORTHANDS } from '../engine/environment.ts';

interface Sizes {
  /** Elements of lists and maps that the schema does not bound. */
  readonly elements: number;
  /** Characters. */
  readonly text: number;
}

export const USUAL: Sizes = { elements: 8, text: 64 };
export const LARGE: Sizes = { elements: 32, text: 64 };

/** The largest cost that one evaluation may have where the API server evaluates. */
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
