/**
 * Issues certificates as PEM: self-signed authorities, and leaves for servers and clients. Keys are EC P-256 by default. An authority
 * can have an RSA 2048 key, the default of kubeadm, and then its leaves have RSA keys too.
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
import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import type { Extension, GeneralName, Name } from '@peculiar/asn1-x509';
import { ConfigError } from '../errors.ts';
import { canonicalName } from './inspect.ts';

type Asn1 = typeof import('@peculiar/asn1-schema') & typeof import('@peculiar/asn1-x509');

let loaded: Asn1 | undefined;

/** Loads the ASN.1 schemas when the first certificate is issued: most processes that import this module never issue one. */
function asn1(): Asn1 {
  const require = createRequire(import.meta.url);
  loaded ??= { ...require('@peculiar/asn1-schema'), ...require('@peculiar/asn1-x509') } as Asn1;
  return loaded;
}

export interface KeyPair {
  /** The certificate, PEM. */
  readonly certificate: string;
  /** The private key, PKCS#8 PEM. Never logged, never part of a message. */
  readonly key: string;
}

interface Validity {
  /** The time of issue, in milliseconds since 1970. */
  readonly now: number;
  readonly validMilliseconds: number;
  /** The time before `now` at which the certificate becomes valid, for peers whose clock is behind. */
  readonly backdateMilliseconds: number;
}

interface AuthorityRequest extends Validity {
  /** Default: a unique name, so that a verifier that looks up an issuer by name finds the right one of two. */
  readonly commonName?: string;
  readonly keys?: KeyKind;
}

export type KeyKind = 'ec' | 'rsa';

/** A leaf for a server, for a client, or for both. */
interface LeafRequest extends Validity {
  /** The DNS names of a server (a leading `*.` is allowed) and its IP addresses. */
  readonly names?: readonly string[];
  /** The identity of a client. Kubernetes reads the common name as the user and the organizations as its groups. */
  readonly client?: { readonly commonName: string; readonly organizations?: readonly string[] };
}

/** `issueAuthority` issues a self-signed authority. It signs leaves only: no authority below it is valid. */
export function issueAuthority(request: AuthorityRequest): KeyPair {
  const { BasicConstraints, KeyUsage, KeyUsageFlags } = asn1();
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
      extension(oid.basicConstraints, new BasicConstraints({ cA: true, pathLenConstraint: 0 }), 'critical'),
      extension(oid.keyUsage, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign), 'critical'),
      subjectKeyIdentifier(publicKey),
    ],
  });
  return { certificate, key: privateKeyPem(privateKey) };
}

/**
 * `issueLeaf` issues a leaf under any authority whose key is given, also one that was not issued here. The leaf is valid only while its
 * authority is.
 */
export function issueLeaf(authority: KeyPair, request: LeafRequest): KeyPair {
  const { names = [], client } = request;
  if (names.length === 0 && client === undefined) {
    throw new ConfigError({
      code: 'certificate-names',
      message: 'A serving certificate needs a name',
      hint: 'Give at least one DNS name or IP address that clients connect to',
    });
  }
  const { AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyIdentifier, KeyUsage, KeyUsageFlags } = asn1();
  const { SubjectAlternativeName } = asn1();
  const usages = [
    ...(names.length === 0 ? [] : [oid.serverAuthentication]),
    ...(client === undefined ? [] : [oid.clientAuthentication]),
  ];
  const issuer = new X509Certificate(authority.certificate);
  const { subject, keyIdentifier } = issuerFacts(issuer);
  const signer = createPrivateKey(authority.key);
  const { publicKey, privateKey } = newKeys(signer.asymmetricKeyType === 'rsa' ? 'rsa' : 'ec');
  const certificate = signCertificate({
    serial: newSerial(),
    issuer: subject,
    // Verifiers read the alternative names of a server; its common name is limited to 64 characters and ignored by all of them.
    subject: distinguishedName(client?.commonName ?? 'kidp', client?.organizations),
    publicKey,
    signer,
    notBefore: Math.max(request.now - request.backdateMilliseconds, issuer.validFromDate.getTime()),
    notAfter: Math.min(request.now + request.validMilliseconds, issuer.validToDate.getTime()),
    extensions: [
      extension(oid.basicConstraints, new BasicConstraints(), 'critical'),
      extension(oid.keyUsage, new KeyUsage(KeyUsageFlags.digitalSignature), 'critical'),
      extension(oid.extendedKeyUsage, new ExtendedKeyUsage(usages)),
      subjectKeyIdentifier(publicKey),
      extension(
        oid.authorityKeyIdentifier,
        new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(keyIdentifier) }),
      ),
      ...(names.length === 0
        ? []
        : [extension(oid.subjectAlternativeName, new SubjectAlternativeName(names.map(alternativeName)))]),
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

interface CertificateContent {
  readonly serial: Buffer;
  readonly issuer: Name;
  readonly subject: Name;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly notBefore: number;
  readonly notAfter: number;
  readonly extensions: readonly Extension[];
}

function signCertificate(content: CertificateContent): string {
  const { AlgorithmIdentifier, AsnConvert, Certificate, Extensions, SubjectPublicKeyInfo, TBSCertificate } = asn1();
  const { Validity, Version } = asn1();
  // The parameters of the RSA algorithm are NULL, those of ECDSA are absent (RFC 4055, 5; RFC 5758, 3.2).
  const algorithm = () =>
    content.signer.asymmetricKeyType === 'rsa'
      ? new AlgorithmIdentifier({ algorithm: oid.rsaWithSha256, parameters: null })
      : new AlgorithmIdentifier({ algorithm: oid.ecdsaWithSha256 });
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: bytes(content.serial),
    signature: algorithm(),
    issuer: content.issuer,
    validity: new Validity({ notBefore: wholeSeconds(content.notBefore), notAfter: wholeSeconds(content.notAfter) }),
    subject: content.subject,
    subjectPublicKeyInfo: AsnConvert.parse(
      content.publicKey.export({ type: 'spki', format: 'der' }),
      SubjectPublicKeyInfo,
    ),
    extensions: new Extensions([...content.extensions]),
  });
  const signature = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), content.signer);
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm: algorithm(),
    signatureValue: bytes(signature),
  });
  return new X509Certificate(Buffer.from(AsnConvert.serialize(certificate))).toString();
}

