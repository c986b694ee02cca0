/**
 * Steps that take minutes, under way in this process. What is wanted of a rollout is said again and again: what runs already goes on,
 * what is no longer wanted is cut off, and of one cluster there is never more than one step at a time.
 */
import type { Clock, Logger, Runnable } from '../../../../runtime/index.ts';
import { sleep } from '../../../../runtime/internal.ts';

type Lane = 'whole' | 'install' | 'check' | 'restore';

export interface Job {
  /** What it works on: of each there is one at a time. */
  readonly place: string;
  /** Which step it is: the same is not begun again while it runs. */
  readonly id: string;
  readonly lane: Lane;
  run(signal: AbortSignal): Promise<void>;
}

interface Running {
  readonly id: string;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

/**
 * Of the replica that leads. On as many clusters at once as there may be rollouts (requirement 002): most of the time somebody waits for pods,
 * and how many run Helm meanwhile is said in src/fleet/helm. The way back must never wait behind what is on its way.
 */
const placesOf: Readonly<Record<Lane, number>> = { whole: 8, install: 20, check: 32, restore: 100 };
/** A step that could not even say what became of it comes again after this long. */
const againMilliseconds = 1_000;

export class Jobs implements Runnable {
  readonly name = 'rollout steps';
  readonly leaderOnly = true;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** By rollout, then by place. */
  readonly #running = new Map<string, Map<string, Running>>();
  readonly #lanes = new Map<Lane, { free: number; waiting: (() => void)[] }>();
  readonly #stopping = new AbortController();
  /** Told when a step of a rollout has ended. */
  ended: (rollout: string) => void = () => {};

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
    for (const [lane, free] of Object.entries(placesOf)) this.#lanes.set(lane as Lane, { free, waiting: [] });
  }

  async start(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#stopping.abort(signal.reason);
    const all = [...this.#running.values()].flatMap((places) => [...places.values()]);
    for (const { abort } of all) abort.abort(signal.reason);
    await Promise.all(all.map(({ ended }) => ended));
  }

  /** Of one rollout: all that is to be under way. */
  keep(rollout: string, wanted: readonly Job[]): void {
    if (this.#stopping.signal.aborted) return;
    const places = this.#running.get(rollout) ?? new Map<string, Running>();
    const byPlace = new Map(wanted.map((job) => [job.place, job]));
    for (const [place, { id, abort }] of places) {
      if (byPlace.get(place)?.id !== id) abort.abort(new Error('it is no longer wanted'));
    }
    for (const job of wanted) {
      if (places.has(job.place)) continue;
      this.#running.set(rollout, places);
      const abort = new AbortController();
      const ended = this.#run(rollout, job, abort.signal).finally(() => {
        places.delete(job.place);
        if (places.size === 0) this.#running.delete(rollout);
        this.ended(rollout);
      });
      places.set(job.place, { id: job.id, abort, ended });
    }
  }

  async #run(rollout: string, job: Job, signal: AbortSignal): Promise<void> {
    if (!(await this.#enter(job.lane, signal))) return;
    try {
      await job.run(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#log.warn('a step of a rollout was cut off and comes again', { error, rollout, step: job.id });
      await sleep(this.#clock, againMilliseconds, signal);
    } finally {
      this.#leave(job.lane);
    }
  }

  async #enter(name: Lane, signal: AbortSignal): Promise<boolean> {
    const lane = this.#lanes.get(name);
    if (lane === undefined || signal.aborted) return false;
    if (lane.free > 0) {
      lane.free -= 1;
      return true;
    }
    return new Promise<boolean>((resolve) => {
      const enter = () => resolve(true);
      lane.waiting.push(enter);
      signal.addEventListener(
        'abort',
        () => {
          const index = lane.waiting.indexOf(enter);
          if (index < 0) return;
          lane.waiting.splice(index, 1);
          resolve(false);
        },
        { once: true },
      );
    });
  }

  #leave(name: Lane): void {
    const lane = this.#lanes.get(name);
    const next = lane?.waiting.shift();
    if (next !== undefined) next();
    else if (lane !== undefined) lane.free += 1;
  }
}
