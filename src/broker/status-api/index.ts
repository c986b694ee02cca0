/**
 * The status API: where brokers report over HTTP.
 *
 * In: requests of anybody. Out: reports of brokers that are known, to the sink; answers that say what became of them. It must not
 * know what a report changes.
 */
export type { ListenerLimits, ServingCertificate } from '../../runtime/internal.ts';
export type { RateLimit } from './rate-limit.ts';
export { type StatusApi, type StatusApiOptions, startStatusApi } from './server.ts';
