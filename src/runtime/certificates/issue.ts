/**
 * Makes certificates: an authority that signs itself, and leaves for servers and clients that it signs, everything as PEM. Keys are EC P-256;
 * an authority may be asked for with RSA 2048, as kubeadm makes them, and its leaves then have such keys too.
 */
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import { ConfigError } from '../errors.ts';
import * as der from './der.ts';

export interface KeyPair {
  /** The certificate, PEM. */
  readonly certificate: string;
  /** The private key, PKCS#8 PEM. Never logged, never part of a message. */
  readonly key: string;
}

interface Validity {
  /** When it is issued, in milliseconds since 1970. */
  readonly now: number;
  readonly validMilliseconds: number;
  /** How far before `now` it begins, for peers whose clock is behind ours. */
  readonly backdateMilliseconds: number;
}

interface AuthorityRequest extends Validity {
  /** The default is a name of its own, so that a verifier that looks an issuer up by name finds the right one of two. */
  readonly commonName?: string;
  readonly keys?: KeyKind;
}

export type KeyKind = 'ec' | 'rsa';

/** For a server, for a client, or for what is both. */
interface LeafRequest extends Validity {
  /** A server's DNS names (a leading `*.` is allowed) and IP addresses. */
  readonly names?: readonly string[];
  /** Who a client is. Kubernetes reads the common name as the user and the organizations as its groups. */
  readonly client?: { readonly commonName: string; readonly organizations?: readonly string[] };
}

/** A self-signed authority. */
export function issueAuthority(request: AuthorityRequest): KeyPair {
  const { publicKey, privateKey } = newKeys(request.keys);
  const serial = newSerial();
  const name = distinguishedName(request.commonName ?? `kidp ca ${serial.subarray(0, 4).toString('hex')}`);
  const certificate = signCertificate({
    serial,
    issuer: name,
    subject: name,
    publicKey,
    signer: privateKey,
    notBefore: request.now - request.backdateMilliseconds,
    notAfter: request.now + request.validMilliseconds,
    extensions: [
      // It signs leaves only: no authority can stand below it.
      extension(oid.basicConstraints, der.sequence(der.boolean(true), der.integer(Buffer.from([0]))), 'critical'),
      extension(oid.keyUsage, keyUsage.certificateSigning, 'critical'),
      extension(oid.subjectKeyIdentifier, der.octetString(keyIdentifier(publicKey))),
    ],
  });
  return { certificate, key: privateKeyPem(privateKey) };
}

/** It never outlives its authority, nor begins before it. */
export function issueLeaf(authority: KeyPair, request: LeafRequest): KeyPair {
  const { names = [], client } = request;
  if (names.length === 0 && client === undefined) {
    throw new ConfigError({
      code: 'certificate-names',
      message: 'A serving certificate needs a name',
      hint: 'Give at least one DNS name or IP address that clients connect to',
    });
  }
  const usages = [
    ...(names.length === 0 ? [] : [oid.serverAuthentication]),
    ...(client === undefined ? [] : [oid.clientAuthentication]),
  ];
  const issuer = new X509Certificate(authority.certificate);
  const signer = createPrivateKey(authority.key);
  const { publicKey, privateKey } = newKeys(signer.asymmetricKeyType === 'rsa' ? 'rsa' : 'ec');
  const certificate = signCertificate({
    serial: newSerial(),
    issuer: subjectOf(issuer),
    // Of a server verifiers read the alternative names; a common name is limited to 64 characters and ignored by all of them.
    subject: distinguishedName(client?.commonName ?? 'kidp', client?.organizations),
    publicKey,
    signer,
    notBefore: Math.max(request.now - request.backdateMilliseconds, issuer.validFromDate.getTime()),
    notAfter: Math.min(request.now + request.validMilliseconds, issuer.validToDate.getTime()),
    extensions: [
      extension(oid.basicConstraints, der.sequence(), 'critical'),
      extension(oid.keyUsage, keyUsage.digitalSignature, 'critical'),
      extension(oid.extendedKeyUsage, der.sequence(...usages.map(der.objectIdentifier))),
      extension(oid.subjectKeyIdentifier, der.octetString(keyIdentifier(publicKey))),
      extension(oid.authorityKeyIdentifier, der.sequence(der.implicit(0, keyIdentifier(issuer.publicKey)))),
      ...(names.length === 0
        ? []
        : [extension(oid.subjectAlternativeName, der.sequence(...names.map(alternativeName)))]),
    ],
  });
  return { certificate, key: privateKeyPem(privateKey) };
}

