/**
 * Runs the parts of a process in order: first the caches and the runnables of every replica; once the caches are synced, leader
 * election, if configured; then the runnables of the leader. It stops them in reverse order. A runnable that fails or a lost lease
 * stops everything.
 *
 * It installs no signal handlers: `start` takes an AbortSignal (`stopSignal` makes one of SIGINT and SIGTERM, at the edge).
 */
import type { Registry } from 'prom-client';
import type { Client } from '../client/client.ts';
import { type Clock, sleep, systemClock } from '../clock.ts';
import { Caches } from '../controller/caches.ts';
import { ConfigError, FenceError } from '../errors.ts';
import { type ElectionOptions, LeaderElection } from '../leader/election.ts';
import { fenced } from '../leader/fence.ts';
import { type Logger, silentLogger } from '../telemetry/logger.ts';
import { type RuntimeMetrics, runtimeMetrics } from '../telemetry/metrics.ts';

export interface Runnable {
  readonly name: string;
  /** Whether it runs only while this process is the leader. */
  readonly leaderOnly: boolean;
  /** Runs until the signal is aborted, and resolves once it has stopped. */
  start(signal: AbortSignal): Promise<void>;
}

export interface ManagerOptions {
  client: Client;
  /** Without it, every replica acts. It needs a client of its own, which the caller closes after the manager has stopped. */
  leaderElection?: Omit<ElectionOptions, 'clock' | 'log'>;
  log?: Logger;
  registry?: Registry;
  clock?: Clock;
  /** The time limit for stopping everything. */
  stopMilliseconds?: number;
}

export type HealthCheck = () => void | Promise<void>;

interface HealthReport {
  readonly healthy: boolean;
  readonly checks: readonly { readonly name: string; readonly error?: string }[];
}

interface Running {
  readonly name: string;
  readonly ended: Promise<void>;
}

/**
 * A `Manager` starts, supervises and stops the controllers and other runnables of a process.
 *
 * @example
 * import { connect, loadKubeconfig, Manager, stopSignal } from 'kidp/runtime';
 *
 * const config = loadKubeconfig();
 * const manager = new Manager({
 *   client: connect(config),
 *   // Another client: renewals must not wait behind the writes of the leader.
 *   leaderElection: { client: connect(config), lease: { namespace: 'default', name: 'example' } },
 * });
 * manager.add({
 *   name: 'hello',
 *   leaderOnly: true,
 *   start: (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
 * });
 * await manager.start(stopSignal());
 */
export class Manager {
  readonly client: Client;
  /** The client for the leader: its writes are rejected once leadership is lost. */
  readonly leaderClient: Client;
  readonly caches: Caches;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: RuntimeMetrics | undefined;
  readonly election: LeaderElection | undefined;
  readonly #runnables: Runnable[] = [];
  readonly #checks = new Map<string, HealthCheck>();
  readonly #stopMilliseconds: number;
  readonly #failed = Promise.withResolvers<never>();
  #synced = false;
  #startedLeaderOnly = false;
  #startedAlways = false;
  readonly #always = new AbortController();
  readonly #leading = new AbortController();
  readonly #runningAlways: Running[] = [];
  readonly #runningLeading: Running[] = [];

  constructor(options: ManagerOptions) {
    this.client = options.client;
    this.clock = options.clock ?? systemClock;
    this.log = options.log ?? silentLogger;
    this.metrics = options.registry === undefined ? undefined : runtimeMetrics(options.registry);
    this.#stopMilliseconds = options.stopMilliseconds ?? 30_000;
    this.caches = new Caches(options.client, { clock: this.clock, log: this.log });
    this.#failed.promise.catch(() => {});
    if (options.leaderElection === undefined) {
      this.leaderClient = options.client;
      return;
    }
    if (options.leaderElection.client === options.client) {
      throw new ConfigError({
        code: 'leader-election',
        message:
          'The lease would be renewed over the connections that the leader writes with, and wait behind its writes',
        hint: 'Call connect once more and give that client to leaderElection',
      });
    }
    const election = new LeaderElection({ ...options.leaderElection, clock: this.clock, log: this.log });
    this.election = election;
    this.leaderClient = fenced(options.client, election);
    this.metrics?.leading(`${election.lease.namespace}/${election.lease.name}`, () => election.leading);
  }

