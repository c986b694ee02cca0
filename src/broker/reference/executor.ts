/**
 * Carries out what records ask for, and looks after what was carried out: for each object one thing at a time, always by the newest
 * record. What it finds goes back into the record, over the very version it was worked from; where that has changed meanwhile, it
 * begins anew from there.
 */
import { FenceError, type Logger, Workqueue } from '../../runtime/index.ts';
import type { BrokerMetrics } from './metrics.ts';
import { type Provider, ProviderFailure, type ProviderState, permanent, type StoredRecord } from './provider.ts';
import { applyObservation, type DeploymentRecord, isExpired, type Observation } from './record.ts';
import type { Reporter } from './reporter.ts';
import { type Meter, type PriceTable, pricePerHour, settleMeter } from './usage.ts';

interface Executor {
  /** Something was asked for or has happened. */
  enqueue(uid: string): void;
  start(): void;
  stop(): Promise<void>;
}

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

export function openExecutor(options: ExecutorOptions): Executor {
  const { provider, reporter, metrics, log, prices, workers = 16 } = options;
  const { records } = provider;
  const queue = new Workqueue({
    backoff: { baseMilliseconds: 100, maximumMilliseconds: 30_000 },
    bucket: { tokensPerSecond: 1_000, burst: 10_000 },
  });
  let running: Promise<unknown> | undefined;

  async function work(): Promise<void> {
    for (let uid = await queue.get(); uid !== undefined; uid = await queue.get()) {
      try {
        await reconcile(uid);
        queue.forget(uid);
      } catch (error) {
        // The right to write is gone: this process ends, and who leads next goes on.
        if (!(error instanceof FenceError))
          log.warn('it is tried again', { uid, error, failures: queue.failures(uid) });
        queue.addRateLimited(uid);
      } finally {
        queue.done(uid);
      }
    }
  }

  async function reconcile(uid: string): Promise<void> {
    const stored = records.known(uid);
    if (stored === undefined) return;
    const prepared = await prepare(stored);
    if (prepared === undefined) {
      queue.add(uid);
      return;
    }
    const { record, version } = prepared;
    if (record.state === 'deleted') {
      if (isExpired(record, options.now(), options.keptMilliseconds)) await records.drop(uid, version);
      else
        queue.addAfter(uid, Math.max(60_000, Date.parse(record.changedAt) + options.keptMilliseconds - options.now()));
      return;
    }
    const { action, resource } = record.request;
    const began = performance.now();
    const { observation, requeueAfterMilliseconds } = await execute(record);
    metrics.executed(resource.kind, action, observation.report.phase, (performance.now() - began) / 1000);
    const meter = settledMeter(record, observation);
    const next = applyObservation(
      record,
      { ...observation, ...(meter === undefined ? {} : { meter }) },
      { now: options.now(), instance: options.instance },
    );
    if (next !== record) {
      if ((await records.put(next, version)) === undefined) {
        queue.add(uid);
        return;
      }
      if (next.sequence !== record.sequence) reporter.report(uid);
    }
    if (requeueAfterMilliseconds !== undefined) queue.addAfter(uid, requeueAfterMilliseconds);
  }

  /** With what has to be written down first; undefined where somebody else was faster. A failure comes up again in `outcomeOf`. */
  async function prepare(stored: StoredRecord): Promise<StoredRecord | undefined> {
    const { record, version } = stored;
    if (provider.prepare === undefined || !needsPreparation(record)) return stored;
    const notes = await provider.prepare(record).catch((error: unknown) => {
      if (error instanceof ProviderFailure) return undefined;
      throw error;
    });
    return notes === undefined ? stored : records.put({ ...record, notes }, version);
  }

  async function execute(
    record: DeploymentRecord,
  ): Promise<{ observation: Observation; requeueAfterMilliseconds?: number | undefined }> {
    try {
      if (record.request.action === 'Delete') {
        await provider.prepare?.(record);
        return await remove(record);
      }
      if (record.state === 'failed') return { observation: { state: 'failed', report: record.report } };
      if (record.state === 'claimed') {
        requireCapability(provider, record);
        await provider.prepare?.(record);
      }
      const seen = record.state === 'claimed' ? await provider.apply(record) : await provider.observe(record);
      return { observation: observationOf(seen), requeueAfterMilliseconds: seen.requeueAfterMilliseconds };
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      log.warn('it cannot be done', { deploymentId: record.deploymentId, code: error.code, why: error.message });
      const { class: kind, code, message } = error;
      const report = { phase: 'failed', message, error: { class: kind, code, message } } as const;
      return { observation: { state: 'failed', report } };
    }
  }

  async function remove(record: DeploymentRecord) {
    const removal = await provider.remove(record);
    if (removal.gone) return { observation: { state: 'deleted', report: { phase: 'deleted' } } as const };
    return {
      observation: { state: 'claimed', report: { phase: 'deploying', message: removal.message } } as const,
      requeueAfterMilliseconds: removal.requeueAfterMilliseconds,
    };
  }

  /** It runs from when the thing was first there until it is gone. */
  function settledMeter(record: DeploymentRecord, { state }: Observation): Meter | undefined {
    const { meter, request } = record;
    const isPriced = state === 'done' && prices !== undefined;
    const price = state === 'deleted' ? 0 : isPriced ? pricePerHour(prices, request) : undefined;
    if (price === undefined || (meter?.microsPerHour ?? 0) === price) return undefined;
    return settleMeter(meter, price, options.now());
  }

  return {
    enqueue: (uid) => queue.add(uid),
    start() {
      running ??= Promise.all(Array.from({ length: workers }, work));
    },
    async stop() {
      await queue.shutdown();
      await running;
    },
  };
}

/** What was done is only watched, and what has failed waits for something newer; what is to go is looked at until it is gone. */
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
  throw permanent(
    'unsupported-kind',
    `this broker makes no ${record.request.resource.kind}: aim it at a target whose broker does (this one has ${provider.capabilities.join(', ')})`,
  );
}
