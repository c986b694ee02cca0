/** The metrics of the CRD gate: verdicts, durations and checked objects. */
import { Counter, Histogram, type Registry } from 'prom-client';

export interface CrdReview {
  readonly operation: string;
  /** `none` means that no comparison was needed. */
  readonly verdict: 'safe' | 'risky' | 'breaking' | 'unreadable' | 'none';
  readonly result: 'allowed' | 'denied';
  readonly seconds: number;
  readonly checked: number;
  readonly broken: number;
}

export interface CrdMetrics {
  reviewed(review: CrdReview): void;
}

const buckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25];

export function crdMetrics(registry: Registry): CrdMetrics {
  const registers = [registry];
  const verdicts = new Counter({
    name: 'kidp_crd_verdicts_total',
    help: 'Number of reviewed CustomResourceDefinitions by operation, verdict and result.',
    labelNames: ['operation', 'verdict', 'result'],
    registers,
  });
  const duration = new Histogram({
    name: 'kidp_crd_review_duration_seconds',
    help: 'Duration of the review of a definition, including reading its objects, in seconds.',
    labelNames: ['operation'],
    buckets,
    registers,
  });
  const objects = new Counter({
    name: 'kidp_crd_stored_objects_total',
    help: 'Number of stored objects that were checked against a changed definition, and of those that would break.',
    labelNames: ['result'],
    registers,
  });
  return {
    reviewed({ operation, verdict, result, seconds, checked, broken }) {
      verdicts.inc({ operation, verdict, result });
      duration.observe({ operation }, seconds);
      objects.inc({ result: 'checked' }, checked);
      objects.inc({ result: 'broken' }, broken);
    },
  };
}
