/** What is counted of reports, whichever way they came. One set a registry. */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { ChannelName } from '../channel.ts';
import { oncePerRegistry } from '../once-per-registry.ts';

export interface ReportMetrics {
  /** `result`: what became of it; `retry` where it could not be taken now. `delaySeconds`: since the broker said it. */
  received(report: { broker: string; channel: ChannelName; type: string; result: string; delaySeconds: number }): void;
  /** An event that never got so far, by the code of what was wrong with it. */
  rejected(channel: ChannelName, code: string): void;
}

export const reportMetrics = oncePerRegistry((registry: Registry): ReportMetrics => {
  const registers = [registry];
  const reports = new Counter({
    name: 'kidp_broker_reports_total',
    help: 'Events of brokers by what became of them',
    labelNames: ['broker', 'channel', 'type', 'result'],
    registers,
  });
  const delay = new Histogram({
    name: 'kidp_broker_report_delay_seconds',
    help: 'From the time of an event, by the clock of the broker, until it was taken',
    labelNames: ['channel', 'type'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  const rejected = new Counter({
    name: 'kidp_broker_events_rejected_total',
    help: 'Events that could not be read or did not come from whom they name, by reason',
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
