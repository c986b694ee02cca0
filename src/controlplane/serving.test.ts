import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { createAuthority, issueLeaf } from './pki.ts';
import { servedFingerprint, untilServed } from './serving.ts';

describe('untilServed', () => {
  const authority = createAuthority('a');
  const leaf = () => issueLeaf(authority, { commonName: 's', hosts: ['127.0.0.1'] });

  it('waits for the certificate and no longer than its limit', async () => {
    const [old, wanted] = [leaf(), leaf()];
    const server = createServer({ cert: old.certificate, key: old.key }, (socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      await expect(untilServed(port, wanted.certificate, 50)).rejects.toMatchObject({ code: 'process/not-ready' });
      const served = untilServed(port, wanted.certificate);
      server.setSecureContext({ cert: wanted.certificate, key: wanted.key });
      await served;
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
    expect(await servedFingerprint(port)).toBeUndefined();
  });
});
