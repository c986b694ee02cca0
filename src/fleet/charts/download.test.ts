import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { addressGuard } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';
import { downloadBytes as download } from './download.ts';

async function serving(listener: RequestListener, use: (port: number) => Promise<void>): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  try {
    await use((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

test('a name that resolves to a forbidden address is rejected before anything is sent, with a hint', async () => {
  let asked = 0;
  const answer: RequestListener = (_, response) => {
    asked += 1;
    response.end('a chart');
  };
  await serving(answer, async (port) => {
    const address = new URL(`http://localhost:${port}/`);
    const refused = download(address, { mostBytes: 100, guard: addressGuard() });
    await expect(refused).rejects.toBeInstanceOf(FleetError);
    await expect(refused).rejects.toThrow(`--allow-address localhost:${port}`);
    expect(asked).toBe(0);
    expect((await download(address, { mostBytes: 100 })).content.toString()).toBe('a chart');
  });
});

test('a redirect to a forbidden address is rejected', async () => {
  const answer: RequestListener = (_, response) => {
    response.writeHead(302, { location: 'https://169.254.169.254/latest/meta-data/' }).end();
  };
  await serving(answer, async (port) => {
    const refused = download(new URL(`http://localhost:${port}/`), { mostBytes: 100 });
    await expect(refused).rejects.toThrow('169.254.169.254:443 is refused');
  });
});
