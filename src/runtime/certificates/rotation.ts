/**
 * Decides what happens to the certificates next: a pure function of what is stored, what replicas report and what time it is.
 *
 * An authority lives through three parts. **next**: in the bundle, signs nothing yet, so that every consumer can come to trust it.
 * **signing**: signs the leaf. **retired**: still in the bundle, for replicas that have not turned to the new leaf. A client
 * that trusts the published bundle can so verify every replica at any moment; `authority.test.ts` checks that over interleavings.
 */
import { type CertificateFacts, canonicalName, coversNames } from './inspect.ts';

interface RotationPolicy {
  readonly authorityMilliseconds: number;
  readonly leafMilliseconds: number;
  /** Names and addresses the leaf must hold. */
  readonly names: readonly string[];
}

export interface RotationView {
  readonly now: number;
  readonly policy: RotationPolicy;
  /** Undefined where nothing usable is stored and nothing is remembered. */
  readonly material?: MaterialFacts;
  /** Fingerprints of the authorities whose key is at hand. */
  readonly keys: ReadonlySet<string>;
  /** Whether consumers have carried this authority in their bundle for long enough to rely on it. */
  readonly settled: (fingerprint: string) => boolean;
  /** What each living replica serves, by the fingerprint of its authority; undefined for one that serves nothing usable. */
  readonly replicas: readonly (string | undefined)[];
  /** The generation of another bundle that consumers hold and would not give up for this one. */
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
  /** Nothing of the past can go on: a new authority signs at once. */
  | { readonly kind: 'begin'; readonly reason: string }
  /** A new authority joins the bundle. */
  | { readonly kind: 'announce'; readonly reason: string }
  /** The next authority signs from now on. */
  | { readonly kind: 'promote'; readonly reason: string }
  | { readonly kind: 'renew'; readonly reason: string; readonly names: readonly string[] }
  /** Authorities leave the bundle. */
  | { readonly kind: 'drop'; readonly reason: string; readonly fingerprints: readonly string[] }
  /** Keys that sign no more are destroyed. */
  | { readonly kind: 'forget'; readonly reason: string; readonly fingerprints: readonly string[] }
  /** The same material under a generation that consumers take. */
  | { readonly kind: 'advance'; readonly reason: string; readonly generation: number }
  | { readonly kind: 'wait'; readonly reason: string };

export function decideRotation(view: RotationView): RotationStep {
  const { material, now } = view;
  if (material === undefined) {
    // A replica that serves remembers what was lost; a new authority would leave its leaf without anybody who trusts it.
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
    // Whoever serves this leaf fails anyway: nothing is lost by turning before consumers trust the new authority.
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

/** When the wall clock alone makes something due; replicas and consumers may make it due earlier. */
export function nextDue(material: MaterialFacts, policy: RotationPolicy): number {
  const signing = material.bundle.find((authority) => authority.fingerprint === material.signing);
  const leafDue = dueAt(material.leaf, policy.leafMilliseconds);
  return signing === undefined ? leafDue : Math.min(leafDue, dueAt(signing, policy.authorityMilliseconds));
}

/** Counted from the end, so that backdating does not shorten a life: at two thirds of it a third is left. */
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
  /** Clients refuse it now. */
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
    // Two replicas that want different names would otherwise replace each other's leaf for ever.
    return { reason: 'the leaf lacks a name', broken: false, names: [...new Set([...names, ...leaf.names])] };
  }
  if (now < dueAt(leaf, policy.leafMilliseconds)) return undefined;
  // A leaf that ends with its authority cannot be made to last longer by the same one.
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
  // The key goes first: out of the bundle, a young retired authority would look like a candidate for the next one.
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
