/**
 * Sends requests to brokers over HTTP, and chooses the channel of each request.
 *
 * In: a request and the broker that it is for. Out: its acknowledgement, or a `ChannelError`. This module does not know
 * why a request is sent or when to retry it.
 */

export { httpChannel } from './channel.ts';
export { dispatcher } from './dispatcher.ts';
export { type BrokerCallMetrics, brokerCallMetrics } from './metrics.ts';
