/**
 * How requests reach a broker over HTTP, and which way a request takes.
 *
 * In: a request and the broker that it is for. Out: its acknowledgement, or a `ChannelError`. It must not know why something is
 * sent, nor when to try again.
 */
export { type BrokerCallMetrics, brokerCallMetrics } from './calls.ts';
export { httpChannel } from './channel.ts';
export { dispatcher } from './dispatcher.ts';
