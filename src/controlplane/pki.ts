/** The certificates of one control plane: its CAs and the leaf certificates they sign, in memory as PEM. */
import { generateKeyPairSync } from 'node:crypto';
import { issueAuthority, issueLeaf as issueLeafFor, type KeyKind, type KeyPair } from '../runtime/internal.ts';

export type { KeyKind, KeyPair } from '../runtime/internal.ts';

interface LeafRequest {
  commonName: string;
  /** Kubernetes uses these as the user's groups. */
  organizations?: readonly string[];
  /** DNS names and IP addresses; a certificate without them is for clients only. */
  hosts?: readonly string[];
  /** The days until the certificate expires; a negative number makes it expired. It is valid since yesterday. */
  validDays?: number;
}

const day = 24 * 60 * 60 * 1000;

/** A self-signed CA, valid for ten years. Its leaf certificates have keys of the same kind. */
export function createAuthority(commonName: string, keys: KeyKind = 'ec'): KeyPair {
  return issueAuthority({ commonName, keys, ...validFor(3650) });
}

/**
 * A leaf certificate for a client and, with `hosts`, for a server, because the servers call one another. By default it
 * is valid for one year.
 */
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
