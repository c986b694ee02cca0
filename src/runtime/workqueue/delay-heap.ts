/** Keys ordered by the time at which they are due: a binary heap in which a key counts once, with its earliest time. */

interface Entry {
  readonly key: string;
  readonly due: number;
  readonly sequence: number;
}

export class DelayHeap {
  #heap: Entry[] = [];
  /** The valid entry of each key; an older entry with a later time stays in the heap and is skipped. */
  readonly #current = new Map<string, Entry>();
  #sequence = 0;

  get size(): number {
    return this.#current.size;
  }

  /** Adds a key. If it is present, the earlier of the two times counts. */
  push(key: string, due: number): void {
    const current = this.#current.get(key);
    if (current !== undefined && current.due <= due) return;
    this.#sequence += 1;
    const entry = { key, due, sequence: this.#sequence };
    this.#current.set(key, entry);
    this.#heap.push(entry);
    this.#rise(this.#heap.length - 1);
    this.#compact();
  }

  nextDue(): number | undefined {
    this.#dropReplaced();
    return this.#heap[0]?.due;
  }

  /**
   * Removes and returns the earliest key that is due. Keys that are due at the same time are returned in the order of
   * their addition.
   */
  popDue(now: number): string | undefined {
    this.#dropReplaced();
    const top = this.#heap[0];
    if (top === undefined || top.due > now) return undefined;
    this.#removeTop();
    this.#current.delete(top.key);
    return top.key;
  }

  clear(): void {
    this.#heap = [];
    this.#current.clear();
  }

  /** Removes replaced entries, which would otherwise accumulate until they are due. */
  #compact(): void {
    if (this.#heap.length < 64 || this.#heap.length < 2 * this.#current.size) return;
    this.#heap = [...this.#current.values()].sort((a, b) => (earlier(a, b) ? -1 : 1));
  }

  #dropReplaced(): void {
    for (let top = this.#heap[0]; top !== undefined && this.#current.get(top.key) !== top; top = this.#heap[0]) {
      this.#removeTop();
    }
  }

  #removeTop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink(0);
  }

  #rise(from: number): void {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfEarlier(index, parent)) return;
      index = parent;
    }
  }

  #sink(from: number): void {
    let index = from;
    for (;;) {
      const left = 2 * index + 1;
      const child = earlier(this.#heap[left + 1], this.#heap[left]) ? left + 1 : left;
      if (!this.#swapIfEarlier(child, index)) return;
      index = child;
    }
  }

  /** Swaps the entries if the lower one is due before the upper one. */
  #swapIfEarlier(lower: number, upper: number): boolean {
    const below = this.#heap[lower];
    const above = this.#heap[upper];
    if (below === undefined || above === undefined || !earlier(below, above)) return false;
    this.#heap[lower] = above;
    this.#heap[upper] = below;
    return true;
  }
}

function earlier(a: Entry | undefined, b: Entry | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.due < b.due || (a.due === b.due && a.sequence < b.sequence);
}
