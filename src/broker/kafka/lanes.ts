/** `Lanes` runs tasks: those of one lane in order and one at a time, several lanes concurrently. */

/**
 * A task resolves to undefined when it is done, or to the milliseconds to wait before it is retried. It never rejects.
 */
type Task = () => Promise<number | undefined>;

interface Item {
  readonly task: Task;
  readonly weight: number;
}

interface Lane {
  readonly name: string;
  readonly items: Item[];
  running: boolean;
  /** The running task is not retried, however it ends. */
  discardOnFailure: boolean;
  /** Cancels the backoff before the next attempt. */
  cancelBackoff: () => void;
}

export class Lanes {
  readonly #concurrency: number;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes that can run, longest waiting first. */
  #ready: Lane[] = [];
  #running = 0;
  #weight = 0;
  #watchers: (() => void)[] = [];

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** The total weight of unfinished tasks. */
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

  /**
   * Drops tasks that have not started and tasks in backoff. Running tasks continue; new tasks of their lanes wait for
   * them.
   */
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

  /** Resolves once no task runs. */
  async idle(): Promise<void> {
    while (this.#running > 0) await this.#change();
  }

  /** Resolves once the weight of unfinished tasks is below this. */
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
      this.#requeue(lane);
    } else {
      const timer = setTimeout(() => this.#requeue(lane), pause);
      lane.cancelBackoff = () => clearTimeout(timer);
    }
    this.#start();
    this.#changed();
  }

  /** Requeues a lane, or removes it if it is empty. */
  #requeue(lane: Lane): void {
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
