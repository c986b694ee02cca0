import { X509Certificate } from 'node:crypto';
import { connect, createServer } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { belongTogether, canonicalName, coversNames, inspect, issuerIn, splitBundle } from './inspect.ts';
import { issueAuthority, issueLeaf, type KeyPair } from './issue.ts';
import { opensslAuthority } from './support/openssl-authority.ts';

const hour = 3_600_000;
const now = Math.floor(Date.now() / 1000) * 1000;
const validity = { now, validMilliseconds: 2 * hour, backdateMilliseconds: hour };

describe('issueAuthority', () => {
  it('signs itself, for certificates only, from before now until its end', () => {
    const authority = issueAuthority(validity);
    const certificate = new X509Certificate(authority.certificate);
    expect(certificate.ca).toBe(true);
    expect(certificate.checkIssued(certificate)).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(inspect(authority.certificate)).toMatchObject({ notBefore: now - hour, notAfter: now + 2 * hour });
    expect(belongTogether(authority)).toBe(true);
  });

  it('gives every authority a unique name and serial number', () => {
    const certificates = Array.from({ length: 20 }, () => new X509Certificate(issueAuthority(validity).certificate));
    expect(new Set(certificates.map(({ subject }) => subject)).size).toBe(20);
    expect(new Set(certificates.map(({ serialNumber }) => serialNumber)).size).toBe(20);
  });

  it('uses the given name', () => {
    const { certificate } = issueAuthority({ ...validity, commonName: 'kidp-clients' });
    expect(new X509Certificate(certificate).subject).toBe('CN=kidp-clients');
  });

  it('can end after 2049, when the form of a date in a certificate changes', () => {
    const authority = issueAuthority({ ...validity, validMilliseconds: 50 * 365 * 24 * hour });
    expect(new Date(inspect(authority.certificate).notAfter).getUTCFullYear()).toBeGreaterThan(2070);
  });
});

describe('issueLeaf', () => {
  const authority = issueAuthority(validity);

  it('can be verified by its authority and by no other', () => {
    const other = issueAuthority(validity);
    const leaf = issueLeaf(authority, { ...validity, names: ['localhost'] });
    expect(issuerIn([other.certificate, authority.certificate], leaf.certificate)).toBe(authority.certificate);
    expect(issuerIn([other.certificate], leaf.certificate)).toBeUndefined();
    expect(inspect(leaf.certificate).isAuthority).toBe(false);
    expect(belongTogether(leaf)).toBe(true);
    expect(belongTogether({ certificate: leaf.certificate, key: other.key })).toBe(false);
  });

  const names: { reason: string; name: string; host?: string; address?: string }[] = [
    { reason: 'a DNS name', name: 'localhost', host: 'localhost' },
    { reason: 'a Service in a cluster', name: 'kidp.kidp-system.svc', host: 'kidp.kidp-system.svc' },
    { reason: 'a wildcard', name: '*.example.com', host: 'a.example.com' },
    { reason: 'an IPv4 address', name: '127.0.0.1', address: '127.0.0.1' },
    { reason: 'the shortest IPv6 address', name: '::1', address: '::1' },
    { reason: 'an IPv6 address with zeros in the middle', name: '2001:db8::1:2', address: '2001:db8::1:2' },
    { reason: 'an IPv6 address written out', name: '2001:db8:1:2:3:4:5:6', address: '2001:db8:1:2:3:4:5:6' },
    { reason: 'an IPv6 address that ends in IPv4', name: '64:ff9b::192.0.2.33', address: '64:ff9b::c000:221' },
  ];
  it.each(names)('holds $reason', ({ name, host, address }) => {
    const leaf = issueLeaf(authority, { ...validity, names: [name] });
    const certificate = new X509Certificate(leaf.certificate);
    if (host !== undefined) expect(certificate.checkHost(host)).toBeDefined();
    if (address !== undefined) expect(certificate.checkIP(address)).toBeDefined();
    expect(certificate.checkHost('elsewhere.test')).toBeUndefined();
    expect(coversNames(inspect(leaf.certificate), [name])).toBe(true);
    expect(coversNames(inspect(leaf.certificate), [name, 'another.test'])).toBe(false);
  });

  const lives = [
    {
      reason: 'it begins in the past, for clocks that are behind',
      from: now - hour / 2,
      until: now + hour,
      backdate: hour / 2,
      valid: hour,
    },
    {
      reason: 'it never outlives its authority',
      from: now - hour / 2,
      until: now + 2 * hour,
      backdate: hour / 2,
      valid: 9 * hour,
    },
    {
      reason: 'it never begins before its authority',
      from: now - hour,
      until: now + hour,
      backdate: 9 * hour,
      valid: hour,
    },
  ];
  it.each(lives)('$reason', ({ from, until, backdate, valid }) => {
    const request = { now, validMilliseconds: valid, backdateMilliseconds: backdate, names: ['localhost'] };
    const facts = inspect(issueLeaf(authority, request).certificate);
    expect(facts).toMatchObject({ notBefore: from, notAfter: until });
  });

  it('is rejected if it is neither for a server with a name nor for a client', () => {
    expect(() => issueLeaf(authority, { ...validity, names: [] })).toThrow(
      expect.objectContaining({ code: 'config/certificate-names' }),
    );
  });

  const serverAuthentication = '1.3.6.1.5.5.7.3.1';
  const clientAuthentication = '1.3.6.1.5.5.7.3.2';
  const alice = { commonName: 'alice', organizations: ['system:masters', 'ä'] };
  const purposes = [
    { reason: 'a server', request: { names: ['localhost'] }, usages: [serverAuthentication], subject: { CN: 'kidp' } },
    {
      reason: 'a client',
      request: { client: alice },
      usages: [clientAuthentication],
      subject: { CN: 'alice', O: ['system:masters', 'ä'] },
    },
    {
      reason: 'both',
      request: { names: ['localhost'], client: { commonName: 'etcd' } },
      usages: [serverAuthentication, clientAuthentication],
      subject: { CN: 'etcd' },
    },
  ];
  it.each(purposes)('is valid for $reason only', ({ request, usages, subject }) => {
    const leaf = new X509Certificate(issueLeaf(authority, { ...validity, ...request }).certificate);
    expect(leaf.keyUsage).toEqual(usages);
    expect(leaf.toLegacyObject().subject).toEqual(subject);
  });

  const clients: { reason: string; trusts: (other: KeyPair) => string; host: string; error?: string }[] = [
    { reason: 'a client that trusts its authority', trusts: () => authority.certificate, host: 'localhost' },
    {
      reason: 'a client that trusts two',
      trusts: (other) => other.certificate + authority.certificate,
      host: 'localhost',
    },
    {
      reason: 'a client that trusts another',
      trusts: (other) => other.certificate,
      host: 'localhost',
      error: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    },
    {
      reason: 'a client that wanted another name',
      trusts: () => authority.certificate,
      host: 'elsewhere.test',
      error: 'ERR_TLS_CERT_ALTNAME_INVALID',
    },
  ];
  it.each(clients)('is presented to $reason', async ({ trusts, host, error }) => {
    const leaf = issueLeaf(authority, { ...validity, names: ['localhost'] });
    await expect(handshake(leaf, trusts(issueAuthority(validity)), host)).resolves.toBe(error);
  });
});

