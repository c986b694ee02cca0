/**
 * What brokers say, from either channel to the sink.
 *
 * In: events with a signature, or of a broker that is known. Out: what became of each, counted and in the audit trail. It must not
 * know what a report changes.
 */
export { statusConsumer, statusHandler } from './consumer.ts';
export { type ReportMetrics, reportMetrics } from './metrics.ts';
export { type ReceiveOptions as TakeOptions, reportReceiver as reportTaker } from './receive.ts';
