/**
 * Decides the next step of the certificates: a pure function of the stored material, the reports of replicas and the
 * time.
 *
 * An authority has three roles in turn. **next**: it is in the bundle but signs nothing yet, so that every consumer can
 * learn to trust it. **signing**: it signs the leaf. **retired**: it is still in the bundle, for replicas that have not
 * switched to the new leaf. A client that trusts the published bundle can therefore verify every replica at any time;
 * `interleaving.test.ts` checks that.
 */
import { type CertificateFacts, canonicalName, coversNames } from './inspect.ts';

interface RotationPolicy {
  readonly authorityMilliseconds: number;
  readonly leafMilliseconds: number;
  /** The DNS names and IP addresses that the leaf must contain. */
  readonly names: readonly string[];
}

export interface RotationView {
  readonly now: number;
  readonly policy: RotationPolicy;
  /** Undefined if nothing usable is stored or remembered. */
  readonly material?: MaterialFacts;
  /** The fingerprints of the authorities whose key is available. */
  readonly keys: ReadonlySet<string>;
  /**
   * Returns whether this authority has been in the bundle of consumers for long enough to be trusted by all of them.
   */
  readonly settled: (fingerprint: string) => boolean;
  /** The fingerprint of the authority that each living replica serves; undefined for a replica without a valid leaf. */
  readonly replicas: readonly (string | undefined)[];
  /** The generation of another bundle that consumers hold and that takes precedence over this one. */
  readonly outpacedBy?: number;
}

export interface MaterialFacts {
  readonly generation: number;
  readonly leaf: CertificateFacts;
  readonly bundle: readonly CertificateFacts[];
  readonly signing: string;
  readonly next?: string;
}

export type RotationStep =
  /** Nothing existing is usable: a new authority signs at once. */
  | { readonly kind: 'begin'; readonly reason: string }
  /** A new authority is added to the bundle. */
  | { readonly kind: 'announce'; readonly reason: string }
  /** The next authority becomes the signing one. */
  | { readonly kind: 'promote'; readonly reason: string }
  | { readonly kind: 'renew'; readonly reason: string; readonly names: readonly string[] }
  /** Authorities are removed from the bundle. */
  | { readonly kind: 'drop'; readonly reason: string; readonly fingerprints: readonly string[] }
  /** Keys of retired authorities are deleted. */
  | { readonly kind: 'forget'; readonly reason: string; readonly fingerprints: readonly string[] }
  /** The same material is written with a generation that consumers accept. */
  | { readonly kind: 'advance'; readonly reason: string; readonly generation: number }
  | { readonly kind: 'wait'; readonly reason: string };

export function decideRotation(view: RotationView): RotationStep {
  const { material, now } = view;
  if (material === undefined) {
    // A serving replica can restore the lost material. No consumer would trust the leaf of that replica under a new
    // authority.
    const others = view.replicas.some((serves) => serves !== undefined);
    if (others) return { kind: 'wait', reason: 'a replica that still serves will restore the store' };
    return { kind: 'begin', reason: 'there is no certificate' };
  }
  if (view.outpacedBy !== undefined) {
    const generation = Math.max(view.outpacedBy, material.generation) + 1;
    return { kind: 'advance', reason: 'consumers hold a later generation than the store', generation };
  }
  const signing = material.bundle.find((authority) => authority.fingerprint === material.signing);
  const signingTrouble = troubleOfSigning(signing, view);
  const leafTrouble = troubleOfLeaf(material.leaf, signing, view);
  if (leafTrouble?.broken === true && canRenew(signing, view)) return renew(leafTrouble);
  if (signingTrouble !== undefined) {
    // Connections with this leaf fail anyway, so it does no harm to switch before consumers trust the new authority.
    const lost = leafTrouble?.broken === true || signing === undefined || !isValid(signing, now);
    const next = usableNext(material, view);
    if (next !== undefined && (lost || view.settled(next.fingerprint)))
      return { kind: 'promote', reason: signingTrouble };
    if (lost) return { kind: 'begin', reason: signingTrouble };
    if (next === undefined) return { kind: 'announce', reason: signingTrouble };
  }
  if (leafTrouble !== undefined && canRenew(signing, view)) return renew(leafTrouble);
  return tidy(material, view) ?? { kind: 'wait', reason: signingTrouble ?? 'nothing is due' };
}

