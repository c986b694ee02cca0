/** What a replica writes to a store that has lost, or never knew, what it serves: certificates in use must stay trusted. */
import { inspect } from './inspect.ts';
import type { KeyPair } from './issue.ts';
import type { Material } from './store.ts';

export interface Served {
  readonly leaf: KeyPair;
  /** Fingerprint of the authority that signed it. */
  readonly issuer: string;
}

interface Loss {
  /** Undefined where it was deleted, or cannot be used. */
  readonly stored: Material | undefined;
  readonly served: Served;
  /** What the store held when this replica last saw it whole. */
  readonly remembered: Material;
  /** What the other living replicas serve. */
  readonly others: readonly (string | undefined)[];
  readonly now: number;
}

/** The material to write, or undefined where nothing is missing or somebody else remembers better. */
export function repair({ stored, served, remembered, others, now }: Loss): Material | undefined {
  const known = new Set(remembered.bundle.map((pem) => inspect(pem).fingerprint));
  if (stored === undefined) {
    // Another serves what this one has never heard of: it has seen a later bundle, which holds ours as well.
    if (others.some((serves) => serves !== undefined && !known.has(serves))) return undefined;
    // What was lost may have been later than what is remembered; the wall clock is later than both.
    const generation = Math.max(remembered.generation + 1, now);
    return { ...remembered, leaf: served.leaf, signing: served.issuer, generation };
  }
  if (stored.bundle.some((pem) => inspect(pem).fingerprint === served.issuer)) return undefined;
  const missing = remembered.bundle.filter((pem) => inspect(pem).fingerprint === served.issuer);
  return { ...stored, bundle: [...stored.bundle, ...missing], generation: stored.generation + 1 };
}
