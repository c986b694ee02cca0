/** The certificates that an API server trusts a webhook by. Who serves with another one is found out by asking. */
import { X509Certificate } from 'node:crypto';
import { type Finding, finding, healthy } from './part.ts';
import type { Webhook } from './shapes.ts';

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Old and new ones stand side by side while they are rotated: one that is valid is enough. */
export function checkCertificates({ name = '', clientConfig }: Webhook, now: number): Finding {
  const { caBundle } = clientConfig ?? {};
  // Without any, the API server trusts whom its system trusts.
  if (caBundle === undefined || caBundle === '') return healthy;
  const texts = Buffer.from(caBundle, 'base64').toString('latin1').match(pem) ?? [];
  const certificates = texts.flatMap((text) => readable(text) ?? []);
  if (certificates.length === 0) {
    return finding('Unhealthy', `webhook ${name}: its caBundle holds no certificate that can be read`);
  }
  if (certificates.some(({ validFromDate, validToDate }) => +validFromDate <= now && now <= +validToDate))
    return healthy;
  if (certificates.every(({ validFromDate }) => now < +validFromDate)) {
    return finding('Unhealthy', `webhook ${name}: the certificates in its caBundle are not valid yet`);
  }
  return finding('Unhealthy', `webhook ${name}: the certificates in its caBundle have expired`);
}

function readable(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}
