/**
 * Tracks which messages of a partition are handled. The committed position is the first unhandled offset, so nothing
 * before it is lost after a restart. Only unhandled offsets are kept, so it stays small however long one message takes.
 */
export class PartitionProgress {
  /** In the order of arrival, which is that of the offsets. */
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

  /** The position to commit; undefined until the first message is handled. */
  get position(): bigint | undefined {
    return this.#position;
  }

  /** The number of unhandled messages. */
  get size(): number {
    return this.#open.size;
  }
}
