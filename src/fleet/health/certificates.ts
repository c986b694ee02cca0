/** The certificates that an API server trusts a webhook by. Who serves with another one is found out by asking. */
import { hash, X509Certificate } from 'node:crypto';
import { type Finding, finding, healthy } from './part.ts';
import type { Webhook } from './shapes.ts';

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Old and new ones stand side by side while they are rotated: one that is valid is enough. */
export function checkCertificates({ name = '', clientConfig }: Webhook, now: number): Finding {
  const { caBundle } = clientConfig ?? {};
  // Without any, the API server trusts whom its system trusts.
  if (caBundle === undefined || caBundle === '') return healthy;
  const lives = livesOf(caBundle);
  if (lives.length === 0) {
    return finding('Unhealthy', `webhook ${name}: its caBundle holds no certificate that can be read`);
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

/** Reading a certificate takes longer than all the rest of a look, and the same ones are looked at every time. */
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
