/**
 * Reports the state of records to the platform until each report is acknowledged. The pending report is part of the record, so
 * a crash loses nothing: the next instance finds what is unreported. Only the newest state of an object is sent.
 *
 * The final cost of an object is reported before its deletion: while the object exists, the platform knows who pays for it.
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

interface ReporterOptions {
  readonly broker: string;
  readonly provider: Provider;
  readonly sender: StatusSender;
  readonly now: () => number;
  /** The currency of the prices; without it no costs are reported. */
  readonly currency?: string | undefined;
  readonly workers?: number;
  readonly metrics: BrokerMetrics;
  readonly log: Logger;
}

interface OneTimeReport {
  readonly event: RequestEvent;
  readonly report: Report;
  readonly sequence: number;
}

const maxOneTimeReports = 10_000;

export class Reporter {
  readonly #options: ReporterOptions;
  readonly #queue = new Workqueue({
    backoff: { baseMilliseconds: 250, maximumMilliseconds: 30_000 },
    bucket: { tokensPerSecond: 1_000, burst: 10_000 },
  });
  /** The newest acknowledged sequence by uid, for reports that are not worth a write to the record. */
  readonly #acknowledged = new Map<string, number>();
  readonly #resends = new Set<string>();
  readonly #oneTime = new Map<string, OneTimeReport>();
  #running: Promise<unknown> | undefined;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  /** Sends the unreported state of an object as soon as possible. */
  report(uid: string): void {
    this.#queue.add(uid);
  }

  /** Sends the state of an object once more, although it was acknowledged. */
  resend(uid: string): void {
    this.#resends.add(uid);
    this.#queue.add(uid);
  }

  /** Answers a request about an object without a record. If the answer is lost, the platform asks again. */
  reportOnce(event: RequestEvent, report: Report): void {
    const key = `once ${event.id}`;
    // A platform whose answer is dropped here asks again.
    const [oldest] = this.#oneTime.keys();
    if (this.#oneTime.size >= maxOneTimeReports && oldest !== undefined) this.#oneTime.delete(oldest);
    this.#oneTime.set(key, { event, report, sequence: nextSequence(undefined, this.#options.now()) });
    this.#queue.add(key);
  }

  /** Starts sending; until then reports are only queued. */
  start(): void {
    this.#running ??= Promise.all(Array.from({ length: this.#options.workers ?? 16 }, () => this.#work()));
  }

  async stop(): Promise<void> {
    await this.#queue.shutdown();
    await this.#running;
  }

  async #work(): Promise<void> {
    const { metrics, log } = this.#options;
    const queue = this.#queue;
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      try {
        await this.#sendPending(key);
        queue.forget(key);
      } catch (error) {
        metrics.reported('none', 'status', 'failed');
        log.warn('report not acknowledged; retrying', { uid: key, error });
        queue.addRateLimited(key);
      } finally {
        queue.done(key);
      }
    }
  }

  async #sendPending(key: string): Promise<void> {
    const single = this.#oneTime.get(key);
    if (single !== undefined) {
      await this.#deliver(single.event.data, single.event, single.report, single.sequence, undefined);
      if (this.#oneTime.get(key) === single) this.#oneTime.delete(key);
      return;
    }
    const { provider, currency } = this.#options;
    const stored = provider.records.known(key) ?? (await provider.records.get(key));
    if (stored === undefined) return;
    const { record } = stored;
    const isResend = this.#resends.has(key);
    const isDue = isResend || (isUnreported(record) && (this.#acknowledged.get(key) ?? -1) < record.sequence);
    const meter = currency === undefined ? undefined : unbilledMeter(record);
    if (currency !== undefined && meter !== undefined) await this.#deliverCosts(record, meter, currency);
    if (isDue) {
      await this.#deliver(record.request, record.trace, record.report, record.sequence, record);
      if (isResend) this.#resends.delete(key);
      this.#acknowledged.set(key, record.sequence);
    }
    if (meter !== undefined || (isDue && isSettled(record.report))) {
      await this.#storeAcknowledgement(key, record.sequence, meter);
    }
  }

  /** Retries on the newer record if the record has changed meanwhile. */
  async #storeAcknowledgement(uid: string, sequence: number, meter: Meter | undefined): Promise<void> {
    const { records } = this.#options.provider;
    for (let stored = records.known(uid); stored !== undefined; stored = await records.get(uid)) {
      const acknowledged = acknowledge(stored.record, sequence);
      const next = meter === undefined ? acknowledged : markBilled(acknowledged, meter);
      if (next === stored.record || (await records.put(next, stored.version)) !== undefined) {
        this.#acknowledged.delete(uid);
        return;
      }
    }
  }

  /** Rejects until all amounts are acknowledged, or refused for good. */
  async #deliverCosts({ request, trace, uid }: DeploymentRecord, meter: Meter, currency: string): Promise<void> {
    const { broker, sender, metrics, log, now } = this.#options;
    const { generation: _, ...resource } = request.resource;
    for (const amount of finalAmounts(meter)) {
      const data = { broker, resource, currency, ...amount, final: true };
      const event = usageEvent(data, { cause: trace, time: new Date(now()) });
      try {
        metrics.reported(await sender.send(event, request.replyTo, uid), 'usage', 'acknowledged');
      } catch (error) {
        if (!(error instanceof ChannelError) || error.failure !== 'refused') throw error;
        metrics.reported(error.channel, 'usage', 'refused');
        log.error('usage report refused by the platform; not retried', { uid, ...amount, error });
      }
    }
  }

  async #deliver(
    request: Pick<RequestEvent['data'], 'deploymentId' | 'resource' | 'replyTo'>,
    cause: Pick<RequestEvent, 'traceparent' | 'tracestate' | 'correlationid'>,
    { credentialsRevision, ...report }: Report,
    sequence: number,
    record: DeploymentRecord | undefined,
  ): Promise<void> {
    const { broker, sender, metrics, log, now } = this.#options;
    const { generation: _, ...resource } = request.resource;
    const credentials =
      record === undefined || credentialsRevision === undefined ? undefined : await this.#credentialsOf(record);
    const data: StatusReport = {
      broker,
      deploymentId: request.deploymentId,
      resource,
      sequence,
      ...report,
      ...(credentials === undefined ? {} : { credentials }),
    };
    const event = statusEvent(data, { cause, time: new Date(now()) });
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
      log.error('report refused by the platform; not retried', { ...fields, error });
    }
  }

  async #credentialsOf(record: DeploymentRecord): Promise<ReportedCredentials | undefined> {
    const { provider, log } = this.#options;
    const found = await provider.credentials(record);
    if (found === undefined || 'secretRef' in found) return found;
    const { encryptionKey } = record.request.replyTo;
    if (encryptionKey === undefined) {
      log.warn('credentials withheld: the request has no replyTo.encryptionKey', { uid: record.uid });
      return undefined;
    }
    return { revision: found.revision, jwe: await encryptTo(encryptionKey, found.values) };
  }
}
