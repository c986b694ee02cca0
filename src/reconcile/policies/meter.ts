/**
 * Measures the evaluation time of single policies on a sample of the scanned objects: each policy alone, as in a
 * request that only it applies to.
 */
import {
  type AdmissionRequest,
  type CompiledPolicy,
  decide,
  type PolicySet,
  policySet,
  type World,
} from '../../policy/index.ts';
import { policyId } from './view.ts';

interface Samples {
  readonly alone: PolicySet;
  readonly policy: CompiledPolicy;
  /** The latest samples, unordered. */
  readonly microseconds: number[];
  taken: number;
}

/** The first objects of a pass are measured, then one in so many. */
const first = 20;
const oneOf = 100;
const mostSamples = 200;

export class Meter {
  readonly #policies = new Map<string, Samples>();
  #offered = 0;

  /** Measures the object if it is sampled. */
  offer(set: PolicySet, request: AdmissionRequest, world: World): void {
    this.#offered += 1;
    const regular = this.#offered % oneOf === 0;
    for (const policy of set.policies) {
      const samples = this.#samplesOf(policy, set);
      if (regular || samples.taken < first) measure(samples, request, world);
    }
  }

  read(policy: string): { p99Microseconds?: number } {
    const samples = this.#policies.get(policy);
    if (samples === undefined || samples.microseconds.length === 0) return {};
    const sorted = samples.microseconds.toSorted((one, other) => one - other);
    const p99 = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? 0;
    return { p99Microseconds: Math.ceil(p99) };
  }

  keepOnly(policies: ReadonlySet<string>): void {
    for (const id of this.#policies.keys()) if (!policies.has(id)) this.#policies.delete(id);
  }

  #samplesOf(policy: CompiledPolicy, { platformNamespace, excludedNamespaces }: PolicySet): Samples {
    const id = policyId(policy.model);
    const known = this.#policies.get(id);
    if (known?.policy === policy) return known;
    const alone = policySet({ policies: [policy], platformNamespace, excludedNamespaces });
    const made = { alone, policy, microseconds: [], taken: 0 };
    this.#policies.set(id, made);
    return made;
  }
}

function measure(samples: Samples, request: AdmissionRequest, world: World): void {
  const began = performance.now();
  const { matched } = decide(samples.alone, request, world);
  const took = (performance.now() - began) * 1000;
  if (matched.length === 0) return;
  samples.microseconds[samples.taken % mostSamples] = took;
  samples.taken += 1;
}
