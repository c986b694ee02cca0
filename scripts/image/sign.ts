/** Signatures with a key of the user, in the formats of `cosign verify-blob`: ECDSA P-256 over the payload, and a DSSE envelope. */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';

export function signingKey(file: string): KeyObject {
  const key = createPrivateKey({ key: readFileSync(file), passphrase: process.env.KIDP_SIGNING_PASSWORD ?? '' });
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  throw new Error(
    `${file} has a key of type ${key.asymmetricKeyType}, want ECDSA P-256: openssl ecparam -genkey -name prime256v1 -noout`,
  );
}

/** Returns what is signed about an image, as the ecosystem of sigstore does it. */
export const simpleSigning = (name: string, digest: string): string =>
  JSON.stringify({
    critical: {
      identity: { 'docker-reference': name },
      image: { 'docker-manifest-digest': digest },
      type: 'cosign container image signature',
    },
    optional: null,
  });

export const signature = (key: KeyObject, payload: string): string =>
  sign('sha256', Buffer.from(payload), key).toString('base64');

/** Returns a DSSE envelope of an in-toto statement. */
export function envelope(key: KeyObject, statement: object): object {
  const payloadType = 'application/vnd.in-toto+json';
  const payload = JSON.stringify(statement);
  const encoded = `DSSEv1 ${payloadType.length} ${payloadType} ${Buffer.byteLength(payload)} ${payload}`;
  return {
    payloadType,
    payload: Buffer.from(payload).toString('base64'),
    signatures: [{ sig: signature(key, encoded) }],
  };
}
