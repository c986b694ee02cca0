/**
 * Whether a broker keeps the contract of docs/brokers.md: any broker, by what it answers and reports.
 *
 * In: the address of a broker that trusts the platform's key. Out: a result for each thing that it must do. It must not know how a
 * broker is made.
 */
export type { ConformanceKafka } from './kafka.ts';
export { type CheckResult, type ConformanceOptions, verifyBroker } from './run.ts';
