/**
 * Consumes reports from Kafka. A consumer cannot see who produced a message, so each is signed. A report that cannot be
 * verified or parsed goes to the dead-letter topic with its reason; other failures are retried. Kafka has already
 * acknowledged the report to the broker: if its sender cannot be verified, the sink records the gap, so that the broker
 * is queried once its identity is verified.
 */
import { type Clock, systemClock } from '../../runtime/index.ts';
import { brokerEventKinds, MAX_EVENT_BYTES, readEvent } from '../contract/index.ts';
import { type BrokerVerifier, IdentityError } from '../identity/index.ts';
import { DeadLetter, type IncomingMessage } from '../kafka/index.ts';
import type { VerifiedBroker } from '../sink.ts';
import { type ReceiveOptions, reportReceiver } from './receive.ts';

interface StatusConsumerOptions<Consumer> extends ReceiveOptions {
  /** `(handle) => consume({ …, topics: [STATUS_TOPIC], handle })`. */
  readonly consume: (handle: HandleMessage) => Consumer;
  readonly verifier: BrokerVerifier;
  /**
   * How long a message is retried while the keys of its broker cannot be fetched, before it becomes a dead letter:
   * everything behind it waits, and anyone could name a broker whose keys are unavailable. Default: 15 minutes.
   */
  readonly patienceMilliseconds?: number;
}

/**
 * Handles a message. The signal is aborted if the consumer cannot wait any longer. If the consumer is crowded, a
 * message that could be given up does not wait.
 */
type HandleMessage = (message: IncomingMessage, signal?: AbortSignal, isCrowded?: () => boolean) => Promise<void>;

export const statusConsumer = <Consumer>(options: StatusConsumerOptions<Consumer>): Consumer =>
  options.consume(statusHandler(options));

export function statusHandler(options: Omit<StatusConsumerOptions<unknown>, 'consume'>): HandleMessage {
  const { verifier, sink, metrics, clock = systemClock, patienceMilliseconds = 900_000 } = options;
  const take = reportReceiver(options);
  const patience = new Patience(clock, patienceMilliseconds);

  const deadLetter = (reason: string, code: string, cause?: unknown): DeadLetter => {
    metrics?.rejected('Kafka', code);
    return new DeadLetter(reason, code, { cause });
  };

  async function verify(
    message: IncomingMessage,
    signal: AbortSignal | undefined,
    isCrowded: () => boolean,
  ): Promise<VerifiedBroker> {
    try {
      const from = await verifier.signature(message.value, message.headers.get('signature') ?? '');
      patience.forget(from.name, message);
      return from;
    } catch (error) {
      if (!(error instanceof IdentityError)) throw error;
      const { claimed = '', retryable, reason } = error;
      if (retryable && !isCrowded() && patience.lasts(claimed, message)) throw error;
      const read = readEvent(message.value, ['status']);
      if ('event' in read) await sink.recordMissed?.(read.event, reason, signal);
      patience.forget(claimed, message);
      throw deadLetter(error.message, reason, error);
    }
  }

  return async (message, signal, isCrowded = () => false) => {
    if (message.value.length > MAX_EVENT_BYTES) {
      throw deadLetter(`an event must have at most ${MAX_EVENT_BYTES} bytes`, 'oversized');
    }
    const from = await verify(message, signal, isCrowded);
    const read = readEvent(message.value, brokerEventKinds);
    if ('problem' in read) {
      const { code, path, message: reason } = read.problem;
      throw deadLetter(`${path === '' ? 'the event' : path}: ${reason}`, code);
    }
    const outcome = await take(read.event, from, signal);
    // The receiver has already counted it.
    if (outcome.result === 'refused') throw new DeadLetter(outcome.message, outcome.code);
  };
}

/** How many messages of one broker may wait for its keys: they take up capacity that other brokers need. */
const maxWaiting = 100;

/** Tracks which messages wait for the keys of each broker, and since when. */
class Patience {
  readonly #clock: Clock;
  readonly #milliseconds: number;
  readonly #waiting = new Map<string, Map<string, number>>();

  constructor(clock: Clock, milliseconds: number) {
    this.#clock = clock;
    this.#milliseconds = milliseconds;
  }

  /** Whether this message may start or continue to wait. */
  lasts(broker: string, message: IncomingMessage): boolean {
    const now = this.#clock.monotonic();
    const waiting = this.#waiting.get(broker) ?? new Map<string, number>();
    const began = waiting.get(idOf(message)) ?? now;
    if (now - began >= this.#milliseconds) return false;
    // A message that was assigned to another member of the group does not return: it no longer waits here.
    for (const [id, since] of waiting) if (now - since >= this.#milliseconds) waiting.delete(id);
    if (!waiting.has(idOf(message)) && waiting.size >= maxWaiting) return false;
    waiting.set(idOf(message), began);
    this.#waiting.set(broker, waiting);
    return true;
  }

  forget(broker: string, message: IncomingMessage): void {
    const waiting = this.#waiting.get(broker);
    waiting?.delete(idOf(message));
    if (waiting?.size === 0) this.#waiting.delete(broker);
  }
}

const idOf = ({ topic, partition, offset }: IncomingMessage): string => `${topic}/${partition}/${offset}`;
