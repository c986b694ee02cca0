/** Performs one step of a rotation: issues the new certificates and replaces exactly the version that was read. */
import { inspect } from './inspect.ts';
import { issueAuthority, issueLeaf, type KeyPair } from './issue.ts';
import { dueAt, isValid, type RotationStep } from './rotation.ts';
import type { CertificateStore, Material, Versioned } from './store.ts';

interface StepContext {
  readonly store: CertificateStore;
  readonly now: number;
  readonly names: readonly string[];
  readonly authorityMilliseconds: number;
  readonly leafMilliseconds: number;
  readonly backdateMilliseconds: number;
  /**
   * The generation of a changed bundle: one more than the previous generation, or the wall clock without a previous
   * one.
   */
  readonly generation: number;
}

type Keys = Versioned<readonly KeyPair[]>;
type MaterialStep = Exclude<RotationStep, { kind: 'wait' | 'forget' }>;

/** Another replica may have been faster. Then nothing is written; the caller reads again in any case. */
export async function performStep(
  step: Exclude<RotationStep, { kind: 'wait' }>,
  stored: Versioned<Material>,
  keys: Keys,
  context: StepContext,
): Promise<void> {
  if (step.kind === 'forget') {
    const kept = (keys.value ?? []).filter((pair) => !step.fingerprints.includes(fingerprintOf(pair)));
    await context.store.writeKeys(kept, keys.version);
    return;
  }
  const material = await materialAfter(step, stored.value, keys, context);
  if (material !== undefined) await context.store.writeMaterial(material, stored.version);
}

async function materialAfter(
  step: MaterialStep,
  material: Material | undefined,
  keys: Keys,
  context: StepContext,
): Promise<Material | undefined> {
  const { generation } = context;
  if (step.kind === 'begin') {
    const authority = await candidate(material, keys, context);
    if (authority === undefined) return undefined;
    const alive = (material?.bundle ?? []).filter((pem) => inspect(pem).notAfter > context.now);
    const bundle = [authority.certificate, ...alive];
    return { generation, signing: fingerprintOf(authority), leaf: leafOf(authority, context), bundle };
  }
  if (material === undefined) return undefined;
  const { next, ...rest } = material;
  switch (step.kind) {
    case 'announce': {
      const authority = await candidate(material, keys, context);
      if (authority === undefined) return undefined;
      const bundle = [...material.bundle, authority.certificate];
      return { ...rest, generation, next: fingerprintOf(authority), bundle };
    }
    case 'promote': {
      const authority = keyPairOf(next, keys);
      if (authority === undefined) return undefined;
      return { ...rest, signing: fingerprintOf(authority), leaf: leafOf(authority, context) };
    }
    case 'renew': {
      const authority = keyPairOf(material.signing, keys);
      if (authority === undefined) return undefined;
      return { ...material, leaf: leafOf(authority, { ...context, names: step.names }) };
    }
    case 'drop': {
      const bundle = material.bundle.filter((pem) => !step.fingerprints.includes(inspect(pem).fingerprint));
      return { ...material, generation, bundle };
    }
    case 'advance':
      return { ...material, generation: step.generation };
  }
}

/**
 * Returns the next authority: an unused one whose key another replica has stored, or a new one. The keys are written
 * before the bundle contains the authority, so that racing replicas agree on one.
 */
async function candidate(
  material: Material | undefined,
  keys: Keys,
  { store, now, authorityMilliseconds, backdateMilliseconds }: StepContext,
): Promise<KeyPair | undefined> {
  const inBundle = new Set((material?.bundle ?? []).map((pem) => inspect(pem).fingerprint));
  const waiting = (keys.value ?? []).find(({ certificate }) => {
    const facts = inspect(certificate);
    return !inBundle.has(facts.fingerprint) && isValid(facts, now) && now < dueAt(facts, authorityMilliseconds);
  });
  if (waiting !== undefined) return waiting;
  const authority = issueAuthority({ now, validMilliseconds: authorityMilliseconds, backdateMilliseconds });
  const used = (keys.value ?? []).filter((pair) => {
    const fingerprint = fingerprintOf(pair);
    return fingerprint === material?.signing || fingerprint === material?.next;
  });
  const result = await store.writeKeys([...used, authority], keys.version);
  return result === 'written' ? authority : undefined;
}

const leafOf = (authority: KeyPair, { now, names, leafMilliseconds, backdateMilliseconds }: StepContext): KeyPair =>
  issueLeaf(authority, { now, names, validMilliseconds: leafMilliseconds, backdateMilliseconds });

const fingerprintOf = ({ certificate }: KeyPair): string => inspect(certificate).fingerprint;

const keyPairOf = (fingerprint: string | undefined, keys: Keys): KeyPair | undefined =>
  keys.value?.find((pair) => fingerprintOf(pair) === fingerprint);
