/**
 * Tells the platform what records say, until it is acknowledged. What is to be told is in the record, so a crash loses nothing: who
 * starts next finds what is untold. Only the newest state of an object is told; one that was overtaken is of no use any more.
 *
 * What a thing has cost in all is told before it is said to be gone: while its object is there, it is known who pays.
 */
import { type Logger, Workqueue } from '../../runtime/index.ts';
import { ChannelError } from '../channel.ts';
import { statusEvent, usageEvent } from '../contract/index.ts';
import { encryptTo } from '../identity/index.ts';
import type { ReportedCredentials, RequestEvent, StatusReport } from '../messages.ts';
import type { BrokerMetrics } from './metrics.ts';
import type { Provider } from './provider.ts';
import {
  acknowledge,
  type DeploymentRecord,
  isSettled,
  isUnreported,
  markBilled,
  nextSequence,
  type Report,
  unbilledMeter,
} from './record.ts';
import type { StatusSender } from './sender.ts';
import { finalAmounts, type Meter } from './usage.ts';

export interface Reporter {
  /** What is untold of this object, as soon as it can be. */
  report(uid: string): void;
  /** Once more, though it was acknowledged. */
  resend(uid: string): void;
  /** About something there is no record of. Whoever asks will ask again should this get lost. */
  reportOnce(event: RequestEvent, report: Report): void;
  /** Begins to send; until then things are only remembered. */
  start(): void;
  stop(): Promise<void>;
}

interface ReporterOptions {
  readonly broker: string;
  readonly provider: Provider;
  readonly sender: StatusSender;
  readonly now: () => number;
  /** Of the prices; without it nothing is said of costs. */
  readonly currency?: string | undefined;
  readonly workers?: number;
  readonly metrics: BrokerMetrics;
  readonly log: Logger;
}

const maxAtOnce = 10_000;

