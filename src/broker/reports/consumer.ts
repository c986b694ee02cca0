/**
 * Reports from Kafka. A consumer cannot see who produced a message, so each is signed; what cannot be believed or understood goes to
 * the dead-letter topic with its reason, and what cannot be taken now is tried again.
 */
import { type Clock, systemClock } from '../../runtime/index.ts';
import { brokerEventKinds, MOST_EVENT_BYTES, readEvent } from '../contract/index.ts';
import { type BrokerVerifier, IdentityError } from '../identity/index.ts';
import { DeadLetter, type IncomingMessage } from '../kafka/index.ts';
import type { VerifiedBroker } from '../sink.ts';
import { reportTaker, type TakeOptions } from './take.ts';

export interface StatusConsumerOptions<Consumer> extends TakeOptions {
  /** `(handle) => consume({ …, topics: [STATUS_TOPIC], handle })`. */
  readonly consume: (handle: HandleMessage) => Consumer;
  readonly verifier: BrokerVerifier;
  /**
   * For how long a message is tried whose keys cannot be had, before it is a dead letter: everything behind it waits, and anybody
   * could name a broker whose keys are away. Default: 15 minutes.
   */
  readonly patienceMilliseconds?: number;
}

/** The signal is aborted where the consumer cannot wait any longer. */
export type HandleMessage = (message: IncomingMessage, signal?: AbortSignal) => Promise<void>;

export const statusConsumer = <Consumer>(options: StatusConsumerOptions<Consumer>): Consumer =>
  options.consume(statusHandler(options));

export function statusHandler(options: Omit<StatusConsumerOptions<unknown>, 'consume'>): HandleMessage {
  const { verifier, metrics, clock = systemClock, patienceMilliseconds = 900_000 } = options;
  const take = reportTaker(options);
  const isOverdue = patienceOf(clock, patienceMilliseconds);

  const deadLetter = (reason: string, code: string, cause?: unknown): DeadLetter => {
    metrics?.rejected('Kafka', code);
    return new DeadLetter(reason, code, { cause });
  };

  async function verify(message: IncomingMessage): Promise<VerifiedBroker> {
    try {
      return await verifier.signature(message.value, message.headers.get('signature') ?? '');
    } catch (error) {
      if (!(error instanceof IdentityError) || (error.retryable && !isOverdue(message))) throw error;
      throw deadLetter(error.message, error.reason, error);
    }
  }

  return async (message, signal) => {
    if (message.value.length > MOST_EVENT_BYTES) {
      throw deadLetter(`an event has at most ${MOST_EVENT_BYTES} bytes`, 'oversized');
    }
    const from = await verify(message);
    const read = readEvent(message.value, brokerEventKinds);
    if ('problem' in read) {
      const { code, path, message: reason } = read.problem;
      throw deadLetter(`${path === '' ? 'the event' : path}: ${reason}`, code);
    }
    const outcome = await take(read.event, from, signal);
    // Counted already.
    if (outcome.result === 'refused') throw new DeadLetter(outcome.message, outcome.code);
  };
}

/** Whoever was waited for longest ago is forgotten, and then waited for once more. */
const mostWaiting = 1000;

function patienceOf(clock: Clock, milliseconds: number): (message: IncomingMessage) => boolean {
  const since = new Map<string, number>();
  return ({ topic, partition, offset }) => {
    const id = `${topic}/${partition}/${offset}`;
    const began = since.get(id) ?? clock.monotonic();
    const overdue = clock.monotonic() - began >= milliseconds;
    if (overdue) since.delete(id);
    else since.set(id, began);
    if (since.size > mostWaiting) since.delete(since.keys().next().value ?? '');
    return overdue;
  };
}
