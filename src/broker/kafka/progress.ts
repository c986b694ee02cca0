/**
 * Which messages of one partition are done. What is committed is the first that is not: after a restart nothing before it is missing.
 * Only what is not done is kept, so that it stays small however long one message takes and however many come after it.
 */
export class PartitionProgress {
  /** In the order they came, which is that of their offsets. */
  readonly #open = new Set<bigint>();
  #last = 0n;
  #position: bigint | undefined;

  begin(offset: bigint): void {
    this.#open.add(offset);
    this.#last = offset;
  }

  finish(offset: bigint): void {
    const [first] = this.#open;
    this.#open.delete(offset);
    if (offset !== first) return;
    const [next = this.#last + 1n] = this.#open;
    this.#position = next;
  }

  /** Where to go on; undefined as long as the first is not done. */
  get position(): bigint | undefined {
    return this.#position;
  }

  /** How many are not done. */
  get size(): number {
    return this.#open.size;
  }
}
