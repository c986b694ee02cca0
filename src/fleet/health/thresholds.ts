/** Health thresholds: from the Operator, with the defaults of docs/requirements.md, 002 FR-OP-005. */
import { millisecondsOf, type Operator } from '../../api/index.ts';

export interface PodThresholds {
  readonly enabled: boolean;
  readonly maxRestarts: number;
  readonly restartWindowMilliseconds: number;
  readonly maxResourceShare: number;
}

export interface WebhookThresholds {
  readonly enabled: boolean;
  readonly maxLatencyMilliseconds: number;
  readonly probe?: { readonly apiVersion: string; readonly kind: string; readonly manifest?: string };
}

export interface ReconciliationThresholds {
  readonly enabled: boolean;
  readonly staleAfterMilliseconds: number;
  readonly maxErrorRate: number;
  readonly errorConditions: readonly string[];
}

export interface HealthThresholds {
  readonly pods: PodThresholds;
  readonly webhook: WebhookThresholds;
  readonly reconciliation: ReconciliationThresholds;
}

export function thresholdsOf({ spec }: Operator): HealthThresholds {
  const { pods = {}, webhook = {}, reconciliation = {} } = spec.health ?? {};
  return {
    pods: {
      enabled: pods.enabled ?? true,
      maxRestarts: pods.maxRestarts ?? 3,
      restartWindowMilliseconds: millisecondsOf(pods.restartWindow ?? 'PT5M'),
      maxResourceShare: pods.maxResourceShare ?? 1,
    },
    webhook: {
      enabled: webhook.enabled ?? true,
      maxLatencyMilliseconds: millisecondsOf(webhook.maxLatency ?? 'PT1S'),
      ...(webhook.probe === undefined ? {} : { probe: webhook.probe }),
    },
    reconciliation: {
      enabled: reconciliation.enabled ?? true,
      staleAfterMilliseconds: millisecondsOf(reconciliation.staleAfter ?? 'PT5M'),
      maxErrorRate: reconciliation.maxErrorRate ?? 0.05,
      errorConditions: reconciliation.errorConditions ?? ['Ready'],
    },
  };
}
