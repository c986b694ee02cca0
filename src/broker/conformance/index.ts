/**
 * Verifies that a broker keeps the contract of docs/brokers.md, by its answers and reports.
 *
 * In: the address of a broker that trusts the platform's key. Out: a result for each check. This module does not know
 * how a broker is implemented.
 */
export type { ConformanceKafka } from './kafka.ts';
export { type CheckResult, type ConformanceOptions, verifyBroker } from './run.ts';