export function openReporter(options: ReporterOptions): Reporter {
  const { broker, provider, sender, currency, metrics, log, workers = 16 } = options;
  const { records } = provider;
  const queue = new Workqueue({
    backoff: { baseMilliseconds: 250, maximumMilliseconds: 30_000 },
    bucket: { tokensPerSecond: 1_000, burst: 10_000 },
  });
  /** The newest sequence that was acknowledged to this instance, for what is not worth a write. */
  const acknowledgedSequences = new Map<string, number>();
  const resends = new Set<string>();
  const oneTimeReports = new Map<
    string,
    { readonly event: RequestEvent; readonly report: Report; readonly sequence: number }
  >();
  let running: Promise<unknown> | undefined;

  async function work(): Promise<void> {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      try {
        await sendPending(key);
        queue.forget(key);
      } catch (error) {
        metrics.reported('none', 'status', 'failed');
        log.warn('a report is not acknowledged, it is sent again', { uid: key, error });
        queue.addRateLimited(key);
      } finally {
        queue.done(key);
      }
    }
  }

  async function sendPending(key: string): Promise<void> {
    const single = oneTimeReports.get(key);
    if (single !== undefined) {
      await deliver(single.event.data, single.event, single.report, single.sequence, undefined);
      if (oneTimeReports.get(key) === single) oneTimeReports.delete(key);
      return;
    }
    const stored = records.known(key) ?? (await records.get(key));
    if (stored === undefined) return;
    const { record } = stored;
    const isRepeated = resends.has(key);
    const isDue = isRepeated || (isUnreported(record) && (acknowledgedSequences.get(key) ?? -1) < record.sequence);
    const meter = currency === undefined ? undefined : unbilledMeter(record);
    if (currency !== undefined && meter !== undefined) await deliverCosts(record, meter, currency);
    if (isDue) {
      await deliver(record.request, record.trace, record.report, record.sequence, record);
      if (isRepeated) resends.delete(key);
      acknowledgedSequences.set(key, record.sequence);
    }
    if (meter !== undefined || (isDue && isSettled(record.report)))
      await storeAcknowledgement(key, record.sequence, meter);
  }

  /** Where the record has moved on meanwhile, it is tried on the new one. */
  async function storeAcknowledgement(uid: string, sequence: number, meter: Meter | undefined): Promise<void> {
    for (let stored = records.known(uid); stored !== undefined; stored = await records.get(uid)) {
      const taken = acknowledge(stored.record, sequence);
      const next = meter === undefined ? taken : markBilled(taken, meter);
      if (next === stored.record || (await records.put(next, stored.version)) !== undefined) {
        acknowledgedSequences.delete(uid);
        return;
      }
    }
  }

  /** Rejects until all of it is taken, or refused for good. */
  async function deliverCosts({ request, trace, uid }: DeploymentRecord, meter: Meter, of: string): Promise<void> {
    const { generation: _, ...resource } = request.resource;
    for (const amount of finalAmounts(meter)) {
      const data = { broker, resource, currency: of, ...amount, final: true };
      const event = usageEvent(data, { cause: trace, time: new Date(options.now()) });
      try {
        metrics.reported(await sender.send(event, request.replyTo, uid), 'usage', 'acknowledged');
      } catch (error) {
        if (!(error instanceof ChannelError) || error.failure !== 'refused') throw error;
        metrics.reported(error.channel, 'usage', 'refused');
        log.error('the platform does not take what something has cost, and never will', { uid, ...amount, error });
      }
    }
  }

  async function deliver(
    request: Pick<RequestEvent['data'], 'deploymentId' | 'resource' | 'replyTo'>,
    cause: Pick<RequestEvent, 'traceparent' | 'tracestate' | 'correlationid'>,
    { credentialsRevision, ...report }: Report,
    sequence: number,
    record: DeploymentRecord | undefined,
  ): Promise<void> {
    const { generation: _, ...resource } = request.resource;
    const credentials =
      record === undefined || credentialsRevision === undefined ? undefined : await credentialsOf(record);
    const data: StatusReport = {
      broker,
      deploymentId: request.deploymentId,
      resource,
      sequence,
      ...report,
      ...(credentials === undefined ? {} : { credentials }),
    };
    const event = statusEvent(data, { cause, time: new Date(options.now()) });
    const fields = {
      subject: event.subject,
      deploymentId: data.deploymentId,
      phase: data.phase,
      sequence,
      correlationId: event.correlationid,
      traceparent: event.traceparent,
    };
    try {
      const channel = await sender.send(event, request.replyTo, resource.uid);
      metrics.reported(channel, 'status', 'acknowledged');
      log.info('report acknowledged', { ...fields, channel });
    } catch (error) {
      if (!(error instanceof ChannelError) || error.failure !== 'refused') throw error;
      metrics.reported(error.channel, 'status', 'refused');
      log.error('the platform does not take a report, and never will', { ...fields, error });
    }
  }

  async function credentialsOf(record: DeploymentRecord): Promise<ReportedCredentials | undefined> {
    const found = await provider.credentials(record);
    if (found === undefined || 'secretRef' in found) return found;
    const { encryptionKey } = record.request.replyTo;
    if (encryptionKey === undefined) {
      log.warn('credentials are kept back: the platform gave no key to encrypt them to', { uid: record.uid });
      return undefined;
    }
    return { revision: found.revision, jwe: await encryptTo(encryptionKey, found.values) };
  }

  return {
    report: (uid) => queue.add(uid),
    resend(uid) {
      resends.add(uid);
      queue.add(uid);
    },
    reportOnce(event, report) {
      const key = `once ${event.id}`;
      // Whoever asks so much asks again.
      const [oldest] = oneTimeReports.keys();
      if (oneTimeReports.size >= maxAtOnce && oldest !== undefined) oneTimeReports.delete(oldest);
      oneTimeReports.set(key, { event, report, sequence: nextSequence(undefined, options.now()) });
      queue.add(key);
    },
    start() {
      running ??= Promise.all(Array.from({ length: workers }, work));
    },
    async stop() {
      await queue.shutdown();
      await running;
    },
  };
}
