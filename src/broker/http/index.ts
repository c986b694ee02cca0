/**
 * How requests reach a broker over HTTP, and which way a request takes.
 *
 * In: a request and the broker that it is for. Out: its acknowledgement, or a `ChannelError`. It must not know why something is
 * sent, nor when to try again.
 */

export { httpChannel } from './channel.ts';
export { dispatcher } from './dispatcher.ts';
export { type BrokerCallMetrics, brokerCallMetrics } from './metrics.ts';
