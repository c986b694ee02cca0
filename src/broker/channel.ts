/** A way for a message to reach a broker. `dispatch` chooses among them: Kafka first, HTTP where Kafka is away or it is urgent. */
import type { RequestEvent } from './messages.ts';

export type ChannelName = 'Kafka' | 'HTTP';

/** Of a Broker object, what is needed to reach it. */
export interface BrokerAddress {
  readonly name: string;
  readonly channel: 'Kafka' | 'HTTP' | 'Both';
  readonly endpoint?: string;
  /** PEM, decoded. */
  readonly caBundle?: string;
  readonly kafka: {
    readonly bootstrapServers?: readonly string[];
    readonly requestTopic: string;
    readonly statusTopic: string;
  };
}

export interface SendOptions {
  readonly signal?: AbortSignal;
}

export interface Channel {
  readonly name: ChannelName;
  /** Whether a message could be sent now, as far as is known: not asked for anew. */
  available(broker: BrokerAddress): boolean;
  /** Resolves once the message is acknowledged (acks=all, or a 2xx). Rejects with a `ChannelError`. */
  send(event: RequestEvent, broker: BrokerAddress, options?: SendOptions): Promise<void>;
  close(): Promise<void>;
}

/**
 * `unavailable`: nobody there, or it broke; the message may have arrived. `timeout`: no answer in time; likewise. `refused`: it was
 * understood and not taken; the same message will be refused again (too large, not authorised, unknown). `throttled`: later.
 */
export type ChannelFailure = 'unavailable' | 'timeout' | 'refused' | 'throttled';

export class ChannelError extends Error {
  readonly code: string;
  readonly channel: ChannelName;
  readonly failure: ChannelFailure;
  readonly retryAfterMilliseconds: number | undefined;

  constructor(options: {
    channel: ChannelName;
    failure: ChannelFailure;
    message: string;
    retryAfterMilliseconds?: number;
    cause?: unknown;
  }) {
    super(options.message, { cause: options.cause });
    this.name = 'ChannelError';
    this.code = `broker/${options.failure}`;
    this.channel = options.channel;
    this.failure = options.failure;
    this.retryAfterMilliseconds = options.retryAfterMilliseconds;
  }
}

export interface Dispatcher {
  /**
   * Tries the channels of the broker in turn. Rejects with the `ChannelError` of the first that may heal, so that `refused` means: by
   * every channel.
   */
  send(
    event: RequestEvent,
    broker: BrokerAddress,
    options?: SendOptions & { readonly urgent?: boolean },
  ): Promise<{ readonly channel: ChannelName }>;
}
