import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { FleetError } from '../contract.ts';
import { download } from './download.ts';
import { allowedNetworks } from './networks.ts';

describe('where charts are fetched from', () => {
  test.each<{ reason: string; address: string; networks?: string[]; allowed: boolean }>([
    { reason: 'the world', address: '203.0.113.7', allowed: true },
    { reason: 'a private network, where companies have repositories', address: '10.1.2.3', allowed: true },
    { reason: 'a private network of IPv6', address: 'fd12::1', allowed: true },
    { reason: 'loopback by default', address: '127.0.0.1', allowed: true },
    { reason: 'no loopback with an explicit list', address: '127.0.0.1', networks: [], allowed: false },
    { reason: 'nor by IPv6', address: '::1', networks: [], allowed: false },
    { reason: 'no unspecified address', address: '0.0.0.0', allowed: false },
    { reason: 'no cloud metadata address', address: '169.254.169.254', allowed: false },
    { reason: 'nor in the form of IPv6', address: '::ffff:169.254.169.254', allowed: false },
    { reason: 'nor in that form, in hexadecimal', address: '::ffff:a9fe:a9fe', allowed: false },
    { reason: 'nor by IPv6 at Amazon', address: 'fd00:ec2::254', allowed: false },
    { reason: 'unless it is allowed', address: '169.254.169.254', networks: ['169.254.0.0/16'], allowed: true },
    { reason: 'no other network', address: '127.0.0.1', networks: ['169.254.0.0/16'], allowed: false },
  ])('$reason', ({ address, networks, allowed }) => {
    expect(allowedNetworks(networks).allows(address)).toBe(allowed);
  });

  test.each([
    '10.0.0.0',
    '10.0.0.0/33',
    'fd00::/129',
    'example.com/8',
    '/8',
    '',
  ])('"%s" is not a network', (network) => {
    expect(() => allowedNetworks([network])).toThrow(RangeError);
  });

  test('a name that resolves to a forbidden address is rejected before anything is sent, with a hint', async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.end('a chart');
    });
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    const { port } = server.address() as AddressInfo;
    const address = new URL(`http://localhost:${port}/`);
    try {
      const refused = download(address, { mostBytes: 100, networks: allowedNetworks([]) });
      await expect(refused).rejects.toBeInstanceOf(FleetError);
      await expect(refused).rejects.toMatchObject({ message: expect.stringContaining('--chart-network') });
      expect(asked).toBe(0);
      expect((await download(address, { mostBytes: 100 })).bytes.toString()).toBe('a chart');
    } finally {
      server.close();
    }
  });

  test('a redirect to a forbidden address is rejected', async () => {
    const server = createServer((_, response) => {
      response.writeHead(302, { location: 'https://169.254.169.254/latest/meta-data/' }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      const refused = download(new URL(`http://127.0.0.1:${port}/`), { mostBytes: 100 });
      await expect(refused).rejects.toThrow('No chart is fetched from 169.254.169.254');
    } finally {
      server.close();
    }
  });
});
