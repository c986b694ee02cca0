/** From an event of a broker that is known to what became of it: the same for Kafka and HTTP, with its audit line. */
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

/** Rejects where it is to be delivered again. */
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
      log.warn('a report could not be taken and is to be delivered again', { ...fieldsOf(event, from), error });
      throw error;
    }
    counted(outcome.result);
    if (outcome.result === 'refused') metrics?.rejected(from.channel, outcome.code);
    audit(event, from, outcome, log);
    return outcome;
  };
}

/** A broker may speak for itself alone, however good its signature. */
const wrongBroker = ({ data }: BrokerEvent, { name }: VerifiedBroker): ReportOutcome => ({
  result: 'refused',
  code: 'wrong-broker',
  message: `${name} may not report as ${data.broker}`,
});

/** Requirement 000, status update audit trail. Heartbeats change nothing that somebody would look for: only for who looks closely. */
function audit(event: BrokerEvent, from: VerifiedBroker, outcome: ReportOutcome, log: Logger): void {
  const fields = { audit: true, ...fieldsOf(event, from), ...outcome };
  if (outcome.result === 'refused') log.warn('a report of a broker was refused', fields);
  else if (event.type === HEARTBEAT_TYPE) log.debug('heartbeat of a broker', fields);
  else log.info('report of a broker', fields);
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

/** `status`, `heartbeat`, `usage`: the few words that a label may have. */
function kindOf({ type }: BrokerEvent): string {
  if (type === STATUS_TYPE) return 'status';
  return type === HEARTBEAT_TYPE ? 'heartbeat' : 'usage';
}
