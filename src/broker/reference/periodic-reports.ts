/** Sends what a broker reports periodically: heartbeats and costs. A later report replaces an earlier one. */
import type { Clock, Logger } from '../../runtime/index.ts';
import { sleep } from '../../runtime/internal.ts';
import { heartbeatEvent, usageEvent } from '../contract/index.ts';
import type { BrokerEvent } from '../messages.ts';
import type { BrokerMetrics } from './metrics.ts';
import type { Provider } from './provider.ts';
import type { StatusSender } from './sender.ts';
import { amounts, type PriceTable } from './usage.ts';

interface PeriodicReportOptions {
  readonly broker: string;
  readonly version: string;
  readonly provider: Provider;
  readonly sender: StatusSender;
  readonly heartbeatMilliseconds: number;
  readonly usageMilliseconds: number;
  readonly prices?: PriceTable | undefined;
  readonly clock: Clock;
  readonly metrics: BrokerMetrics;
  readonly log: Logger;
}

/** Sends heartbeats until the signal is aborted. */
export async function sendHeartbeats(options: PeriodicReportOptions, signal: AbortSignal): Promise<void> {
  const { broker, version, provider, clock } = options;
  while (!signal.aborted) {
    const event = heartbeatEvent(
      { broker, version, capabilities: provider.capabilities },
      { time: new Date(clock.now()) },
    );
    await attempt(options, 'heartbeat', event, {}, broker);
    await sleep(clock, options.heartbeatMilliseconds, signal);
  }
}

/**
 * Sends the costs of existing deployments until the signal is aborted, on the leader. The reporter sends the final cost
 * of a deleted one.
 */
export async function sendUsage(
  options: PeriodicReportOptions,
  prices: PriceTable,
  signal: AbortSignal,
): Promise<void> {
  const { broker, provider, clock } = options;
  while (!signal.aborted) {
    for (const { record } of provider.records.all()) {
      const { meter, request, state } = record;
      if (meter === undefined || state === 'deleted' || signal.aborted) continue;
      const { generation: _, ...resource } = request.resource;
      for (const amount of amounts(meter, clock.now())) {
        const event = usageEvent({ broker, resource, currency: prices.currency, ...amount }, { cause: record.trace });
        await attempt(options, 'usage', event, request.replyTo, record.uid);
      }
    }
    await sleep(clock, options.usageMilliseconds, signal);
  }
}

async function attempt(
  { sender, metrics, log }: PeriodicReportOptions,
  kind: 'heartbeat' | 'usage',
  event: BrokerEvent,
  replyTo: { readonly statusTopic?: string; readonly statusUrl?: string },
  key: string,
): Promise<void> {
  try {
    metrics.reported(await sender.send(event, replyTo, key), kind, 'acknowledged');
  } catch (error) {
    // The next report is due soon and contains the same, so this one is not retried.
    metrics.reported('none', kind, 'failed');
    log.warn('periodic report not acknowledged', { kind, error });
  }
}
