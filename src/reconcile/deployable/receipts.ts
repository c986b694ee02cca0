/**
 * Messages that have arrived, for a moment before that is written down: mostly the first report comes within it and is written anyway, and
 * one write less for each object is much where a thousand are applied at once. A process that ends meanwhile has them sent again, which is
 * one deployment all the same.
 */
export class Receipts {
  /** By the uid of the object and the identity of the message, when it is to be written. */
  readonly #due = new Map<string, Map<string, number>>();

  keep(uid: string, id: string, due: number): void {
    const known = this.#due.get(uid) ?? new Map<string, number>();
    known.set(id, due);
    this.#due.set(uid, known);
  }

  dueOf(uid: string, id: string): number | undefined {
    return this.#due.get(uid)?.get(id);
  }

  /** Forgets those of an object that are in its outbox no more. */
  prune(uid: string, ids: readonly string[]): void {
    const known = this.#due.get(uid);
    if (known === undefined) return;
    for (const id of known.keys()) if (!ids.includes(id)) known.delete(id);
    if (known.size === 0) this.#due.delete(uid);
  }

  get size(): number {
    return this.#due.size;
  }
}
