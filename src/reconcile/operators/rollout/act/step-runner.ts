/**
 * `StepRunner` runs the steps of rollouts, which take minutes, outside of a reconcile. Each reconcile passes the
 * complete list of wanted steps: running ones continue, unwanted ones are aborted, and a cluster never has more than
 * one step at a time.
 */
import type { Clock, Logger, Runnable } from '../../../../runtime/index.ts';
import { sleep } from '../../../../runtime/internal.ts';

type Lane = 'whole' | 'install' | 'check' | 'restore';

export interface StepJob {
  /** The rollout, or the cluster of a rollout, that it works on. Each key has one job at a time. */
  readonly key: string;
  /** Identifies the step: it is not started again while it runs. */
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
 * The number of jobs that run at a time on the leader, by lane. Installs are limited to the number of concurrent
 * rollouts (docs/requirements.md, 002 Scalability targets): most of them wait for Pods, and src/fleet/helm limits the
 * Helm processes. A rollback must never queue behind installs.
 */
const laneCapacity: Readonly<Record<Lane, number>> = { whole: 8, install: 20, check: 32, restore: 100 };
/** The delay before a step that failed without recording an outcome is tried again. */
const retryMilliseconds = 1_000;

export class StepRunner implements Runnable {
  readonly name = 'rollout steps';
  readonly leaderOnly = true;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Keyed by rollout, then by the key of the job. */
  readonly #running = new Map<string, Map<string, Running>>();
  readonly #lanes = new Map<Lane, { free: number; waiting: (() => void)[] }>();
  readonly #stopping = new AbortController();
  /** Called with the name of the rollout when one of its steps has ended. */
  onStepEnded: (rollout: string) => void = () => {};

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
    for (const [lane, free] of Object.entries(laneCapacity)) this.#lanes.set(lane as Lane, { free, waiting: [] });
  }

  async start(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#stopping.abort(signal.reason);
    const all = [...this.#running.values()].flatMap((jobs) => [...jobs.values()]);
    for (const { abort } of all) abort.abort(signal.reason);
    await Promise.all(all.map(({ ended }) => ended));
  }

  /** Starts and aborts the jobs of one rollout so that exactly the wanted ones run. */
  sync(rollout: string, wanted: readonly StepJob[]): void {
    if (this.#stopping.signal.aborted) return;
    const jobs = this.#running.get(rollout) ?? new Map<string, Running>();
    const byKey = new Map(wanted.map((job) => [job.key, job]));
    for (const [key, { id, abort }] of jobs) {
      if (byKey.get(key)?.id !== id) abort.abort(new Error('the step is no longer wanted'));
    }
    for (const job of wanted) {
      if (jobs.has(job.key)) continue;
      this.#running.set(rollout, jobs);
      const abort = new AbortController();
      const ended = this.#run(rollout, job, abort.signal).finally(() => {
        jobs.delete(job.key);
        if (jobs.size === 0) this.#running.delete(rollout);
        this.onStepEnded(rollout);
      });
      jobs.set(job.key, { id: job.id, abort, ended });
    }
  }

  async #run(rollout: string, job: StepJob, signal: AbortSignal): Promise<void> {
    if (!(await this.#acquire(job.lane, signal))) return;
    try {
      await job.run(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#log.warn('rollout step failed; retried', { error, rollout, step: job.id });
      await sleep(this.#clock, retryMilliseconds, signal);
    } finally {
      this.#release(job.lane);
    }
  }

  async #acquire(name: Lane, signal: AbortSignal): Promise<boolean> {
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

  #release(name: Lane): void {
    const lane = this.#lanes.get(name);
    const next = lane?.waiting.shift();
    if (next !== undefined) next();
    else if (lane !== undefined) lane.free += 1;
  }
}