const oid = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  rsaWithSha256: '1.2.840.113549.1.1.11',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternativeName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuthentication: '1.3.6.1.5.5.7.3.1',
  clientAuthentication: '1.3.6.1.5.5.7.3.2',
} as const;

const keyUsage = {
  digitalSignature: der.bitString(Buffer.from([0b1000_0000]), 7),
  // keyCertSign and cRLSign
  certificateSigning: der.bitString(Buffer.from([0b0000_0110]), 1),
} as const;

interface CertificateContent {
  serial: Buffer;
  issuer: Buffer;
  subject: Buffer;
  publicKey: KeyObject;
  signer: KeyObject;
  notBefore: number;
  notAfter: number;
  extensions: readonly Buffer[];
}

function signCertificate(content: CertificateContent): string {
  // Only that of RSA has parameters, which say nothing (RFC 4055, 5).
  const algorithm =
    content.signer.asymmetricKeyType === 'rsa'
      ? der.sequence(der.objectIdentifier(oid.rsaWithSha256), der.nothing)
      : der.sequence(der.objectIdentifier(oid.ecdsaWithSha256));
  const toBeSigned = der.sequence(
    der.explicit(0, der.integer(Buffer.from([2]))), // version 3
    der.integer(content.serial),
    algorithm,
    content.issuer,
    der.sequence(der.time(content.notBefore), der.time(content.notAfter)),
    content.subject,
    content.publicKey.export({ type: 'spki', format: 'der' }),
    der.explicit(3, der.sequence(...content.extensions)),
  );
  const signature = sign('sha256', toBeSigned, content.signer);
  return der.pem('CERTIFICATE', der.sequence(toBeSigned, algorithm, der.bitString(signature)));
}

/** A tenth of a millisecond (RSA: a tenth of a second, and only who asks for it waits): not worth a thread. */
const newKeys = (kind: KeyKind = 'ec') =>
  kind === 'rsa'
    ? generateKeyPairSync('rsa', { modulusLength: 2048 })
    : generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

/** 127 random bits: positive, and never the same twice (RFC 5280 allows 20 octets). */
function newSerial(): Buffer {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  return serial;
}

const privateKeyPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

function distinguishedName(commonName: string, organizations: readonly string[] = []): Buffer {
  const attribute = (type: string, value: string) =>
    der.set(der.sequence(der.objectIdentifier(type), der.utf8String(value)));
  return der.sequence(
    ...organizations.map((organization) => attribute(oid.organization, organization)),
    attribute(oid.commonName, commonName),
  );
}

/** An issuer's name must be repeated in the leaf; ours hold a common name and nothing else. */
function subjectOf(certificate: X509Certificate): Buffer {
  const commonName = /^CN=(.*)$/m.exec(certificate.subject)?.[1];
  return distinguishedName(commonName ?? '');
}

/** RFC 5280, 4.2.1.2: the SHA-1 of the public key's bits, which are the 65 bytes of an uncompressed P-256 point, or an RSAPublicKey. */
function keyIdentifier(key: KeyObject): Buffer {
  const bits =
    key.asymmetricKeyType === 'rsa'
      ? key.export({ type: 'pkcs1', format: 'der' })
      : key.export({ type: 'spki', format: 'der' }).subarray(-65);
  return createHash('sha1').update(bits).digest();
}

function extension(id: string, value: Buffer, critical?: 'critical'): Buffer {
  const flag = critical === undefined ? [] : [der.boolean(true)];
  return der.sequence(der.objectIdentifier(id), ...flag, der.octetString(value));
}

function alternativeName(name: string): Buffer {
  switch (isIP(name)) {
    case 4:
      return der.implicit(7, Buffer.from(name.split('.').map(Number)));
    case 6:
      return der.implicit(7, ipv6Octets(name));
    default:
      return der.implicit(2, Buffer.from(name, 'ascii'));
  }
}

function ipv6Octets(address: string): Buffer {
  const embedded = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const text =
    embedded === null
      ? address
      : `${embedded[1]}${groupOf(embedded[2], embedded[3])}:${groupOf(embedded[4], embedded[5])}`;
  const [head = '', tail] = text.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0');
  return Buffer.from([...left, ...zeros, ...right].flatMap((group) => splitGroup(Number.parseInt(group, 16))));
}

const groupOf = (high: string | undefined, low: string | undefined): string =>
  (Number(high) * 256 + Number(low)).toString(16);
const splitGroup = (group: number): [number, number] => [group >> 8, group & 0xff];
