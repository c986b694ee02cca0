/** Items of many clients, by network address, so that no address takes the share of others. */

export interface Placed {
  readonly address: string;
}

export class Shares<Item extends Placed> {
  /** The items of an address are in the order in which they were added. The address whose turn is next is the first. */
  readonly #items = new Map<string, Set<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  countOf(address: string): number {
    return this.#items.get(address)?.size ?? 0;
  }

  add(item: Item): void {
    const items = this.#items.get(item.address) ?? new Set();
    this.#items.set(item.address, items);
    if (items.has(item)) return;
    items.add(item);
    this.#size += 1;
  }

  delete(item: Item): boolean {
    const items = this.#items.get(item.address);
    if (items?.delete(item) !== true) return false;
    this.#size -= 1;
    if (items.size === 0) this.#items.delete(item.address);
    return true;
  }

  /** Removes and returns an item of the address whose turn it is. */
  take(which: 'oldest' | 'newest'): Item | undefined {
    for (const [address, items] of this.#items) {
      const [oldest] = items;
      const item = which === 'oldest' ? oldest : [...items].at(-1);
      this.#items.delete(address);
      this.#items.set(address, items);
      if (item === undefined) return undefined;
      this.delete(item);
      return item;
    }
    return undefined;
  }

  /** The items of an address, the oldest first. */
  of(address: string): Iterable<Item> {
    return this.#items.get(address) ?? [];
  }

  /** The items of the address that has the most, the oldest first. */
  ofLargest(): Iterable<Item> {
    let largest: ReadonlySet<Item> | undefined;
    for (const items of this.#items.values()) if (items.size > (largest?.size ?? 0)) largest = items;
    return largest ?? [];
  }

  /** The items of all addresses. */
  *all(): Iterable<Item> {
    for (const items of this.#items.values()) yield* items;
  }
}

/** `networkOf` returns the address that is counted: one host has all addresses of an IPv6 /64 network. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.startsWith('::ffff:')) return address;
  const [before = '', after] = address.split('::', 2);
  const groups = before === '' ? [] : before.split(':');
  const rest = after === undefined || after === '' ? [] : after.split(':');
  const zeros = after === undefined ? [] : Array.from({ length: 8 - groups.length - rest.length }, () => '0');
  return [...groups, ...zeros, ...rest].slice(0, 4).join(':');
}
