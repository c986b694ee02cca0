/**
 * The metrics of the webhook. Requests are counted immediately. Policy results are collected in plain numbers, because
 * a hundred policies may match one request, and become metrics when they are scraped.
 */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { processMetrics } from '../../runtime/index.ts';
import type { Phase } from '../gates/gate.ts';
import type { Observer } from '../gates/observer.ts';

export interface AdmissionMetrics {
  readonly registry: Registry;
  readonly contentType: string;
  text(): Promise<string>;
  inFlight(requests: number): void;
  /** Sets whether reviews are answered only for authenticated callers. */
  authenticates(authenticates: boolean): void;
  answered(phase: Phase, result: 'allowed' | 'denied' | 'error', seconds: number): void;
  readonly observer: Observer;
}

interface Answered {
  readonly phase: Phase;
  readonly result: 'allowed' | 'denied' | 'error';
  readonly seconds: number;
}

interface PolicyCounts {
  evaluations: number;
  denials: number;
  errors: number;
  seconds: number;
  /** The number of evaluations per bucket of `policyBuckets`; the last entry counts those above all buckets. */
  readonly durations: number[];
}

/** The maximum number of policy lists that are aggregated before they are flushed. */
const mostLists = 64;

/** The maximum number of responses that are not yet in the metrics. */
const mostPending = 256;

const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** A policy takes microseconds, and there may be a thousand policies, so there are only a few buckets. */
const policyBuckets = [0.000_01, 0.000_1, 0.001, 0.01, 0.1];

export function admissionMetrics(registry: Registry = new Registry()): AdmissionMetrics {
  const registers = [registry];
  processMetrics(registry);
  const pending: Answered[] = [];
  const settle = () => {
    for (const { phase, result, seconds } of pending) {
      requests.inc({ phase, result });
      duration.observe({ phase }, seconds);
    }
    pending.length = 0;
  };
  const requests = new Counter({
    name: 'kidp_admission_requests_total',
    help: 'Number of AdmissionReviews by result: allowed, denied, or error (answered with an HTTP error status).',
    labelNames: ['phase', 'result'],
    registers,
    collect: settle,
  });
  const duration = new Histogram({
    name: 'kidp_admission_request_duration_seconds',
    help: 'Duration of an AdmissionReview from its headers to its response, in seconds.',
    labelNames: ['phase'],
    buckets,
    registers,
    collect: settle,
  });
  const flying = new Gauge({
    name: 'kidp_admission_requests_in_flight',
    help: 'Number of AdmissionReviews in flight.',
    registers,
  });
  const authenticated = new Gauge({
    name: 'kidp_admission_callers_authenticated',
    help: '1 if reviews are answered only for an authenticated API server, 0 if callers are untrusted.',
    registers,
  });
  const policies = new Map<string, PolicyCounts>();
  const aggregate = new PolicyAggregate(policies);
  policyCounters(policies, aggregate, registers);
  let requestsInFlight = 0;
  return {
    registry,
    contentType: registry.contentType,
    text() {
      flying.set(requestsInFlight);
      return registry.metrics();
    },
    inFlight(now) {
      requestsInFlight = now;
    },
    authenticates(authenticates) {
      authenticated.set(authenticates ? 1 : 0);
    },
    answered(phase, result, seconds) {
      // Updating the metrics in batches is many times faster.
      if (pending.push({ phase, result, seconds }) >= mostPending) settle();
    },
    observer: {
      evaluated({ decision, microseconds }) {
        const { matched, results } = decision;
        if (matched.length === 0) return;
        aggregate.add(matched, microseconds);
        for (const { policy, denies, result } of results) {
          if (denies) countsOf(policies, policy).denials += 1;
          if (result === 'error') countsOf(policies, policy).errors += 1;
        }
      },
    },
  };
}

/**
 * Aggregates requests that were evaluated by the same list of policies, so that the cost of counting a request does not
 * depend on the number of policies.
 */
class PolicyAggregate {
  readonly #policies: Map<string, PolicyCounts>;
  readonly #lists = new Map<readonly string[], { evaluations: number; microseconds: number; durations: number[] }>();

  constructor(policies: Map<string, PolicyCounts>) {
    this.#policies = policies;
  }

