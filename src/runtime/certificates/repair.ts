/** Restores a store that does not contain the served certificates, so that certificates in use stay trusted. */
import { inspect } from './inspect.ts';
import type { KeyPair } from './issue.ts';
import type { Material } from './store.ts';

export interface Served {
  readonly leaf: KeyPair;
  /** The fingerprint of the authority that signed the leaf. */
  readonly issuer: string;
}

interface Loss {
  /** Undefined if the material was deleted or is unusable. */
  readonly stored: Material | undefined;
  readonly served: Served;
  /** The last complete material that this replica read from the store. */
  readonly remembered: Material;
  /** The authorities that the other living replicas serve. */
  readonly others: readonly (string | undefined)[];
  readonly now: number;
}

/**
 * `repair` returns the material to write, or undefined if nothing is missing or another replica has more recent
 * material.
 */
export function repair({ stored, served, remembered, others, now }: Loss): Material | undefined {
  const known = new Set(remembered.bundle.map((pem) => inspect(pem).fingerprint));
  if (stored === undefined) {
    // Another replica serves an authority that this one does not know, so it has seen a later bundle, which includes
    // ours.
    if (others.some((serves) => serves !== undefined && !known.has(serves))) return undefined;
    // The lost generation may be later than the remembered one. The wall clock is later than both.
    const generation = Math.max(remembered.generation + 1, now);
    return { ...remembered, leaf: served.leaf, signing: served.issuer, generation };
  }
  if (stored.bundle.some((pem) => inspect(pem).fingerprint === served.issuer)) return undefined;
  const missing = remembered.bundle.filter((pem) => inspect(pem).fingerprint === served.issuer);
  return { ...stored, bundle: [...stored.bundle, ...missing], generation: stored.generation + 1 };
}
