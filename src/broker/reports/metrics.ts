/** Metrics of reports from both channels. All callers share one set per registry. */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { ChannelName } from '../channel.ts';
import { oncePerRegistry } from '../once-per-registry.ts';

export interface ReportMetrics {
  /**
   * `result` is the outcome, or `retry` if the report could not be processed now. `delaySeconds` is the age of the
   * event.
   */
  received(report: { broker: string; channel: ChannelName; type: string; result: string; delaySeconds: number }): void;
  /** Counts an event that was rejected before it reached the sink, by the code of the problem. */
  rejected(channel: ChannelName, code: string): void;
}

export const reportMetrics = oncePerRegistry((registry: Registry): ReportMetrics => {
  const registers = [registry];
  const reports = new Counter({
    name: 'kidp_broker_reports_total',
    help: 'Events received from brokers, by result',
    labelNames: ['broker', 'channel', 'type', 'result'],
    registers,
  });
  const delay = new Histogram({
    name: 'kidp_broker_report_delay_seconds',
    help: 'Time from an event, by the clock of the broker, until it was applied',
    labelNames: ['channel', 'type'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  const rejected = new Counter({
    name: 'kidp_broker_events_rejected_total',
    help: 'Events that could not be parsed or verified, by code',
    labelNames: ['channel', 'code'],
    registers,
  });
  return {
    received({ broker, channel, type, result, delaySeconds }) {
      reports.inc({ broker, channel, type, result });
      if (result === 'applied') delay.observe({ channel, type }, Math.max(0, delaySeconds));
    },
    rejected: (channel, code) => rejected.inc({ channel, code }),
  };
});
