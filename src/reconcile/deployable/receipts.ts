/**
 * Acknowledged messages that are not written yet.
 *
 * The first report usually arrives within moments and is written anyway; saving one write per object matters when a
 * thousand are applied at once. After a crash these messages are sent again, which is still one deployment.
 */
export class Receipts {
  /** By object uid and message id, when the acknowledgement is to be written. */
  readonly #due = new Map<string, Map<string, number>>();

  keep(uid: string, id: string, due: number): void {
    const known = this.#due.get(uid) ?? new Map<string, number>();
    known.set(id, due);
    this.#due.set(uid, known);
  }

  dueOf(uid: string, id: string): number | undefined {
    return this.#due.get(uid)?.get(id);
  }

  /** Drops the receipts of an object whose messages left its outbox. */
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