/** The time in a certificate has no fractions of a second (RFC 5280, 4.1.2.5). */
const wholeSeconds = (milliseconds: number): Date => new Date(Math.floor(milliseconds / 1000) * 1000);

/** Generating a key takes 0.1 ms (RSA: 0.1 s), which does not justify a thread. */
const newKeys = (kind: KeyKind = 'ec') =>
  kind === 'rsa'
    ? generateKeyPairSync('rsa', { modulusLength: 2048 })
    : generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

/** 127 random bits: positive and unique (RFC 5280 allows 20 octets). */
function newSerial(): Buffer {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  return serial;
}

const privateKeyPem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

function distinguishedName(commonName: string, organizations: readonly string[] = []): Name {
  const { AttributeTypeAndValue, AttributeValue, Name, RelativeDistinguishedName } = asn1();
  const attribute = (type: string, utf8String: string) =>
    new RelativeDistinguishedName([new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String }) })]);
  return new Name([
    ...organizations.map((organization) => attribute(oid.organization, organization)),
    attribute(oid.commonName, commonName),
  ]);
}

/**
 * A leaf repeats the whole subject of its issuer and names the issuer's key by the identifier that the issuer itself states: a verifier
 * compares both, so neither can be derived here for an authority that was issued elsewhere.
 */
function issuerFacts(issuer: X509Certificate): { readonly subject: Name; readonly keyIdentifier: Buffer } {
  const { AsnConvert, Certificate, SubjectKeyIdentifier } = asn1();
  const { tbsCertificate } = AsnConvert.parse(issuer.raw, Certificate);
  const stated = tbsCertificate.extensions?.find(({ extnID }) => extnID === oid.subjectKeyIdentifier);
  const keyIdentifier =
    stated === undefined
      ? keyIdentifierOf(issuer.publicKey)
      : Buffer.from(AsnConvert.parse(stated.extnValue.buffer, SubjectKeyIdentifier).buffer);
  return { subject: tbsCertificate.subject, keyIdentifier };
}

/** RFC 5280, 4.2.1.2: the SHA-1 of the public key's bits, which are the 65 bytes of an uncompressed P-256 point, or an RSAPublicKey. */
function keyIdentifierOf(key: KeyObject): Buffer {
  const bits =
    key.asymmetricKeyType === 'rsa'
      ? key.export({ type: 'pkcs1', format: 'der' })
      : key.export({ type: 'spki', format: 'der' }).subarray(-65);
  return createHash('sha1').update(bits).digest();
}

function subjectKeyIdentifier(key: KeyObject): Extension {
  const { SubjectKeyIdentifier } = asn1();
  return extension(oid.subjectKeyIdentifier, new SubjectKeyIdentifier(keyIdentifierOf(key)));
}

function extension(extnID: string, value: object, critical?: 'critical'): Extension {
  const { AsnConvert, Extension, OctetString } = asn1();
  const extnValue = new OctetString(AsnConvert.serialize(value));
  return new Extension({ extnID, critical: critical !== undefined, extnValue });
}

function alternativeName(name: string): GeneralName {
  const { GeneralName } = asn1();
  return new GeneralName(isIP(name) === 0 ? { dNSName: name } : { iPAddress: canonicalName(name) });
}

/** The schemas take an `ArrayBuffer`; that of a `Buffer` may be a shared pool. */
const bytes = (buffer: Buffer): ArrayBuffer => new Uint8Array(buffer).buffer;