  /**
   * Adds a runnable, before or after `start`. After `start`, it starts at once if runnables of its kind are running.
   */
  add(runnable: Runnable): void {
    this.#runnables.push(runnable);
    if (runnable.leaderOnly ? this.#startedLeaderOnly : this.#startedAlways) this.#run(runnable);
  }

  addHealthCheck(name: string, check: HealthCheck): void {
    this.#checks.set(name, check);
  }

  /** Runs the added checks, for a liveness probe. */
  health(): Promise<HealthReport> {
    return report([...this.#checks]);
  }

  /** Runs the added checks for a readiness probe, and checks that the caches are synced and reach the API server. */
  readiness(): Promise<HealthReport> {
    return report([...this.#checks, ['caches', () => this.#checkCaches()]]);
  }

  /**
   * Runs until the signal is aborted and everything has stopped. If leadership is lost (a `FenceError`) or a runnable
   * fails, it stops everything and rejects: the process should exit with a code other than 0.
   */
  async start(signal: AbortSignal): Promise<void> {
    let failure: unknown;
    const stopping = new AbortController();
    const stop = () => stopping.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    const running = this.#runUntil(stopping.signal);
    try {
      await Promise.race([running, this.#failed.promise]);
    } catch (error) {
      failure = error;
      this.log.error('manager failed; stopping', { error });
    }
    // A candidacy in progress must not succeed after the stop.
    stop();
    await running.catch(() => {});
    await this.#stop(failure);
    if (failure !== undefined) throw failure;
  }

  async #runUntil(signal: AbortSignal): Promise<void> {
    this.caches.start();
    this.#startedAlways = true;
    for (const runnable of this.#runnables) if (!runnable.leaderOnly) this.#run(runnable);
    if (!(await before(signal, this.caches.synced()))) return;
    this.#synced = true;
    this.log.info('caches synced');
    if (this.election !== undefined) {
      if (!(await this.election.acquire(signal)) || signal.aborted) return;
      const { signal: lost } = this.election;
      lost.addEventListener('abort', () => this.#failed.reject(lost.reason), { once: true });
      if (lost.aborted) throw lost.reason;
    }
    this.#startedLeaderOnly = true;
    for (const runnable of this.#runnables) if (runnable.leaderOnly) this.#run(runnable);
    await before(signal, new Promise(() => {}));
  }

  #run(runnable: Runnable): void {
    const { name, leaderOnly } = runnable;
    const { signal } = leaderOnly ? this.#leading : this.#always;
    const ended = (async () => runnable.start(signal))().catch((error: unknown) => {
      this.log.error('runnable failed', { runnable: name, error });
      this.#failed.reject(error);
    });
    (leaderOnly ? this.#runningLeading : this.#runningAlways).push({ name, ended });
    this.log.info('runnable started', { runnable: name });
  }

  async #stop(failure: unknown): Promise<void> {
    this.#startedAlways = false;
    this.#startedLeaderOnly = false;
    const deadline = this.clock.monotonic() + this.#stopMilliseconds;
    this.#leading.abort(failure instanceof FenceError ? failure : new Error('the manager stops'));
    await this.#ended(this.#runningLeading, deadline);
    // Runnables that are still running lose the right to write before the next leader can start.
    await this.election?.release();
    this.#always.abort(new Error('the manager stops'));
    await this.#ended(this.#runningAlways, deadline);
    await this.caches.stop();
  }

  async #ended(running: readonly Running[], deadline: number): Promise<void> {
    const open = new Set(running);
    const all = Promise.all(running.map((one) => one.ended.then(() => open.delete(one))));
    const inTime = new AbortController();
    await Promise.race([all, sleep(this.clock, deadline - this.clock.monotonic(), inTime.signal)]);
    inTime.abort();
    if (open.size > 0)
      this.log.error('runnables did not stop in time', { runnables: [...open].map(({ name }) => name) });
  }

  #checkCaches(): void {
    if (!this.#synced) throw new Error('the caches are not filled yet');
    const [failing] = this.caches.failing();
    if (failing !== undefined) throw new Error(`the cache of ${failing.cache} is behind: ${failing.error.message}`);
  }
}

/**
 * `stopSignal` is aborted by the first SIGINT or SIGTERM. A second signal ends the process in the default way. For
 * `main` only.
 */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(new Error(`got ${name}`)));
  return stop.signal;
}

/** Resolves with true if the work ended before the signal was aborted; rejects if the work does. */
function before(signal: AbortSignal, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const stop = () => resolve(false);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(
      () => resolve(true),
      (error: unknown) => reject(error),
    );
  });
}

async function report(checks: readonly (readonly [string, HealthCheck])[]): Promise<HealthReport> {
  const results = await Promise.all(
    checks.map(async ([name, check]) => {
      try {
        await check();
        return { name };
      } catch (error) {
        return { name, error: error instanceof Error ? error.message : String(error) };
      }
    }),
  );
  return { healthy: results.every((result) => !('error' in result)), checks: results };
}
