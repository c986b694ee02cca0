/**
 * Lists of one item over and over, each with a key of its own, as they are made to show that a list may no longer be so long. What is
 * true of one of the items, but for its key, is true of all of them: who knows such a list need not go through it item by item.
 */

const KEYS = new WeakMap<readonly unknown[], string>();

/** So many of the item, each with the next of the values for its key. */
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

/** Fewer are as quickly gone through. */
const FEW = 16;

/** The field in which alone the items differ, each with a plain value; undefined for a list of which that is not known. */
export const keyOfAlike = (list: readonly unknown[]): string | undefined =>
  list.length < FEW ? undefined : KEYS.get(list);
