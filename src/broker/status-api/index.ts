/**
 * The status API: brokers report here over HTTP.
 *
 * In: requests from anywhere. Out: reports of verified brokers to the sink, and a response with the result of each.
 * This module does not know what a report changes.
 */
export type { ListenerLimits, ServingCertificate } from '../../runtime/internal.ts';
export type { RateLimit } from './rate-limit.ts';
export { type StatusApi, type StatusApiOptions, startStatusApi } from './server.ts';
