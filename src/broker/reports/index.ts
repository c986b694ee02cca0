/**
 * Receives the reports of brokers from both channels and passes them to the sink.
 *
 * In: signed events, or events of a verified broker. Out: the outcome of each, counted and audited. This module does
 * not know what a report changes.
 */
export { statusConsumer, statusHandler } from './consumer.ts';
export { type ReportMetrics, reportMetrics } from './metrics.ts';
export { type ReceiveOptions as TakeOptions, reportReceiver as reportTaker } from './receive.ts';
