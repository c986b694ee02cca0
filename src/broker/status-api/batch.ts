/** From the body of a request to what became of each event in it. */
import { Problem, retryAfter } from '../../runtime/internal.ts';
import { brokerEventKinds, type EventProblem, readEvent } from '../contract/index.ts';
import type { BrokerEvent } from '../messages.ts';
import type { ReportOutcome } from '../sink.ts';

export const MAX_EVENTS = 100;

/** Of one event, in the order they came. `retry`: it could not be taken now, send it again. */
interface Result {
  readonly id?: string;
  readonly result: 'applied' | 'duplicate' | 'stale' | 'refused' | 'retry';
  readonly code?: string;
  /** A JSON Pointer into the event. */
  readonly path?: string;
  readonly message?: string;
}

/** Throws a `Problem` where it is neither an event nor a batch of them. `type`: the media type, without parameters. */
export function parseEvents(body: unknown, type: string): readonly unknown[] {
  const isBatch = Array.isArray(body);
  if (
    (type === 'application/cloudevents+json' && isBatch) ||
    (type === 'application/cloudevents-batch+json' && !isBatch)
  ) {
    throw new Problem(400, 'malformed', `the body is ${isBatch ? 'a list' : 'no list'}, which ${type} is not`);
  }
  if (!isBatch) return [body];
  if (body.length === 0) throw new Problem(400, 'malformed', 'a batch has at least one event');
  if (body.length > MAX_EVENTS) {
    throw new Problem(413, 'oversized', `a batch has at most ${MAX_EVENTS} events, this has ${body.length}`);
  }
  return body;
}

/** Those of one object one after the other, in their order; of several objects at the same time. */
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
    // Why is in the log: it is nothing that a broker could do anything about.
    return { id: event.id, result: 'retry', code: 'unavailable', message: 'it could not be taken now: send it again' };
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

/** What is answered with 202. Throws the `Problem` of a single event that was not taken, and of a batch of which some is to be sent again. */
export function responseFor(results: readonly Result[], isBatch: boolean): object {
  const [only] = results;
  if (isBatch || only === undefined) {
    if (results.every(({ result }) => result !== 'retry')) return { results };
    throw new Problem(
      503,
      'unavailable',
      'some events could not be taken now: send those with the result `retry` again',
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

/** A sink that hangs must not hold a request for ever: what is not taken by then is to be sent again. */
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
