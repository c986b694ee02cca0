/**
 * Limits the number of connections that several pools may have open together, over all servers. If the limit is
 * reached, the connection that has been idle longest is closed; if none is idle, callers wait in turn.
 */
interface Idle {
  /** Closes the connection; `release` follows. */
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

  /** The maximal number of simultaneous connections so far. */
  get most(): number {
    return this.#most;
  }

  /** Whether a caller waits: pools then close the connections that they do not need. */
  get wanted(): boolean {
    return this.#waiting.length > 0;
  }

  /** Calls back, immediately or later, when one more connection may be opened. */
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
