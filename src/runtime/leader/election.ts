/**
 * Leader election on a Lease. One object is one candidacy: `acquire` waits for the Lease, `signal` is aborted when it
 * is lost, `release` gives it up. A candidacy that has ended cannot be restarted: the process exits and another one
 * starts.
 *
 * It is safe under clock skew, because no time written by another machine is compared with the local clock. A candidate
 * takes over once it has seen the same record for a whole lease duration on its own monotonic clock. A leader stops
 * `renewDeadline` after it *sent* its last successful renewal, which is before any candidate can have started to count.
 * The two clocks must run at about the same rate: they may differ by the ratio of `renewDeadline` to `leaseDuration`, a
 * third by default.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Client, Fence, RequestOptions } from '../client/client.ts';
import { type Clock, microTime, sleep, systemClock } from '../clock.ts';
import { ConfigError, FenceError, isAlreadyExists, isConflict, isNotFound } from '../errors.ts';
import type { ObjectKey } from '../objects/object.ts';
import { type Logger, silentLogger } from '../telemetry/logger.ts';
import { type Lease, type LeaseSpec, leases } from './lease.ts';

export interface ElectionOptions {
  /**
   * A client with its own connections (call `connect` again). On shared connections, renewals would wait behind the
   * writes of the leader to a slow server until the Lease is lost.
   */
  client: Client;
  lease: Required<ObjectKey>;
  /** Must be unique for each start of a process. Default: a unique one. */
  identity?: string;
  /** The time after which a candidate takes over a record that does not change. Whole seconds. */
  leaseDurationMilliseconds?: number;
  /** The time for which a leader acts on its last renewal. */
  renewDeadlineMilliseconds?: number;
  /** The interval at which the leader renews and a candidate checks. */
  retryPeriodMilliseconds?: number;
  clock?: Clock;
  log?: Logger;
  /** Returns a number between 0 and 1 that spreads candidates. */
  random?: () => number;
}

interface Observation {
  readonly record: string;
  /** The time on the monotonic clock since which the record has not changed. */
  readonly since: number;
  readonly validMilliseconds: number;
}

type Renewal = 'renewed' | 'failed' | 'taken' | 'deleted';

/**
 * A `LeaderElection` is one candidacy for a Lease. Most programs let a `Manager` run it.
 *
 * @example
 * import { connect, fenced, LeaderElection, loadKubeconfig, stopSignal } from 'kidp/runtime';
 *
 * const config = loadKubeconfig();
 * const election = new LeaderElection({ client: connect(config), lease: { namespace: 'default', name: 'example' } });
 * if (await election.acquire(stopSignal())) {
 *   const client = fenced(connect(config), election); // Its writes end with the Lease.
 *   console.log('leading, term', election.term, client);
 *   await election.release();
 * }
 */
export class LeaderElection implements Fence {
  readonly identity: string;
  readonly lease: Required<ObjectKey>;
  readonly #client: Client;
  readonly #duration: number;
  readonly #deadline: number;
  readonly #retry: number;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #random: () => number;

  #observed: Observation | undefined;
  /** The highest number of transitions seen on the Lease, or on a deleted Lease of the same name. */
  #transitionsSeen = -1;
  /** The Lease as last written by this process. */
  #held: Lease | undefined;
  /** On both clocks: the monotonic clock stops while the machine sleeps, and the wall clock may be set back. */
  #leadsUntil: { monotonic: number; wall: number } | undefined;
  #cancelDeadline: (() => void) | undefined;
  readonly #ended = new AbortController();
  #renewing: Promise<void> | undefined;

  constructor(options: ElectionOptions) {
    this.#client = options.client;
    this.lease = options.lease;
    this.identity = options.identity ?? `${hostname()}_${randomUUID()}`;
    this.#duration = options.leaseDurationMilliseconds ?? 15_000;
    this.#deadline = options.renewDeadlineMilliseconds ?? 10_000;
    this.#retry = options.retryPeriodMilliseconds ?? 2_000;
    this.#clock = options.clock ?? systemClock;
    this.#log = (options.log ?? silentLogger).with({ lease: options.lease, identity: this.identity });
    this.#random = options.random ?? Math.random;
    this.#validate();
  }

  /** Aborted when the lease is lost (the reason is a `FenceError`) or released. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  get leading(): boolean {
    return this.remainingMilliseconds() > 0;
  }

  /**
   * The number of times the Lease has changed hands. It increases with each leader, so that others can distinguish
   * them. After the Lease is deleted, it increases only for a leader that had seen it; one that had not starts at 0.
   */
  get term(): number {
    return this.#held?.spec?.leaseTransitions ?? 0;
  }

