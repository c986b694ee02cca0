/**
 * A `Channel` carries messages to brokers. The dispatcher chooses one: Kafka first, HTTP if Kafka is not available or
 * the message is urgent.
 */
import type { RequestEvent } from './messages.ts';

export type ChannelName = 'Kafka' | 'HTTP';

/** The fields of a Broker object that are needed to reach the broker. */
export interface BrokerAddress {
  readonly name: string;
  readonly channel: 'Kafka' | 'HTTP' | 'Both';
  readonly endpoint?: string;
  /** Certificate authorities as PEM, decoded. */
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
  /** Whether a message could be sent now, according to the last attempts. Nothing is sent to find out. */
  available(broker: BrokerAddress): boolean;
  /** Resolves once the message is acknowledged (acks=all, or a 2xx). Rejects with a `ChannelError`. */
  send(event: RequestEvent, broker: BrokerAddress, options?: SendOptions): Promise<void>;
  close(): Promise<void>;
}

/**
 * Why a message was not acknowledged. `unavailable`: the receiver cannot be reached or failed; the message may have
 * arrived. `timeout`: no answer in time; the message may have arrived. `refused`: the receiver rejected the message and
 * would reject it again (too large, not authorised, unknown). `throttled`: the receiver asks to retry later.
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
   * Tries the channels of the broker one after the other. Rejects with the first retryable `ChannelError`, so that
   * `refused` means that every channel refused the message.
   */
  send(
    event: RequestEvent,
    broker: BrokerAddress,
    options?: SendOptions & { readonly urgent?: boolean },
  ): Promise<{ readonly channel: ChannelName }>;
}
