/**
 * Lists that repeat one item, each with its own key, such as the ones that show that a list is too long. A result for
 * one item, apart from its key, holds for all of them, so the validator need not check such a list item by item.
 */

/** A mark on lists that this module made; a list without a mark is checked item by item. */
const KEYS = new WeakMap<readonly unknown[], string>();

/** Builds lists that repeat the item, each with the next of the values as its key. */
export function alikeLists(
  item: object,
  key: string,
  values: readonly unknown[],
): (length: number) => readonly unknown[] {
  const items = values.map((value) => ({ ...item, [key]: value }));
  const arePlain = values.every((value) => typeof value !== 'object');
  return (length) => {
    const list = items.slice(0, length);
    if (arePlain) KEYS.set(list, key);
    return list;
  };
}

/** Shorter lists are as quick to check item by item. */
const FEW = 16;

/** The only field in which the items differ, each with a scalar value; undefined for every other list. */
export const keyOfAlike = (list: readonly unknown[]): string | undefined =>
  list.length < FEW ? undefined : KEYS.get(list);
