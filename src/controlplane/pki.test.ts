import { createPrivateKey, createPublicKey, sign, verify, X509Certificate } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { createAuthority, createSigningKeys, issueLeaf, type KeyPair } from './pki.ts';

const authority = createAuthority('test-authority');

describe('an authority', () => {
  it('signs itself and may sign others', () => {
    const certificate = new X509Certificate(authority.certificate);
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(authority.key))).toBe(true);
    expect(certificate.validToDate.getTime()).toBeGreaterThan(Date.now() + 9 * 365 * 24 * 3600 * 1000);
  });
});

describe('a leaf', () => {
  it('is signed by its authority and no authority itself', () => {
    const leaf = new X509Certificate(issueLeaf(authority, { commonName: 'x' }).certificate);
    const issuer = new X509Certificate(authority.certificate);
    expect(leaf.checkIssued(issuer)).toBe(true);
    expect(leaf.verify(issuer.publicKey)).toBe(true);
    expect(leaf.verify(new X509Certificate(createAuthority('test-authority').certificate).publicKey)).toBe(false);
    expect(leaf.ca).toBe(false);
  });

  it('carries the user and its groups', () => {
    const leaf = new X509Certificate(
      issueLeaf(authority, { commonName: 'system:node:ä', organizations: ['system:masters', 'b'] }).certificate,
    );
    expect(leaf.toLegacyObject().subject).toMatchObject({ CN: 'system:node:ä', O: ['system:masters', 'b'] });
  });

  it('carries names and addresses of a server, and only a server’s leaf may serve', () => {
    const server = new X509Certificate(
      issueLeaf(authority, { commonName: 's', hosts: ['localhost', '127.0.0.1', '::1'] }).certificate,
    );
    expect(server.checkHost('localhost')).toBe('localhost');
    expect(server.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(server.checkIP('::1')).toBe('::1');
    expect(server.checkHost('other')).toBeUndefined();
    const serverAuthentication = '1.3.6.1.5.5.7.3.1';
    expect(server.keyUsage).toContain(serverAuthentication);
    expect(new X509Certificate(issueLeaf(authority, { commonName: 'c' }).certificate).keyUsage).not.toContain(
      serverAuthentication,
    );
  });

  const withRsa = createAuthority('as kubeadm makes them', 'rsa');
  const clients: { reason: string; signer: KeyPair; credentials: KeyPair | undefined; user: string | undefined }[] = [
    {
      reason: 'its own client',
      signer: authority,
      credentials: issueLeaf(authority, { commonName: 'alice' }),
      user: 'alice',
    },
    {
      reason: 'a client of another',
      signer: authority,
      credentials: issueLeaf(createAuthority('other'), { commonName: 'alice' }),
      user: undefined,
    },
    { reason: 'nobody', signer: authority, credentials: undefined, user: undefined },
    {
      reason: 'keys of RSA on both sides',
      signer: withRsa,
      credentials: issueLeaf(withRsa, { commonName: 'alice' }),
      user: 'alice',
    },
  ];
  it.each(clients)('holds up in a TLS handshake: $reason', async ({ signer, credentials, user }) => {
    expect(await handshake(signer, credentials)).toBe(user);
  });

  it('has keys of the kind of its authority', () => {
    const kindOf = ({ certificate }: KeyPair) => new X509Certificate(certificate).publicKey.asymmetricKeyType;
    expect(kindOf(issueLeaf(authority, { commonName: 'a' }))).toBe('ec');
    expect(kindOf(issueLeaf(withRsa, { commonName: 'a' }))).toBe('rsa');
  });
});

describe('signing keys', () => {
  it('belong together', () => {
    const { privateKey, publicKey } = createSigningKeys();
    const signature = sign('sha256', Buffer.from('token'), createPrivateKey(privateKey));
    expect(verify('sha256', Buffer.from('token'), createPublicKey(publicKey), signature)).toBe(true);
  });
});

/** Resolves to the name of the client that a server with its authority accepts. */
async function handshake(signer: KeyPair, credentials: KeyPair | undefined): Promise<string | undefined> {
  const { certificate, key } = issueLeaf(signer, { commonName: 'server', hosts: ['127.0.0.1'] });
  const options = { cert: certificate, key, ca: signer.certificate, requestCert: true, rejectUnauthorized: true };
  const server = createServer(options, (socket) => socket.end(String(socket.getPeerCertificate().subject.CN)));
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    return await new Promise((resolve) => {
      const identity = credentials && { cert: credentials.certificate, key: credentials.key };
      const socket: TLSSocket = connect({ port, host: '127.0.0.1', ca: signer.certificate, ...identity });
      let said = '';
      socket.on('data', (data) => {
        said += data;
      });
      socket.on('error', () => resolve(undefined));
      socket.on('close', () => resolve(said === '' ? undefined : said));
    });
  } finally {
    server.close();
  }
}
