/**
 * How many connections several pools may have open together, whatever servers they lead to. Where all are taken, one that is idle ends
 * to make room, the one that has been idle longest first; where none is, who asks waits in turn.
 */
interface Idle {
  /** Ends it; `release` follows. */
  end(): void;
}

export class ConnectionBudget {
  readonly #maximum: number;
  readonly #waiting: (() => void)[] = [];
  readonly #idle = new Set<Idle>();
  #open = 0;
  #most = 0;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  get open(): number {
    return this.#open;
  }

  /** How many there were at once, at most, so far. */
  get most(): number {
    return this.#most;
  }

  /** Somebody waits: who has no use for a connection ends it. */
  get wanted(): boolean {
    return this.#waiting.length > 0;
  }

  /** Calls back, at once or later, when one more may be opened. */
  take(ready: () => void): void {
    this.#waiting.push(ready);
    if (this.#open >= this.#maximum) {
      const [oldest] = this.#idle;
      oldest?.end();
    }
    this.#next();
  }

  release(connection?: Idle): void {
    if (connection !== undefined) this.#idle.delete(connection);
    this.#open -= 1;
    this.#next();
  }

  rest(connection: Idle): void {
    this.#idle.add(connection);
  }

  busy(connection: Idle): void {
    this.#idle.delete(connection);
  }

  #next(): void {
    while (this.#open < this.#maximum) {
      const ready = this.#waiting.shift();
      if (ready === undefined) return;
      this.#open += 1;
      this.#most = Math.max(this.#most, this.#open);
      ready();
    }
  }
}
