/**
 * Observers of the decisions of the webhook: metrics, events, the status of policies. They are called while a request
 * waits and must return quickly.
 */
import type { PolicyDecision } from '../../policy/index.ts';
import type { AdmissionRequest } from '../review/decode.ts';
import type { Decision } from '../review/findings.ts';
import type { BreakGlassChange } from './policies/break-glass.ts';

export interface Observer {
  /** Called after the policies were evaluated for a request. */
  evaluated?(evaluation: {
    readonly request: AdmissionRequest;
    readonly decision: PolicyDecision;
    readonly microseconds: number;
  }): void;
  /** Called after a change of the break-glass group was exempt from policies. */
  exempted?(request: AdmissionRequest, change: BreakGlassChange): void;
  /** Called after a request was denied by any gate. */
  denied?(request: AdmissionRequest, decision: Decision): void;
}

/** `observers` combines several observers into one. */
export function observers(...all: readonly (Observer | undefined)[]): Observer {
  const active = all.filter((each) => each !== undefined);
  return {
    evaluated(evaluation) {
      for (const each of active) each.evaluated?.(evaluation);
    },
    exempted(request, change) {
      for (const each of active) each.exempted?.(request, change);
    },
    denied(request, decision) {
      for (const each of active) each.denied?.(request, decision);
    },
  };
}
