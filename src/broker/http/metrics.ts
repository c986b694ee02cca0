/**
 * The metrics of calls to brokers, with the names of docs/requirements.md, 000. All callers share one set per registry:
 * the dispatcher counts what was sent, reconcilers count what brokers reported later.
 */
import { Counter, Histogram, type Registry } from 'prom-client';
import type { ChannelName } from '../channel.ts';
import type { Action } from '../messages.ts';
import { oncePerRegistry } from '../once-per-registry.ts';

export interface BrokerCallMetrics {
  /** `result` is `success`, or the reason of the failure. */
  called(call: { broker: string; channel: ChannelName; action: Action; result: string; seconds: number }): void;
  failed(broker: string, channel: ChannelName, reason: string): void;
}

export const brokerCallMetrics = oncePerRegistry((registry: Registry): BrokerCallMetrics => {
  const duration = new Histogram({
    name: 'kidp_broker_call_duration_seconds',
    help: 'Time until a request was acknowledged by the broker, or by Kafka on its behalf',
    labelNames: ['broker', 'channel', 'action', 'result'],
    buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  });
  const errors = new Counter({
    name: 'kidp_broker_call_errors_total',
    help: 'Failed calls to brokers, by reason',
    labelNames: ['broker', 'channel', 'reason'],
    registers: [registry],
  });
  return {
    called: ({ broker, channel, action, result, seconds }) =>
      duration.observe({ broker, channel, action, result }, seconds),
    failed: (broker, channel, reason) => errors.inc({ broker, channel, reason }),
  };
});
