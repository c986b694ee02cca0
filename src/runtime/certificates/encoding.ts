/** Encodes certificates as named text fields: the data of a Secret, or a file of the local store. */
import { belongTogether, inspect, issuerIn, joinBundle, splitBundle } from './inspect.ts';
import type { KeyPair } from './issue.ts';
import type { Material } from './store.ts';

export type Fields = Readonly<Record<string, string>>;

/** `tls.crt`, `tls.key` and `ca.crt` are the standard names of kubernetes.io/tls; `rotation` is specific to kidp. */
export function encodeMaterial(material: Material): Fields {
  const { generation, next } = material;
  return {
    'tls.crt': material.leaf.certificate,
    'tls.key': material.leaf.key,
    'ca.crt': joinBundle(material.bundle),
    rotation: JSON.stringify(next === undefined ? { generation } : { generation, next }),
  };
}

/** Throws if the material is unusable. The message does not quote values, which may be secret. */
export function decodeMaterial(fields: Fields): Material {
  const leaf = { certificate: required(fields, 'tls.crt'), key: required(fields, 'tls.key') };
  const bundle = splitBundle(required(fields, 'ca.crt'));
  if (!belongTogether(leaf)) throw new Error('tls.key is not the key of tls.crt');
  if (!bundle.every((pem) => inspect(pem).isAuthority))
    throw new Error('ca.crt holds a certificate that is not an authority');
  // Derived from the signature instead of a stored field: only the authority that signed the leaf can be the signing
  // one.
  const signing = issuerIn(bundle, leaf.certificate);
  if (signing === undefined) throw new Error('no authority in ca.crt has signed tls.crt');
  const { generation, next } = decodeRotation(fields.rotation);
  const material = { generation, leaf, bundle, signing: inspect(signing).fingerprint };
  const known =
    next !== undefined && next !== material.signing && bundle.some((pem) => inspect(pem).fingerprint === next);
  return known ? { ...material, next } : material;
}

/** Encodes each authority as two fields, named by its fingerprint. */
export function encodeKeys(keys: readonly KeyPair[]): Fields {
  return Object.fromEntries(
    keys.flatMap(({ certificate, key }) => {
      const { fingerprint } = inspect(certificate);
      return [
        [`${fingerprint}.crt`, certificate],
        [`${fingerprint}.key`, key],
      ];
    }),
  );
}

/** Unusable entries are omitted: an authority without its key is replaced. */
export function decodeKeys(fields: Fields): KeyPair[] {
  return Object.entries(fields)
    .filter(([name]) => name.endsWith('.crt'))
    .map(([name, certificate]) => ({ certificate, key: fields[name.replace(/\.crt$/, '.key')] ?? '' }))
    .filter((pair) => belongTogether(pair) && inspect(pair.certificate).isAuthority);
}

function required(fields: Fields, name: string): string {
  const value = fields[name];
  if (value === undefined || value === '') throw new Error(`${name} is missing`);
  return value;
}

/** A lost or invalid field aborts a rotation in progress, but does not affect the certificates. */
function decodeRotation(text: string | undefined): { generation: number; next?: string } {
  try {
    const parsed: unknown = JSON.parse(text ?? '');
    if (typeof parsed !== 'object' || parsed === null) return { generation: 1 };
    const { generation, next } = parsed as { generation?: unknown; next?: unknown };
    return {
      generation: typeof generation === 'number' && Number.isSafeInteger(generation) && generation > 0 ? generation : 1,
      ...(typeof next === 'string' ? { next } : {}),
    };
  } catch {
    return { generation: 1 };
  }
}
