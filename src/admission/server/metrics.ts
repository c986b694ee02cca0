/**
 * What `/metrics` shows. Requests are counted as they come; what policies did is gathered in plain numbers, because a hundred of
 * them may match one request, and becomes metrics when somebody looks.
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
  answered(phase: Phase, result: 'allowed' | 'denied' | 'refused', seconds: number): void;
  readonly observer: Observer;
}

interface Answered {
  readonly phase: Phase;
  readonly result: 'allowed' | 'denied' | 'refused';
  readonly seconds: number;
}

interface PolicyCounts {
  evaluations: number;
  denials: number;
  errors: number;
  seconds: number;
  /** How many took as long as each of `policyBuckets` at most, and more than the one before; the last, longer than all. */
  readonly durations: number[];
}

/** Requests of how many kinds are counted together before it is done one policy at a time. */
const mostLists = 64;

/** Answers that are not in the metrics yet, at most. */
const mostPending = 256;

const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** One policy takes microseconds; there may be a thousand of them, so a few buckets must do. */
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
    help: 'Reviews by what became of them: allowed, denied, or refused without a judgement (a status of HTTP)',
    labelNames: ['phase', 'result'],
    registers,
    collect: settle,
  });
  const duration = new Histogram({
    name: 'kidp_admission_request_duration_seconds',
    help: 'How long a review took, from its headers to its answer',
    labelNames: ['phase'],
    buckets,
    registers,
    collect: settle,
  });
  const flying = new Gauge({ name: 'kidp_admission_requests_in_flight', help: 'Reviews under way', registers });
  const policies = new Map<string, PolicyCounts>();
  const together = new Together(policies);
  policyCounters(policies, together, registers);
  let inFlight = 0;
  return {
    registry,
    contentType: registry.contentType,
    text() {
      flying.set(inFlight);
      return registry.metrics();
    },
    inFlight(now) {
      inFlight = now;
    },
    answered(phase, result, seconds) {
      // One by one these take many times as long as in a row.
      if (pending.push({ phase, result, seconds }) >= mostPending) settle();
    },
    observer: {
      evaluated({ decision, microseconds }) {
        const { matched, results } = decision;
        if (matched.length === 0) return;
        together.add(matched, microseconds);
        for (const { policy, denies, result } of results) {
          if (denies) countsOf(policies, policy).denials += 1;
          if (result === 'error') countsOf(policies, policy).errors += 1;
        }
      },
    },
  };
}

/**
 * What was judged by the same policies, which the engine names by the same list: counted as one until somebody looks, so that to
 * count a request costs the same however many policies it meets.
 */
class Together {
  readonly #policies: Map<string, PolicyCounts>;
  readonly #lists = new Map<readonly string[], { evaluations: number; microseconds: number; durations: number[] }>();

  constructor(policies: Map<string, PolicyCounts>) {
    this.#policies = policies;
  }

  add(matched: readonly string[], microseconds: number): void {
    let counts = this.#lists.get(matched);
    if (counts === undefined) {
      // Lists of sets that are gone would be held on to.
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

  /** The engine evaluates what policies share once: each bears its part of the whole. */
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

function policyCounters(policies: ReadonlyMap<string, PolicyCounts>, together: Together, registers: Registry[]): void {
  const counters: [name: string, help: string, count: 'evaluations' | 'denials' | 'errors'][] = [
    ['kidp_policy_evaluations_total', 'Requests that a policy was asked about', 'evaluations'],
    ['kidp_policy_denials_total', 'Rules of a policy that refused a request', 'denials'],
    ['kidp_policy_errors_total', 'Expressions of a policy that failed', 'errors'],
  ];
  for (const [name, help, count] of counters) {
    new Counter({
      name,
      help,
      labelNames: ['policy'],
      registers,
      collect() {
        together.settle();
        this.reset();
        for (const [policy, counts] of policies) this.inc({ policy }, counts[count]);
      },
    });
  }
  new PolicyDurations(policies, together, registers);
}

const durationName = 'kidp_policy_evaluation_duration_seconds';
const durationHelp = 'How long a policy took for one request; what policies share is borne in equal parts';

/** A histogram of what was counted elsewhere: to observe each policy of each request would be felt. */
class PolicyDurations extends Histogram<'policy'> {
  readonly #policies: ReadonlyMap<string, PolicyCounts>;
  readonly #together: Together;

  constructor(policies: ReadonlyMap<string, PolicyCounts>, together: Together, registers: Registry[]) {
    super({
      name: durationName,
      help: durationHelp,
      labelNames: ['policy'],
      buckets: policyBuckets,
      registers,
    });
    this.#policies = policies;
    this.#together = together;
  }

  /** What the registry asks for, be it for text or as data. */
  async getForPromString() {
    this.#together.settle();
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