  remainingMilliseconds(): number {
    if (this.#leadsUntil === undefined || this.#ended.signal.aborted) return 0;
    const { monotonic, wall } = this.#leadsUntil;
    return Math.min(monotonic - this.#clock.monotonic(), wall - this.#clock.now());
  }

  /**
   * Resolves with true once this process leads, or with false if the signal is aborted before. Retries indefinitely.
   */
  async acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      let wait: number;
      try {
        wait = await this.#tryToAcquire(signal);
      } catch (error) {
        wait = this.#jitteredRetry();
        if (!signal.aborted) this.#log.warn('reading or writing the lease failed; retrying', { error });
      }
      if (this.leading) {
        this.#log.info('lease acquired', { term: this.term });
        this.#renewing = this.#keepRenewing();
        return true;
      }
      await sleep(this.#clock, wait, signal);
    }
    return false;
  }

  /**
   * Stops renewing and ends the right to write, then releases the Lease, so that the next leader need not wait. Call it
   * after everything that needs leadership has stopped. A lost Lease is not touched.
   */
  async release(): Promise<void> {
    const mayRelease = this.leading;
    this.#end(new FenceError('the lease was released'));
    await this.#renewing;
    if (!mayRelease) return;
    try {
      const current = await this.#client.get<Lease>(leases, this.lease, { timeoutMilliseconds: this.#deadline });
      if (current.spec?.holderIdentity !== this.identity) return;
      const { acquireTime, leaseTransitions } = current.spec;
      await this.#client.update<Lease>(
        leases,
        // With the resourceVersion that was read: a late write cannot overwrite a successor.
        { ...current, spec: this.#spec({ acquireTime, leaseTransitions, holderIdentity: undefined }) },
        { timeoutMilliseconds: this.#deadline },
      );
      this.#log.info('lease released');
    } catch (error) {
      this.#log.warn('releasing the lease failed; it will expire', { error });
    }
  }

  /** Returns the wait before the next attempt; `leading` is true if this one succeeded. */
  async #tryToAcquire(signal: AbortSignal): Promise<number> {
    const options = { signal, timeoutMilliseconds: this.#deadline };
    const current = await this.#client.get<Lease>(leases, this.lease, options).catch((error) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    const now = this.#clock.monotonic();
    // If the Lease of a known leader was deleted, that leader may still act on it.
    if (current !== undefined) this.#observe(current, now);
    const expiresIn = this.#observed === undefined ? 0 : this.#observed.since + this.#observed.validMilliseconds - now;
    const free = current === undefined ? false : (current.spec?.holderIdentity ?? '') === '';
    const ours = current?.spec?.holderIdentity === this.identity;
    if (!free && !ours && expiresIn > 0) return Math.min(this.#jitteredRetry(), expiresIn);

    const sent = this.#instant();
    try {
      this.#held = await this.#write(current, options);
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error)) throw error;
      return this.#jitteredRetry();
    }
    this.#leadFrom(sent);
    return 0;
  }

  #write(current: Lease | undefined, options: RequestOptions): Promise<Lease> {
    const now = microTime(this.#clock.now());
    if (current === undefined) {
      const metadata = { ...this.lease };
      const spec = this.#spec({ acquireTime: now, leaseTransitions: this.#transitionsSeen + 1 });
      return this.#client.create<Lease>(
        leases,
        { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec },
        options,
      );
    }
    const { holderIdentity, acquireTime, leaseTransitions = 0 } = current.spec ?? {};
    const spec =
      holderIdentity === this.identity
        ? this.#spec({ acquireTime, leaseTransitions })
        : this.#spec({ acquireTime: now, leaseTransitions: Math.max(leaseTransitions, this.#transitionsSeen) + 1 });
    return this.#client.update<Lease>(leases, { ...current, spec }, options);
  }

  async #keepRenewing(): Promise<void> {
    while (!this.signal.aborted) {
      await sleep(this.#clock, this.#retry, this.signal);
      if (this.signal.aborted) return;
      // Resumed late, after a pause of the process: nothing more may be written, not even a renewal.
      if (!this.leading) return this.#lose('it was not renewed in time');
      const outcome = await this.#renew();
      if (outcome === 'taken') return this.#lose('another candidate holds it');
      if (outcome === 'deleted') return this.#lose('it was deleted');
    }
  }

  async #renew(): Promise<Renewal> {
    if (this.#held === undefined) return 'failed';
    try {
      return await this.#writeRenewal(this.#held);
    } catch (error) {
      if (isNotFound(error)) return 'deleted';
      if (isConflict(error)) return this.#renewAfterConflict();
      return this.#couldNotRenew(error);
    }
  }

