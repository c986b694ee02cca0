/** Parses the events of a request body and collects the result of each. */
import { Problem, retryAfter } from '../../runtime/internal.ts';
import { brokerEventKinds, type EventProblem, readEvent } from '../contract/index.ts';
import type { BrokerEvent } from '../messages.ts';
import type { ReportOutcome } from '../sink.ts';

export const MAX_EVENTS = 100;

/** The result of one event, in the order of the events. `retry`: the event must be sent again. */
interface Result {
  readonly id?: string;
  readonly result: 'applied' | 'duplicate' | 'stale' | 'refused' | 'retry';
  readonly code?: string;
  /** A JSON Pointer into the event. */
  readonly path?: string;
  readonly message?: string;
}

/**
 * Returns the events of a body. Throws a `Problem` if it is neither an event nor a batch. `type` is the media type
 * without parameters.
 */
export function parseEvents(body: unknown, type: string): readonly unknown[] {
  const isBatch = Array.isArray(body);
  if (
    (type === 'application/cloudevents+json' && isBatch) ||
    (type === 'application/cloudevents-batch+json' && !isBatch)
  ) {
    throw new Problem(400, 'malformed', `${type} does not allow ${isBatch ? 'a list' : 'a single event'} as the body`);
  }
  if (!isBatch) return [body];
  if (body.length === 0) throw new Problem(400, 'malformed', 'a batch must have at least one event');
  if (body.length > MAX_EVENTS) {
    throw new Problem(413, 'oversized', `the batch has ${body.length} events, at most ${MAX_EVENTS} are allowed`);
  }
  return body;
}

/** Receives events of one object in order, and events of several objects concurrently. */
export async function receiveAll(
  events: readonly unknown[],
  take: (event: BrokerEvent) => Promise<ReportOutcome>,
  rejected: (problem: EventProblem) => void,
): Promise<readonly Result[]> {
  const lines = new Map<string, Promise<unknown>>();
  return Promise.all(
    events.map((value) => {
      const read = readEvent(value, brokerEventKinds);
      if ('problem' in read) {
        rejected(read.problem);
        return { ...idOf(value), result: 'refused' as const, ...read.problem };
      }
      const { event } = read;
      const before = lines.get(event.subject) ?? Promise.resolve();
      const result = before.then(() => receiveOne(event, take));
      lines.set(event.subject, result);
      return result;
    }),
  );
}

async function receiveOne(event: BrokerEvent, take: (event: BrokerEvent) => Promise<ReportOutcome>): Promise<Result> {
  try {
    const outcome = await take(event);
    if (outcome.result !== 'refused') return { id: event.id, result: outcome.result };
    const { code, message } = outcome;
    return { id: event.id, result: 'refused', code, message };
  } catch {
    // The log has the reason, which a broker can do nothing about.
    return {
      id: event.id,
      result: 'retry',
      code: 'unavailable',
      message: 'the event could not be processed now: send it again',
    };
  }
}

function idOf(value: unknown): { readonly id?: string } {
  const id: unknown = typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined;
  return typeof id === 'string' ? { id: id.slice(0, 256) } : {};
}

const statusOf: Readonly<Record<string, number>> = {
  malformed: 400,
  oversized: 413,
  'unknown-type': 422,
  'unknown-version': 422,
  invalid: 422,
  'wrong-broker': 403,
  'unknown-object': 404,
  'unknown-deployment': 409,
};

/**
 * Returns the body of a 202. Throws the `Problem` of a single event that was refused, and of a batch with events to
 * retry.
 */
export function responseFor(results: readonly Result[], isBatch: boolean): object {
  const [only] = results;
  if (isBatch || only === undefined) {
    if (results.every(({ result }) => result !== 'retry')) return { results };
    throw new Problem(
      503,
      'unavailable',
      'some events could not be processed now: send those with the result `retry` again',
      {
        headers: retryAfter(2000),
        more: { results },
      },
    );
  }
  const { result, code = 'invalid', message = '', path } = only;
  if (result === 'retry') throw new Problem(503, code, message, { headers: retryAfter(2000) });
  if (result !== 'refused') return only;
  throw new Problem(statusOf[code] ?? 422, code, message, path === undefined ? {} : { more: { path } });
}

/** Limits the time of the sink: a report that is not processed in time must be sent again. */
export function withTimeout(
  take: (event: BrokerEvent, signal: AbortSignal) => Promise<ReportOutcome>,
  milliseconds: number,
): (event: BrokerEvent) => Promise<ReportOutcome> {
  const signal = AbortSignal.timeout(milliseconds);
  const late = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  late.catch(() => {});
  return (event) => Promise.race([take(event, signal), late]);
}
