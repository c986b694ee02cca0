/** Calls library functions without parsing an expression. For tests only. */
import type { EstimateNode, Library, Overload, Range } from '../../declarations.ts';
import { DYN, type Type } from '../../types.ts';
import type { CelError, Value } from '../../values.ts';

export function overloadOf(libraries: readonly Library[], id: string): Overload {
  for (const library of libraries) {
    for (const declaration of library.functions ?? []) {
      const found = declaration.overloads.find((each) => each.id === id);
      if (found !== undefined) return found;
    }
  }
  throw new Error(`no overload ${id}`);
}

/** Returns a function that calls overloads of `libraries` by id. */
export const caller =
  (...libraries: readonly Library[]) =>
  (id: string, ...args: Value[]): Value | CelError =>
    overloadOf(libraries, id).implementation(...args);

/** Returns the run-time cost of a call of one overload. */
export function costOf(libraries: readonly Library[], id: string, ...args: Value[]): number {
  const overload = overloadOf(libraries, id);
  const cost = overload.soleCost ?? overload.cost;
  return cost === undefined ? 1 : cost(args, overload.implementation(...args));
}

/** Returns a node for estimates with a size and optional elements. */
export function node(
  size: Range,
  options: { type?: Type; literal?: Value; element?: EstimateNode } = {},
): EstimateNode {
  return {
    type: options.type ?? DYN,
    size,
    sized: true,
    ...(options.literal === undefined ? {} : { literal: options.literal }),
    element: () => options.element,
  };
}