  /**
   * Handles a conflict on renewal: another candidate wrote the Lease, or only a label was added, or it was a renewal of
   * this process whose answer was lost. If this process still holds the Lease, it renews at once: after a lost answer
   * there is no time for another retry period.
   */
  async #renewAfterConflict(): Promise<Renewal> {
    try {
      const current = await this.#client.get<Lease>(leases, this.lease, this.#renewalOptions());
      if (current.spec?.holderIdentity !== this.identity) return 'taken';
      this.#held = current;
      return await this.#writeRenewal(current);
    } catch (error) {
      return isNotFound(error) ? 'deleted' : this.#couldNotRenew(error);
    }
  }

  async #writeRenewal(held: Lease): Promise<Renewal> {
    const sent = this.#instant();
    this.#held = await this.#write(held, { ...this.#renewalOptions(), fence: this });
    this.#leadFrom(sent);
    return 'renewed';
  }

  #couldNotRenew(error: unknown): Renewal {
    if (!this.signal.aborted) this.#log.warn('renewing the lease failed; retrying', { error });
    return 'failed';
  }

  #renewalOptions(): { signal: AbortSignal; timeoutMilliseconds: number } {
    // Half of the deadline, so that one dead connection leaves time for a second attempt.
    const timeoutMilliseconds = Math.max(1, Math.min(this.remainingMilliseconds(), this.#deadline / 2));
    return { signal: this.signal, timeoutMilliseconds };
  }

  #observe(lease: Lease, now: number): void {
    this.#transitionsSeen = Math.max(this.#transitionsSeen, lease.spec?.leaseTransitions ?? 0);
    const record = JSON.stringify(lease.spec ?? {});
    if (this.#observed?.record === record) return;
    const seconds = lease.spec?.leaseDurationSeconds;
    this.#observed = {
      record,
      since: now,
      validMilliseconds: seconds === undefined ? this.#duration : seconds * 1000,
    };
  }

  /**
   * A renewal that was sent long ago and is answered only now, because the process was stopped meanwhile, extends
   * nothing.
   */
  #leadFrom(sent: { monotonic: number; wall: number }): void {
    if (this.signal.aborted) return;
    this.#leadsUntil = { monotonic: sent.monotonic + this.#deadline, wall: sent.wall + this.#deadline };
    this.#watchDeadline();
  }

  #watchDeadline(): void {
    this.#cancelDeadline?.();
    this.#cancelDeadline = this.#clock.schedule(this.remainingMilliseconds(), () => {
      // A timer may fire slightly early, or the wall clock was set back: wait for the rest of the time.
      if (this.leading) this.#watchDeadline();
      else if (this.#renewing !== undefined) this.#lose('it was not renewed in time');
    });
  }

  #lose(why: string): void {
    if (this.signal.aborted) return;
    this.#log.error('lease lost', { why, term: this.term });
    this.#end(new FenceError(`the lease ${this.lease.namespace}/${this.lease.name} was lost: ${why}`));
  }

  #end(reason: FenceError): void {
    this.#cancelDeadline?.();
    this.#leadsUntil = undefined;
    this.#ended.abort(reason);
  }

  #spec(part: {
    acquireTime: string | undefined;
    leaseTransitions: number | undefined;
    holderIdentity?: string | undefined;
  }): LeaseSpec {
    const held = !('holderIdentity' in part);
    return {
      ...(held ? { holderIdentity: this.identity } : {}),
      leaseDurationSeconds: held ? this.#duration / 1000 : 1,
      ...(part.acquireTime === undefined ? {} : { acquireTime: part.acquireTime }),
      renewTime: microTime(this.#clock.now()),
      leaseTransitions: part.leaseTransitions ?? 0,
    };
  }

  #instant(): { monotonic: number; wall: number } {
    return { monotonic: this.#clock.monotonic(), wall: this.#clock.now() };
  }

  /**
   * At most nine tenths of the period, so that including requests a takeover takes at most the lease duration and one
   * retry period.
   */
  #jitteredRetry(): number {
    return this.#retry * (0.7 + 0.2 * this.#random());
  }

  #validate(): void {
    const wrong =
      this.#duration % 1000 !== 0 || this.#duration <= 0
        ? 'leaseDurationMilliseconds must be whole seconds, at least one'
        : this.#deadline >= this.#duration
          ? 'renewDeadlineMilliseconds must be less than leaseDurationMilliseconds'
          : this.#retry * 1.2 >= this.#deadline || this.#retry <= 0
            ? 'retryPeriodMilliseconds must be more than 0 and well under renewDeadlineMilliseconds'
            : undefined;
    if (wrong === undefined) return;
    throw new ConfigError({
      code: 'leader-election',
      message: wrong,
      hint: 'The defaults are 15000, 10000 and 2000',
    });
  }
}
