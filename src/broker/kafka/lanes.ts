/** Work in lanes: in each one after the other in the order it came, several lanes at a time. */

/** Resolves to nothing when it is done, or to how long to wait (milliseconds) before it is tried again. Never rejects. */
export type Task = () => Promise<number | undefined>;

interface Lane {
  readonly name: string;
  readonly tasks: Task[];
  running: boolean;
  /** What runs is not tried again, however it ends. */
  last: boolean;
  /** Ends the rest before the next try. */
  cancelRest: () => void;
}

export class Lanes {
  readonly #concurrency: number;
  readonly #lanes = new Map<string, Lane>();
  /** Those that could run, longest waiting first. */
  #ready: Lane[] = [];
  #running = 0;
  #size = 0;
  #watchers: (() => void)[] = [];

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** Tasks that are not done. */
  get size(): number {
    return this.#size;
  }

  add(name: string, task: Task): void {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = { name, tasks: [], running: false, last: false, cancelRest: () => undefined };
      this.#lanes.set(name, lane);
      this.#ready.push(lane);
    }
    lane.tasks.push(task);
    this.#size++;
    this.#start();
  }

  /** Forgets what has not begun, and what rests before another try. What runs goes on; what is added to its lane waits for it. */
  clear(): void {
    for (const lane of this.#lanes.values()) {
      lane.cancelRest();
      lane.last = lane.running;
      const kept = lane.running ? 1 : 0;
      this.#size -= lane.tasks.length - kept;
      lane.tasks.length = kept;
      if (kept === 0) this.#lanes.delete(lane.name);
    }
    this.#ready = [];
    this.#changed();
  }

  /** Resolves once nothing runs. */
  async idle(): Promise<void> {
    while (this.#running > 0) await this.#change();
  }

  /** Resolves once fewer than so many are not done. */
  async below(size: number): Promise<void> {
    while (this.#size >= size) await this.#change();
  }

  #start(): void {
    while (this.#running < this.#concurrency) {
      const lane = this.#ready.shift();
      if (lane === undefined) return;
      this.#running++;
      lane.running = true;
      void this.#run(lane);
    }
  }

  async #run(lane: Lane): Promise<void> {
    const pause = await lane.tasks[0]?.();
    this.#running--;
    lane.running = false;
    if (pause === undefined || lane.last) {
      lane.last = false;
      lane.tasks.shift();
      this.#size--;
      this.#goOn(lane);
    } else {
      const timer = setTimeout(() => this.#goOn(lane), pause);
      lane.cancelRest = () => clearTimeout(timer);
    }
    this.#start();
    this.#changed();
  }

  /** At the end of the line, or gone where nothing waits in it. */
  #goOn(lane: Lane): void {
    if (lane.tasks.length === 0) {
      this.#lanes.delete(lane.name);
      return;
    }
    this.#ready.push(lane);
    this.#start();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#watchers.push(resolve));
  }

  #changed(): void {
    const watchers = this.#watchers;
    this.#watchers = [];
    for (const watcher of watchers) watcher();
  }
}
