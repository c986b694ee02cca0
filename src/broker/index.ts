/**
 * Messages between the platform and brokers: the contract, identities, Kafka, HTTP, the status API and the reference
 * brokers.
 *
 * In: the decision of a reconciler to deploy something, and the reports of brokers. Out: acknowledged messages, and
 * verified reports (`ReportSink`). This module does not know how a report changes an object or when something is
 * dispatched; reconcilers decide that.
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
export { variableConflicts } from './variables.ts';
