/** Reads certificates: what the rotation needs to know of one, and nothing that must stay secret. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { KeyPair } from './issue.ts';

export interface CertificateFacts {
  /** SHA-256 of the certificate, lower-case hexadecimal: its identity everywhere here. */
  readonly fingerprint: string;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly isAuthority: boolean;
  /** DNS names and IP addresses. */
  readonly names: readonly string[];
}

/** Throws on what is not a certificate; the message never holds the input. */
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

/** The authority of the bundle that signed this certificate, or undefined. Checked by signature, not by name alone. */
export function issuerIn(bundle: readonly string[], leaf: string): string | undefined {
  const certificate = parse(leaf);
  return bundle.find((pem) => {
    const authority = parse(pem);
    return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
  });
}

/** Whether the private key is the certificate's. */
export function belongTogether(pair: KeyPair): boolean {
  try {
    return parse(pair.certificate).checkPrivateKey(createPrivateKey(pair.key));
  } catch {
    return false;
  }
}

/** The certificates of a bundle, each as PEM of its own, without repeats. Text around them is ignored, as OpenSSL and Go do. */
export function splitBundle(bundle: string): string[] {
  const blocks = bundle.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  return [...new Set(blocks.map((block) => `${block}\n`))];
}

export const joinBundle = (certificates: readonly string[]): string => certificates.join('');

/** Whether clients that connect by any of these names accept the certificate. */
export function coversNames(facts: CertificateFacts, wanted: readonly string[]): boolean {
  const present = new Set(facts.names);
  return wanted.every((name) => present.has(canonicalName(name)));
}

/** One spelling for a name: DNS is not case-sensitive, and an IPv6 address has many forms. */
export function canonicalName(name: string): string {
  if (isIP(name) !== 6) return name.toLowerCase();
  return new URL(`http://[${name}]`).hostname.slice(1, -1);
}

/** Every turn of every replica looks at the same few certificates again. */
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
