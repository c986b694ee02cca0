/**
 * Chooses the channel of a message: Kafka first; HTTP if Kafka is not available or the message is urgent; the other one
 * if the first fails.
 */
import { type Logger, silentLogger } from '../../runtime/index.ts';
import { type BrokerAddress, type Channel, ChannelError, type Dispatcher } from '../channel.ts';
import type { RequestEvent } from '../messages.ts';
import type { BrokerCallMetrics } from './metrics.ts';

interface DispatcherOptions {
  readonly kafka?: Channel | undefined;
  readonly http?: Channel | undefined;
  /** The dispatcher counts calls and the channels do not, so that nothing is counted twice. */
  readonly metrics?: BrokerCallMetrics | undefined;
  readonly log?: Logger;
}

export function dispatcher({ kafka, http, metrics, log = silentLogger }: DispatcherOptions): Dispatcher {
  async function sendThrough(
    channel: Channel,
    event: RequestEvent,
    broker: BrokerAddress,
    signal: AbortSignal | undefined,
  ) {
    const { action, deploymentId } = event.data;
    const fields = {
      broker: broker.name,
      channel: channel.name,
      action,
      deploymentId,
      correlationId: event.correlationid,
      traceparent: event.traceparent,
    };
    const started = performance.now();
    const observe = (result: string) =>
      metrics?.called({ ...fields, result, seconds: (performance.now() - started) / 1000 });
    try {
      await channel.send(event, broker, signal === undefined ? {} : { signal });
      observe('success');
      log.debug('request acknowledged', fields);
    } catch (error) {
      // A call that the caller aborted says nothing about the broker.
      if (signal?.aborted !== true) {
        const reason = error instanceof ChannelError ? error.failure : 'other';
        observe(reason);
        metrics?.failed(broker.name, channel.name, reason);
        log.warn('request not acknowledged', { ...fields, reason, error });
      }
      throw error;
    }
  }

  return {
    async send(event, broker, { urgent = false, signal } = {}) {
      const [first, ...others] = orderChannels({ kafka, http }, broker, urgent);
      if (first === undefined) throw noChannelError(broker);
      const failures: unknown[] = [];
      for (const channel of [first, ...others]) {
        try {
          await sendThrough(channel, event, broker, signal);
          return { channel: channel.name };
        } catch (error) {
          signal?.throwIfAborted();
          failures.push(error);
        }
      }
      // A retryable failure takes precedence over a refusal: the message is kept and retried.
      throw failures.find((error) => !isRefusal(error)) ?? failures.at(-1);
    },
  };
}

/** Orders the channels of a broker. An unavailable channel is tried last, because the information may be stale. */
function orderChannels({ kafka, http }: DispatcherOptions, broker: BrokerAddress, urgent: boolean): readonly Channel[] {
  const wanted = [
    broker.channel === 'HTTP' ? undefined : kafka,
    broker.channel === 'Kafka' || broker.endpoint === undefined ? undefined : http,
  ].filter((channel) => channel !== undefined);
  if (urgent) wanted.reverse();
  const isAvailable = (channel: Channel) => channel.available(broker);
  return [...wanted.filter(isAvailable), ...wanted.filter((channel) => !isAvailable(channel))];
}

const isRefusal = (error: unknown): boolean => error instanceof ChannelError && error.failure === 'refused';

const noChannelError = ({ name, channel }: BrokerAddress): ChannelError =>
  new ChannelError({
    channel: channel === 'HTTP' ? 'HTTP' : 'Kafka',
    failure: 'unavailable',
    message: `no ${channel === 'Both' ? 'Kafka or HTTP' : channel} channel to Broker ${name} is configured`,
  });
