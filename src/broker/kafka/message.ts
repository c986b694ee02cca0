/** A message as Kafka carries it, and what becomes of one that cannot be taken. */

/** To be sent. Messages of one key keep their order. */
export interface OutgoingMessage {
  readonly topic: string;
  /** Without one, any partition will do. */
  readonly key: string | undefined;
  readonly value: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** As it was found in a topic. */
export interface IncomingMessage {
  /** Undefined where it has none: its order is then that of its partition. */
  readonly key: string | undefined;
  /** Exactly the bytes that were sent; empty where there are none. */
  readonly value: Buffer;
  /** Of two of one name the last. */
  readonly headers: ReadonlyMap<string, string>;
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

/**
 * Thrown by a handler: this message will never be taken, however often it is tried. It goes to the dead-letter topic with the reason,
 * and the consumer goes on.
 */
export class DeadLetter extends Error {
  /** Stable, for metrics and for those who sort dead letters. */
  readonly code: string;

  constructor(reason: string, code: string, options?: { cause?: unknown }) {
    super(reason, options);
    this.name = 'DeadLetter';
    this.code = code;
  }
}
