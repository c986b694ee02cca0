/** The certificates of one control plane: its own authorities and the leaves they sign, all in memory as PEM. */
import { generateKeyPairSync } from 'node:crypto';
import { issueAuthority, issueLeaf as issueLeafFor, type KeyKind, type KeyPair } from '../runtime/internal.ts';

export type { KeyKind, KeyPair } from '../runtime/internal.ts';

interface LeafRequest {
  commonName: string;
  /** Kubernetes reads these as the user's groups. */
  organizations?: readonly string[];
  /** DNS names and IP addresses; a certificate without them is for clients only. */
  hosts?: readonly string[];
  /** How long from now on: less than none, and it has run out already. It began a day ago. */
  validDays?: number;
}

const day = 24 * 60 * 60 * 1000;

/** A self-signed authority, good for ten years. Its leaves have keys of the same kind. */
export function createAuthority(commonName: string, keys: KeyKind = 'ec'): KeyPair {
  return issueAuthority({ commonName, keys, ...validFor(3650) });
}

/** A leaf for a server (where `hosts` are given) and for a client, by default good for a year: the servers call one another. */
export function issueLeaf(authority: KeyPair, { hosts = [], validDays = 365, ...client }: LeafRequest): KeyPair {
  return issueLeafFor(authority, { client, names: hosts, ...validFor(validDays) });
}

/** The keys that sign and verify service account tokens. */
export function createSigningKeys(): { privateKey: string; publicKey: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

const validFor = (days: number) => ({ now: Date.now(), validMilliseconds: days * day, backdateMilliseconds: day });
