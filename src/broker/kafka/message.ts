/** Kafka messages, and the error of a message that can never be handled. */

/** A message to send. Messages of one key keep their order. */
export interface OutgoingMessage {
  readonly topic: string;
  /** Without a key, the message goes to any partition. */
  readonly key: string | undefined;
  readonly value: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A received message. */
export interface IncomingMessage {
  /** Undefined if it has none: its order is then that of its partition. */
  readonly key: string | undefined;
  /** Exactly the bytes that were sent; empty if there are none. */
  readonly value: Buffer;
  /** Headers by name; of several with one name, the last. */
  readonly headers: ReadonlyMap<string, string>;
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  /** Why its batch was not read; the message then stands for the whole batch, and is at its last offset. */
  readonly refused?: string;
}

/**
 * Thrown by a handler for a message that can never be handled. The message goes to the dead-letter topic with the
 * reason, and the consumer continues.
 */
export class DeadLetter extends Error {
  /** A stable code, for metrics and for sorting dead letters. */
  readonly code: string;

  constructor(reason: string, code: string, options?: { cause?: unknown }) {
    super(reason, options);
    this.name = 'DeadLetter';
    this.code = code;
  }
}
