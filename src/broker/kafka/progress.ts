/** Which messages of one partition are done. What is committed is the first that is not: after a restart nothing before it is missing. */
export class PartitionProgress {
  /** In the order they came, which is that of their offsets. */
  readonly #open: bigint[] = [];
  readonly #done = new Set<bigint>();
  #position: bigint | undefined;

  begin(offset: bigint): void {
    this.#open.push(offset);
  }

  finish(offset: bigint): void {
    this.#done.add(offset);
    for (let first = this.#open[0]; first !== undefined && this.#done.delete(first); first = this.#open[0]) {
      this.#open.shift();
      this.#position = first + 1n;
    }
  }

  /** Where to go on; undefined as long as nothing is done. */
  get position(): bigint | undefined {
    return this.#position;
  }
}