/** Returns the time at which the wall clock makes a step due. Replicas and consumers may make one due earlier. */
export function nextDue(material: MaterialFacts, policy: RotationPolicy): number {
  const signing = material.bundle.find((authority) => authority.fingerprint === material.signing);
  const leafDue = dueAt(material.leaf, policy.leafMilliseconds);
  return signing === undefined ? leafDue : Math.min(leafDue, dueAt(signing, policy.authorityMilliseconds));
}

/** Counted from the end, so that backdating does not shorten a lifetime: after two thirds of it, a third remains. */
export const dueAt = (facts: CertificateFacts, lifeMilliseconds: number): number =>
  facts.notAfter - lifeMilliseconds / 3;

export const isValid = (facts: CertificateFacts, now: number): boolean =>
  facts.notBefore <= now && now < facts.notAfter;

function troubleOfSigning(signing: CertificateFacts | undefined, view: RotationView): string | undefined {
  if (signing === undefined) return 'the authority of the leaf is not in the bundle';
  if (!view.keys.has(signing.fingerprint)) return 'the key of the signing authority is gone';
  if (signing.notBefore > view.now) return 'the signing authority is not valid yet';
  if (view.now >= signing.notAfter) return 'the signing authority has expired';
  if (view.now >= dueAt(signing, view.policy.authorityMilliseconds))
    return 'the signing authority is past two thirds of its life';
  return undefined;
}

interface LeafTrouble {
  readonly reason: string;
  /** Whether clients reject the leaf now. */
  readonly broken: boolean;
  readonly names: readonly string[];
}

function troubleOfLeaf(
  leaf: CertificateFacts,
  signing: CertificateFacts | undefined,
  view: RotationView,
): LeafTrouble | undefined {
  const { now, policy } = view;
  const names = policy.names.map(canonicalName);
  if (leaf.notBefore > now) return { reason: 'the leaf is not valid yet', broken: true, names };
  if (now >= leaf.notAfter) return { reason: 'the leaf has expired', broken: true, names };
  if (!coversNames(leaf, policy.names)) {
    // Without the union, two replicas with different names would replace each other's leaf forever.
    return { reason: 'the leaf lacks a name', broken: false, names: [...new Set([...names, ...leaf.names])] };
  }
  if (now < dueAt(leaf, policy.leafMilliseconds)) return undefined;
  // A leaf that ends with its authority cannot be extended by the same authority.
  const wouldEnd = Math.min(now + policy.leafMilliseconds, signing?.notAfter ?? 0);
  if (wouldEnd - leaf.notAfter < policy.leafMilliseconds / 10) return undefined;
  return { reason: 'the leaf is past two thirds of its life', broken: false, names };
}

const canRenew = (signing: CertificateFacts | undefined, view: RotationView): boolean =>
  signing !== undefined && view.keys.has(signing.fingerprint) && isValid(signing, view.now);

const renew = ({ reason, names }: LeafTrouble): RotationStep => ({ kind: 'renew', reason, names });

function usableNext(material: MaterialFacts, view: RotationView): CertificateFacts | undefined {
  const next = material.bundle.find((authority) => authority.fingerprint === material.next);
  if (next === undefined || !view.keys.has(next.fingerprint) || !isValid(next, view.now)) return undefined;
  return view.now < dueAt(next, view.policy.authorityMilliseconds) ? next : undefined;
}

function tidy(material: MaterialFacts, view: RotationView): RotationStep | undefined {
  const retired = material.bundle.filter(
    ({ fingerprint }) => fingerprint !== material.signing && fingerprint !== material.next,
  );
  if (retired.length === 0) return undefined;
  // The key is deleted first: a recent retired authority that is not in the bundle would look like a candidate for the
  // next one.
  const keys = retired.map(({ fingerprint }) => fingerprint).filter((fingerprint) => view.keys.has(fingerprint));
  if (keys.length > 0) return { kind: 'forget', reason: 'a retired authority signs no more', fingerprints: keys };
  const expired = retired.filter(({ notAfter }) => view.now >= notAfter);
  if (expired.length > 0) return drop('a retired authority has expired', expired);
  const turned = view.replicas.length > 0 && view.replicas.every((serves) => serves === material.signing);
  return turned ? drop('every replica serves a leaf of the signing authority', retired) : undefined;
}

const drop = (reason: string, authorities: readonly CertificateFacts[]): RotationStep => ({
  kind: 'drop',
  reason,
  fingerprints: authorities.map(({ fingerprint }) => fingerprint),
});
