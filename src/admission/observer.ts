/** Who wants to know what the webhook decides: metrics, events, the status of policies. Called while a user waits: keep it short. */
import type { PolicyDecision } from '../policy/index.ts';
import type { Decision } from './gates.ts';
import type { AdmissionRequest } from './review.ts';

export interface Observer {
  /** The policies have been asked about a request. */
  judged?(judgement: {
    readonly request: AdmissionRequest;
    readonly decision: PolicyDecision;
    readonly microseconds: number;
  }): void;
  /** A request was refused, by whichever gates. */
  denied?(request: AdmissionRequest, decision: Decision): void;
}

/** One that tells several. */
export function observers(...all: readonly (Observer | undefined)[]): Observer {
  const told = all.filter((each) => each !== undefined);
  return {
    judged(judgement) {
      for (const each of told) each.judged?.(judgement);
    },
    denied(request, decision) {
      for (const each of told) each.denied?.(request, decision);
    },
  };
}