  add(matched: readonly string[], microseconds: number): void {
    let counts = this.#lists.get(matched);
    if (counts === undefined) {
      // Lists of replaced policy sets must not be retained.
      if (this.#lists.size >= mostLists) this.settle();
      counts = { evaluations: 0, microseconds: 0, durations: noDurations() };
      this.#lists.set(matched, counts);
    }
    counts.evaluations += 1;
    counts.microseconds += microseconds;
    const seconds = microseconds / (matched.length * 1e6);
    let bucket = 0;
    while (bucket < policyBuckets.length && seconds > (policyBuckets[bucket] as number)) bucket += 1;
    counts.durations[bucket] = (counts.durations[bucket] as number) + 1;
  }

  /** Distributes the time: the engine evaluates shared expressions once, so each policy gets an equal share. */
  settle(): void {
    for (const [matched, { evaluations, microseconds, durations }] of this.#lists) {
      for (const policy of matched) {
        const counts = countsOf(this.#policies, policy);
        counts.evaluations += evaluations;
        counts.seconds += microseconds / (matched.length * 1e6);
        for (const [bucket, times] of durations.entries())
          counts.durations[bucket] = (counts.durations[bucket] as number) + times;
      }
    }
    this.#lists.clear();
  }
}

function countsOf(policies: Map<string, PolicyCounts>, policy: string): PolicyCounts {
  const known = policies.get(policy);
  if (known !== undefined) return known;
  const counts = { evaluations: 0, denials: 0, errors: 0, seconds: 0, durations: noDurations() };
  policies.set(policy, counts);
  return counts;
}

const noDurations = (): number[] => Array.from({ length: policyBuckets.length + 1 }, () => 0);

function policyCounters(
  policies: ReadonlyMap<string, PolicyCounts>,
  aggregate: PolicyAggregate,
  registers: Registry[],
): void {
  const counters: [name: string, help: string, count: 'evaluations' | 'denials' | 'errors'][] = [
    ['kidp_policy_evaluations_total', 'Number of requests that a policy was evaluated for.', 'evaluations'],
    ['kidp_policy_denials_total', 'Number of denials by rules of a policy.', 'denials'],
    ['kidp_policy_errors_total', 'Number of failed expressions of a policy.', 'errors'],
  ];
  for (const [name, help, count] of counters) {
    new Counter({
      name,
      help,
      labelNames: ['policy'],
      registers,
      collect() {
        aggregate.settle();
        this.reset();
        for (const [policy, counts] of policies) this.inc({ policy }, counts[count]);
      },
    });
  }
  new PolicyDurations(policies, aggregate, registers);
}

const durationName = 'kidp_policy_evaluation_duration_seconds';
const durationHelp =
  'Evaluation time of a policy for one request, in seconds. Policies share the time of common expressions equally.';

/** A histogram of aggregated values: observing each policy of each request would be too slow. */
class PolicyDurations extends Histogram<'policy'> {
  readonly #policies: ReadonlyMap<string, PolicyCounts>;
  readonly #aggregate: PolicyAggregate;

  constructor(policies: ReadonlyMap<string, PolicyCounts>, aggregate: PolicyAggregate, registers: Registry[]) {
    super({
      name: durationName,
      help: durationHelp,
      labelNames: ['policy'],
      buckets: policyBuckets,
      registers,
    });
    this.#policies = policies;
    this.#aggregate = aggregate;
  }

  /** Called by the registry for both text and JSON output. */
  async getForPromString() {
    this.#aggregate.settle();
    const values = [...this.#policies].flatMap(([policy, { durations, seconds }]) => {
      let times = 0;
      const buckets = durations.map((each, index) => {
        times += each;
        return {
          metricName: `${durationName}_bucket`,
          labels: { policy, le: policyBuckets[index] ?? '+Inf' },
          value: times,
        };
      });
      return [
        ...buckets,
        { metricName: `${durationName}_sum`, labels: { policy }, value: seconds },
        { metricName: `${durationName}_count`, labels: { policy }, value: times },
      ];
    });
    return { name: durationName, help: durationHelp, type: 'histogram', values, aggregator: 'sum' };
  }
}
