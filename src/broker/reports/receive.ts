/**
 * Passes an event of a verified broker to the sink, counts it and writes its audit line: the same for Kafka and HTTP.
 */
import { type Clock, type Logger, systemClock } from '../../runtime/index.ts';
import { type BrokerEvent, HEARTBEAT_TYPE, STATUS_TYPE } from '../messages.ts';
import type { ReportOutcome, ReportSink, VerifiedBroker } from '../sink.ts';
import type { ReportMetrics } from './metrics.ts';

export interface ReceiveOptions {
  readonly sink: ReportSink;
  readonly log: Logger;
  readonly metrics?: ReportMetrics | undefined;
  readonly clock?: Clock;
}

/** Receives a report. Rejects if the report must be redelivered. */
type ReceiveReport = (event: BrokerEvent, from: VerifiedBroker, signal?: AbortSignal) => Promise<ReportOutcome>;

export function reportReceiver({ sink, log, metrics, clock = systemClock }: ReceiveOptions): ReceiveReport {
  return async (event, from, signal) => {
    const counted = (result: string) =>
      metrics?.received({
        broker: from.name,
        channel: from.channel,
        type: kindOf(event),
        result,
        delaySeconds: (clock.now() - Date.parse(event.time)) / 1000,
      });
    let outcome: ReportOutcome;
    try {
      outcome = event.data.broker === from.name ? await sink.receive(event, from, signal) : wrongBroker(event, from);
    } catch (error) {
      counted('retry');
      log.warn('report could not be processed; it must be redelivered', { ...fieldsOf(event, from), error });
      throw error;
    }
    counted(outcome.result);
    if (outcome.result === 'refused') metrics?.rejected(from.channel, outcome.code);
    audit(event, from, outcome, log);
    return outcome;
  };
}

/** A broker may report only for itself, however valid its signature. */
const wrongBroker = ({ data }: BrokerEvent, { name }: VerifiedBroker): ReportOutcome => ({
  result: 'refused',
  code: 'wrong-broker',
  message: `Broker ${name} must not report as ${data.broker}`,
});

/**
 * Writes the audit trail of status updates (docs/requirements.md, 000). Heartbeats change nothing worth auditing, so
 * they are logged at debug level only.
 */
function audit(event: BrokerEvent, from: VerifiedBroker, outcome: ReportOutcome, log: Logger): void {
  const fields = { audit: true, ...fieldsOf(event, from), ...outcome };
  if (outcome.result === 'refused') log.warn('broker report refused', fields);
  else if (event.type === HEARTBEAT_TYPE) log.debug('broker heartbeat', fields);
  else log.info('broker report', fields);
}

function fieldsOf(event: BrokerEvent, from: VerifiedBroker) {
  const { id, subject, traceparent, correlationid } = event;
  const status = event.type === STATUS_TYPE ? event.data : undefined;
  return {
    broker: from.name,
    channel: from.channel,
    keyId: from.keyId,
    event: id,
    type: event.type,
    object: subject,
    uid: status?.resource.uid,
    deploymentId: status?.deploymentId,
    sequence: status?.sequence,
    phase: status?.phase,
    correlationId: correlationid ?? status?.deploymentId,
    traceparent,
  };
}

/** The kind of an event, as a label: `status`, `heartbeat` or `usage`. */
function kindOf({ type }: BrokerEvent): string {
  if (type === STATUS_TYPE) return 'status';
  return type === HEARTBEAT_TYPE ? 'heartbeat' : 'usage';
}
