/** Checks the CA bundle of a webhook. A server that uses another certificate is found by the dry run. */
import { hash, X509Certificate } from 'node:crypto';
import { type Finding, finding, healthy } from './part.ts';
import type { Webhook } from './shapes.ts';

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Old and new CA certificates are both present during rotation: one valid certificate is enough. */
export function checkCertificates({ name = '', clientConfig }: Webhook, now: number): Finding {
  const { caBundle } = clientConfig ?? {};
  // Without a bundle the API server uses the system trust store.
  if (caBundle === undefined || caBundle === '') return healthy;
  const lives = livesOf(caBundle);
  if (lives.length === 0) {
    return finding('Unhealthy', `webhook ${name}: its caBundle contains no readable certificate`);
  }
  if (lives.some(({ from, to }) => from <= now && now <= to)) return healthy;
  if (lives.every(({ from }) => now < from)) {
    return finding('Unhealthy', `webhook ${name}: the certificates in its caBundle are not valid yet`);
  }
  return finding('Unhealthy', `webhook ${name}: the certificates in its caBundle have expired`);
}

interface Life {
  readonly from: number;
  readonly to: number;
}

/** Parsed certificates are cached: parsing is the slowest part of a check, and the same ones are checked every time. */
const known = new Map<string, readonly Life[]>();
const mostKnown = 100_000;

function livesOf(caBundle: string): readonly Life[] {
  const key = hash('sha1', caBundle, 'base64');
  const lives = known.get(key) ?? read(caBundle);
  if (known.size >= mostKnown) known.clear();
  known.set(key, lives);
  return lives;
}

function read(caBundle: string): readonly Life[] {
  const texts = Buffer.from(caBundle, 'base64').toString('latin1').match(pem) ?? [];
  return texts
    .flatMap((text) => readable(text) ?? [])
    .map(({ validFromDate, validToDate }) => ({ from: +validFromDate, to: +validToDate }));
}

function readable(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}
