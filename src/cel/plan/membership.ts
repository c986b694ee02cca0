/** Plans `x in [constants]` as a set lookup instead of a list traversal. */
import type { Call } from '../ast.ts';
import { Double, Uint, type Value } from '../values.ts';
import type { Plan } from './plan.ts';

/** `planMembership` returns undefined unless all elements are constants that a set can hold. */
export function planMembership(node: Call, args: readonly Plan[]): Plan | undefined {
  const [element, container] = args as [Plan, Plan];
  if (container.op !== 'constant' || !Array.isArray(container.value)) return undefined;
  const values = container.value as readonly Value[];
  if (values.length === 0) return { op: 'constant', node, value: false };
  const members = new Set<string | number | bigint | boolean>();
  for (const each of values) {
    const key = memberKey(each);
    if (key === undefined) return undefined;
    members.add(key);
  }
  return { op: 'membership', node, element, members };
}

/** `memberKey` maps elements that are equal in CEL to the same key; undefined for values that a set cannot hold. */
export function memberKey(value: Value): string | number | bigint | boolean | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return value;
    case 'number':
      return numberKey(value);
    default:
      if (value instanceof Uint) return value.value;
      return value instanceof Double ? numberKey(value.value) : undefined;
  }
}

const numberKey = (value: number): number | bigint =>
  Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value) : value + 0;
