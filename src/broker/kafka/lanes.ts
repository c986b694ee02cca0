/** Work in lanes: in each one after the other in the order it came, several lanes at a time. */

/** Resolves to nothing when it is done, or to how long to wait (milliseconds) before it is tried again. Never rejects. */
type Task = () => Promise<number | undefined>;

interface Item {
  readonly task: Task;
  readonly weight: number;
}

interface Lane {
  readonly name: string;
  readonly items: Item[];
  running: boolean;
  /** What runs is not tried again, however it ends. */
  discardOnFailure: boolean;
  /** Ends the rest before the next try. */
  cancelBackoff: () => void;
}

export class Lanes {
  readonly #concurrency: number;
  readonly #lanes = new Map<string, Lane>();
  /** Those that could run, longest waiting first. */
  #ready: Lane[] = [];
  #running = 0;
  #weight = 0;
  #watchers: (() => void)[] = [];

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** What is not done weighs so much. */
  get weight(): number {
    return this.#weight;
  }

  add(name: string, task: Task, weight = 1): void {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = { name, items: [], running: false, discardOnFailure: false, cancelBackoff: () => undefined };
      this.#lanes.set(name, lane);
      this.#ready.push(lane);
    }
    lane.items.push({ task, weight });
    this.#weight += weight;
    this.#start();
  }

  /** Forgets what has not begun, and what rests before another try. What runs goes on; what is added to its lane waits for it. */
  clear(): void {
    for (const lane of this.#lanes.values()) {
      lane.cancelBackoff();
      lane.discardOnFailure = lane.running;
      for (const { weight } of lane.items.splice(lane.running ? 1 : 0)) this.#weight -= weight;
      if (!lane.running) this.#lanes.delete(lane.name);
    }
    this.#ready = [];
    this.#changed();
  }

  /** Resolves once nothing runs. */
  async idle(): Promise<void> {
    while (this.#running > 0) await this.#change();
  }

  /** Resolves once what is not done weighs less. */
  async below(weight: number): Promise<void> {
    while (this.#weight >= weight) await this.#change();
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
    const pause = await lane.items[0]?.task();
    this.#running--;
    lane.running = false;
    if (pause === undefined || lane.discardOnFailure) {
      lane.discardOnFailure = false;
      this.#weight -= lane.items.shift()?.weight ?? 0;
      this.#goOn(lane);
    } else {
      const timer = setTimeout(() => this.#goOn(lane), pause);
      lane.cancelBackoff = () => clearTimeout(timer);
    }
    this.#start();
    this.#changed();
  }

  /** At the end of the line, or gone where nothing waits in it. */
  #goOn(lane: Lane): void {
    if (lane.items.length === 0) {
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