describe('issueLeaf under an authority of OpenSSL whose subject is more than a common name', () => {
  const leaf = issueLeaf(opensslAuthority, { ...validity, names: ['localhost'] });

  it('repeats the whole subject and the key identifier of the authority, so that the chain verifies', () => {
    const [authority, issued] = [
      new X509Certificate(opensslAuthority.certificate),
      new X509Certificate(leaf.certificate),
    ];
    expect(authority.subject.split('\n')).toHaveLength(6);
    expect(issued.issuer).toBe(authority.subject);
    expect(issued.checkIssued(authority)).toBe(true);
    expect(issued.verify(authority.publicKey)).toBe(true);
    expect(issuerIn([issueAuthority(validity).certificate, opensslAuthority.certificate], leaf.certificate)).toBe(
      opensslAuthority.certificate,
    );
  });

  it('is accepted in a handshake by a client that trusts the authority', async () => {
    await expect(handshake(leaf, opensslAuthority.certificate, 'localhost')).resolves.toBeUndefined();
  });
});

describe('splitBundle', () => {
  it('finds every certificate once, ignoring the text around them', () => {
    const [one, two] = [issueAuthority(validity).certificate, issueAuthority(validity).certificate];
    expect(splitBundle(`# the first\n${one}\r\n# the second\n${two.trimEnd()}${one}`)).toEqual([one, two]);
    expect(splitBundle('no certificate')).toEqual([]);
  });
});

describe('canonicalName', () => {
  const rows = [
    { reason: 'DNS knows no case', name: 'Foo.Example.COM', canonical: 'foo.example.com' },
    { reason: 'an IPv4 address has one form', name: '10.0.0.1', canonical: '10.0.0.1' },
    { reason: 'an IPv6 address has many', name: '2001:DB8:0:0:0:0:0:1', canonical: '2001:db8::1' },
  ];
  it.each(rows)('$reason', ({ name, canonical }) => {
    expect(canonicalName(name)).toBe(canonical);
  });
});

/** Resolves to the code of the verification error of the client, or to undefined. */
function handshake(leaf: KeyPair, ca: string, servername: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer({ cert: leaf.certificate, key: leaf.key }, (socket) => socket.end());
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      const finish = (code?: string) => {
        client.destroy();
        server.close(() => resolve(code));
      };
      const client = connect({ host: '127.0.0.1', port, ca, servername }, () => finish());
      client.on('error', (error: NodeJS.ErrnoException) => finish(error.code));
    });
  });
}
