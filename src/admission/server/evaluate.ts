/** Evaluates one review: from its text to the text of its response, before the deadline of the API server. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DecodeError } from '../../cel/index.ts';
import type { Logger } from '../../runtime/index.ts';
import type { Phase } from '../gates/gate.ts';
import type { Observer } from '../gates/observer.ts';
import type { Pipeline } from '../gates/pipeline.ts';
import type { Deadline } from '../review/deadline.ts';
import { type AdmissionRequest, decodeReview } from '../review/decode.ts';
import { encodeReview } from '../review/encode.ts';
import type { Decision } from '../review/findings.ts';
import { HttpError } from '../review/http-error.ts';
import { withoutDetails } from '../review/untrusted.ts';
import { logAdmitted, logDenied } from './decision-log.ts';

export interface EvaluationOptions {
  readonly log: Logger;
  readonly pipeline: Pipeline;
  /** Reports whether the caches are synced. Earlier reviews wait for that. */
  readonly synced?: () => boolean;
  readonly observer?: Observer | undefined;
  /** Whether the callers may be anyone on the network: they get no details. */
  readonly untrusted?: boolean | undefined;
}

const syncPollMilliseconds = 20;

/** The purpose of a webhook path. */
export interface AskedFor {
  readonly phase: Phase;
  /** For converted requests: the other versions in which the request is sent. */
  readonly elsewhere?: readonly string[];
  /** The client that sent the review. */
  readonly caller?: AdmissionRequest['caller'];
}

export interface Answered {
  readonly allowed: boolean;
  readonly body: string;
}

/**
 * `answerReview` evaluates the text of a review. It is synchronous if no lookup is needed. A review that cannot be
 * evaluated is thrown as an `HttpError`; any other error is a bug.
 */
export function answerReview(
  text: string,
  { phase, elsewhere, caller }: AskedFor,
  deadline: Deadline,
  options: EvaluationOptions,
): Answered | Promise<Answered> {
  const decoded = decodeReview(text, caller);
  if ('unreadable' in decoded) throw new HttpError(decoded.unreadable.status, decoded.unreadable.message);
  const { request } = decoded;
  const evaluate = () => options.pipeline(request, phase, deadline, elsewhere);
  const answer = (decision: Decision): Answered => {
    if (!decision.allowed) logDenied(request, decision, options);
    else if (phase === 'validate' && elsewhere === undefined) logAdmitted(request, options.log);
    const shown = options.untrusted === true ? withoutDetails(decision) : decision;
    return { allowed: decision.allowed, body: encodeReview(request.uid, shown) };
  };
  if (options.synced?.() === false) {
    const evaluated = untilSynced(options.synced, deadline).then(evaluate);
    return beforeDeadline(evaluated, deadline).then(answer).catch(refuseUnreadable);
  }
  try {
    const evaluated = evaluate();
    if (!(evaluated instanceof Promise)) return answer(evaluated);
    return beforeDeadline(evaluated, deadline).then(answer).catch(refuseUnreadable);
  } catch (error) {
    return refuseUnreadable(error);
  }
}

/** `managedFields` are decoded only when a gate reads them: that the body is not JSON may turn out this late. */
function refuseUnreadable(error: unknown): never {
  if (error instanceof DecodeError) throw new HttpError(400, `The body is not JSON: ${error.message} of managedFields`);
  throw error;
}

/** Waits for the caches. Before that no policy would match, and "allowed" would be wrong. */
async function untilSynced(synced: () => boolean, { at }: Deadline): Promise<void> {
  while (!synced()) {
    if (Date.now() + syncPollMilliseconds >= at) {
      throw new HttpError(503, 'Policies are not synced yet; retry in a second', { 'retry-after': '1' });
    }
    await sleep(syncPollMilliseconds);
  }
}

async function beforeDeadline(evaluated: Promise<Decision>, { at }: Deadline): Promise<Decision> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const timeout = new HttpError(504, 'The review was not evaluated before the timeout of the API server');
    timer = setTimeout(() => reject(timeout), Math.max(1, at - Date.now()));
  });
  try {
    return await Promise.race([evaluated, late]);
  } finally {
    clearTimeout(timer);
  }
}
