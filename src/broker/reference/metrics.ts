/** The metrics of a reference broker. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ChannelName } from '../channel.ts';
import type { Action } from '../messages.ts';

export interface BrokerMetrics {
  requested(channel: ChannelName, action: Action, outcome: 'accepted' | 'duplicate' | 'stale'): void;
  /** Counts a refused request by reason. */
  refused(channel: ChannelName, reason: string): void;
  executed(kind: string, action: Action, result: string, seconds: number): void;
  reported(
    channel: ChannelName | 'none',
    kind: 'status' | 'heartbeat' | 'usage',
    result: 'acknowledged' | 'refused' | 'failed',
  ): void;
}

export function brokerMetrics(
  registry: Registry,
  state: { leads: () => boolean; records: () => number },
): BrokerMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'kidp_reference_broker_requests_total',
    help: 'Accepted requests, by outcome',
    labelNames: ['channel', 'action', 'outcome'],
    registers,
  });
  const refusals = new Counter({
    name: 'kidp_reference_broker_requests_refused_total',
    help: 'Refused requests, by reason',
    labelNames: ['channel', 'reason'],
    registers,
  });
  const work = new Histogram({
    name: 'kidp_reference_broker_work_duration_seconds',
    help: 'Duration of applying, observing or removing a deployment, by result',
    labelNames: ['kind', 'action', 'result'],
    buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const reports = new Counter({
    name: 'kidp_reference_broker_reports_total',
    help: 'Reports sent to the platform, by result',
    labelNames: ['channel', 'type', 'result'],
    registers,
  });
  new Gauge({
    name: 'kidp_reference_broker_leads',
    help: 'Whether this instance is the leader',
    registers,
    collect() {
      this.set(Number(state.leads()));
    },
  });
  new Gauge({
    name: 'kidp_reference_broker_records',
    help: 'Objects with a record',
    registers,
    collect() {
      this.set(state.records());
    },
  });
  return {
    requested: (channel, action, outcome) => requests.inc({ channel, action, outcome }),
    refused: (channel, reason) => refusals.inc({ channel, reason }),
    executed: (kind, action, result, seconds) => work.observe({ kind, action, result }, seconds),
    reported: (channel, type, result) => reports.inc({ channel, type, result }),
  };
}
