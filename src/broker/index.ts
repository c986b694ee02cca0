/**
 * How work leaves the platform and news comes back: the messages, who may say what, Kafka, HTTP, the status API, and the reference
 * brokers.
 *
 * In: a decision of a reconciler to have something deployed, and what brokers report. Out: acknowledged messages, and reports that
 * are known to come from the broker they name (`ReportSink`). It must not know how a report changes an object, nor when something is
 * dispatched: reconcilers decide that.
 */
export * from './channel.ts';
export * from './conformance/index.ts';
export * from './contract/index.ts';
export * from './deployment-id.ts';
export * from './http/index.ts';
export * from './identity/index.ts';
export * from './kafka/index.ts';
export * from './messages.ts';
export * from './reference/index.ts';
export * from './reports/index.ts';
export * from './sink.ts';
export * from './status-api/index.ts';
