/** Reads the facts about certificates that the rotation needs, none of which is secret. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { KeyPair } from './issue.ts';

export interface CertificateFacts {
  /** The SHA-256 digest of the certificate in lower-case hexadecimal. It identifies a certificate in this module. */
  readonly fingerprint: string;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly isAuthority: boolean;
  /** DNS names and IP addresses. */
  readonly names: readonly string[];
}

/** `inspect` reads a certificate. It throws if the input is not a certificate; the message never contains the input. */
export function inspect(pem: string): CertificateFacts {
  const certificate = parse(pem);
  return {
    fingerprint: fingerprintOf(certificate),
    notBefore: certificate.validFromDate.getTime(),
    notAfter: certificate.validToDate.getTime(),
    isAuthority: certificate.ca,
    names: namesOf(certificate),
  };
}

/**
 * Returns the authority of the bundle that signed this certificate, or undefined. It verifies the signature, not just
 * the name.
 */
export function issuerIn(bundle: readonly string[], leaf: string): string | undefined {
  const certificate = parse(leaf);
  return bundle.find((pem) => {
    const authority = parse(pem);
    return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
  });
}

/** Returns whether the private key matches the certificate. */
export function belongTogether(pair: KeyPair): boolean {
  try {
    return parse(pair.certificate).checkPrivateKey(createPrivateKey(pair.key));
  } catch {
    return false;
  }
}

/**
 * Splits a bundle into its certificates, as PEM and without duplicates. Text around them is ignored, as in OpenSSL and
 * Go.
 */
export function splitBundle(bundle: string): string[] {
  const blocks = bundle.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  return [...new Set(blocks.map((block) => `${block}\n`))];
}

export const joinBundle = (certificates: readonly string[]): string => certificates.join('');

/** Returns whether the certificate is valid for all of these names. */
export function coversNames(facts: CertificateFacts, wanted: readonly string[]): boolean {
  const present = new Set(facts.names);
  return wanted.every((name) => present.has(canonicalName(name)));
}

/** Returns the canonical form of a name: DNS names are case-insensitive, and an IPv6 address has many forms. */
export function canonicalName(name: string): string {
  if (isIP(name) !== 6) return name.toLowerCase();
  return new URL(`http://[${name}]`).hostname.slice(1, -1);
}

/** Cached, because every sync of every replica inspects the same few certificates. */
const parsed = new Map<string, X509Certificate>();
const parsedAtMost = 64;

function parse(pem: string): X509Certificate {
  const known = parsed.get(pem);
  if (known !== undefined) return known;
  try {
    const certificate = new X509Certificate(pem);
    if (parsed.size >= parsedAtMost) parsed.clear();
    parsed.set(pem, certificate);
    return certificate;
  } catch (cause) {
    throw new Error('This is not an X.509 certificate in PEM form', { cause });
  }
}

const fingerprintOf = (certificate: X509Certificate): string =>
  certificate.fingerprint256.replaceAll(':', '').toLowerCase();

function namesOf(certificate: X509Certificate): string[] {
  return (certificate.subjectAltName ?? '')
    .split(', ')
    .map((entry) => /^(?:DNS|IP Address):(.+)$/.exec(entry)?.[1])
    .filter((name) => name !== undefined)
    .map(canonicalName);
}
