/** Who wants to know what the webhook decides: metrics, events, the status of policies. Called while a user waits: keep it short. */
import type { PolicyDecision } from '../../policy/index.ts';
import type { AdmissionRequest } from '../review/decode.ts';
import type { Decision } from '../review/findings.ts';

export interface Observer {
  /** The policies have been asked about a request. */
  evaluated?(evaluation: {
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
    evaluated(evaluation) {
      for (const each of told) each.evaluated?.(evaluation);
    },
    denied(request, decision) {
      for (const each of told) each.denied?.(request, decision);
    },
  };
}
