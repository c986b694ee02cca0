/**
 * Reconciles records: carries out what a record requests, and watches the result. Each object is reconciled by one worker at a
 * time, always from its newest record. The outcome is written back over the version it was computed from; if that version has
 * changed, the object is requeued.
 */
import { FenceError, type Logger, Workqueue } from '../../runtime/index.ts';
import type { BrokerMetrics } from './metrics.ts';
import { type Provider, ProviderFailure, type ProviderState, permanent, type StoredRecord } from './provider.ts';
import { applyObservation, type DeploymentRecord, isExpired, type Observation } from './record.ts';
import type { Reporter } from './reporter.ts';
import { type Meter, type PriceTable, pricePerHour, settleMeter } from './usage.ts';

interface ExecutorOptions {
  readonly provider: Provider;
  readonly reporter: Reporter;
  readonly instance: string;
  readonly now: () => number;
  readonly prices?: PriceTable | undefined;
  readonly keptMilliseconds: number;
  readonly workers?: number;
  readonly metrics: BrokerMetrics;
  readonly log: Logger;
}

interface Execution {
  readonly observation: Observation;
  readonly requeueAfterMilliseconds?: number | undefined;
}

const shortestTombstoneCheck = 60_000;

export class Executor {
  readonly #options: ExecutorOptions;
  readonly #queue = new Workqueue({
    backoff: { baseMilliseconds: 100, maximumMilliseconds: 30_000 },
    bucket: { tokensPerSecond: 1_000, burst: 10_000 },
  });
  #running: Promise<unknown> | undefined;

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** Reconciles an object that was requested or has changed. */
  enqueue(uid: string): void {
    this.#queue.add(uid);
  }

  start(): void {
    this.#running ??= Promise.all(Array.from({ length: this.#options.workers ?? 16 }, () => this.#work()));
  }

  async stop(): Promise<void> {
    await this.#queue.shutdown();
    await this.#running;
  }

  async #work(): Promise<void> {
    const queue = this.#queue;
    for (let uid = await queue.get(); uid !== undefined; uid = await queue.get()) {
      try {
        await this.#reconcile(uid);
        queue.forget(uid);
      } catch (error) {
        // A FenceError means that this instance lost its lease: the process ends and the next leader continues.
        if (!(error instanceof FenceError)) {
          this.#options.log.warn('reconcile failed; requeued', { uid, error, failures: queue.failures(uid) });
        }
        queue.addRateLimited(uid);
      } finally {
        queue.done(uid);
      }
    }
  }

  async #reconcile(uid: string): Promise<void> {
    const { provider, reporter, metrics, now, instance } = this.#options;
    const stored = provider.records.known(uid);
    if (stored === undefined) return;
    const prepared = await this.#prepare(stored);
    if (prepared === undefined) return this.enqueue(uid);
    const { record, version } = prepared;
    if (record.state === 'deleted') return this.#expire(prepared);
    const { action, resource } = record.request;
    const started = performance.now();
    const { observation, requeueAfterMilliseconds } = await this.#execute(record);
    metrics.executed(resource.kind, action, observation.report.phase, (performance.now() - started) / 1000);
    const meter = this.#settledMeter(record, observation);
    const next = applyObservation(
      record,
      { ...observation, ...(meter === undefined ? {} : { meter }) },
      { now: now(), instance },
    );
    if (next !== record) {
      if ((await provider.records.put(next, version)) === undefined) return this.enqueue(uid);
      if (next.sequence !== record.sequence) reporter.report(uid);
    }
    if (requeueAfterMilliseconds !== undefined) this.#queue.addAfter(uid, requeueAfterMilliseconds);
  }

  /** Drops a tombstone once it has expired. */
  async #expire({ record, version }: StoredRecord): Promise<void> {
    const { provider, keptMilliseconds, now } = this.#options;
    if (isExpired(record, now(), keptMilliseconds)) return provider.records.drop(record.uid, version);
    const remaining = Date.parse(record.changedAt) + keptMilliseconds - now();
    this.#queue.addAfter(record.uid, Math.max(shortestTombstoneCheck, remaining));
  }

  /**
   * Stores the notes that must be written before anything is made or removed. Resolves to undefined if the record has changed
   * meanwhile. A `ProviderFailure` is ignored here: it occurs again in `#execute`, which reports it.
   */
  async #prepare(stored: StoredRecord): Promise<StoredRecord | undefined> {
    const { provider } = this.#options;
    const { record, version } = stored;
    if (provider.prepare === undefined || !needsPreparation(record)) return stored;
    const notes = await provider.prepare(record).catch((error: unknown) => {
      if (error instanceof ProviderFailure) return undefined;
      throw error;
    });
    return notes === undefined ? stored : provider.records.put({ ...record, notes }, version);
  }

  async #execute(record: DeploymentRecord): Promise<Execution> {
    const { provider, log } = this.#options;
    try {
      if (record.request.action === 'Delete') {
        await provider.prepare?.(record);
        return await this.#remove(record);
      }
      if (record.state === 'failed') return { observation: { state: 'failed', report: record.report } };
      if (record.state === 'claimed') {
        requireCapability(provider, record);
        await provider.prepare?.(record);
      }
      const state = record.state === 'claimed' ? await provider.apply(record) : await provider.observe(record);
      return { observation: observationOf(state), requeueAfterMilliseconds: state.requeueAfterMilliseconds };
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      const { class: kind, code, message } = error;
      log.warn('deployment failed', { deploymentId: record.deploymentId, code, reason: message });
      const report = { phase: 'failed', message, error: { class: kind, code, message } } as const;
      return { observation: { state: 'failed', report } };
    }
  }

  async #remove(record: DeploymentRecord): Promise<Execution> {
    const removal = await this.#options.provider.remove(record);
    if (removal.gone) return { observation: { state: 'deleted', report: { phase: 'deleted' } } };
    return {
      observation: { state: 'claimed', report: { phase: 'deploying', message: removal.message } },
      requeueAfterMilliseconds: removal.requeueAfterMilliseconds,
    };
  }

  /** The meter runs from the first successful deployment until the removal. Undefined if the price has not changed. */
  #settledMeter({ meter, request }: DeploymentRecord, { state }: Observation): Meter | undefined {
    const { prices, now } = this.#options;
    const isPriced = state === 'done' && prices !== undefined;
    const price = state === 'deleted' ? 0 : isPriced ? pricePerHour(prices, request) : undefined;
    if (price === undefined || (meter?.microsPerHour ?? 0) === price) return undefined;
    return settleMeter(meter, price, now());
  }
}

/** A finished deployment is only watched, and a failed one waits for a newer request; a removal continues until all is gone. */
const needsPreparation = ({ state, request }: DeploymentRecord): boolean =>
  state === 'claimed' || (request.action === 'Delete' && state !== 'deleted');

const observationOf = ({ report, notes }: ProviderState): Observation => ({
  state: 'done',
  report,
  ...(notes === undefined ? {} : { notes }),
});

function isCapable({ capabilities }: Provider, { request }: DeploymentRecord): boolean {
  const { kind } = request.resource;
  return capabilities.some((each) => each === kind || each.startsWith(`${kind}/`));
}

function requireCapability(provider: Provider, record: DeploymentRecord): void {
  if (isCapable(provider, record)) return;
  const { kind } = record.request.resource;
  throw permanent(
    'unsupported-kind',
    `this broker does not support ${kind}, only ${provider.capabilities.join(', ')}. Choose a DeploymentTarget whose broker supports ${kind}`,
  );
}
