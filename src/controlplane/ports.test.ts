import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { demandPort, freePort, isFree, portOr } from './ports.ts';

describe('a free port', () => {
  it('is never given out twice by one process', async () => {
    const ports = await Promise.all(Array.from({ length: 50 }, () => freePort()));
    expect(new Set(ports).size).toBe(50);
  });

  it('is the preferred one while nobody listens there', async () => {
    const port = await freePort();
    expect(await portOr(port)).toBe(port);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    try {
      expect(await isFree(port)).toBe(false);
      expect(await portOr(port)).not.toBe(port);
      await expect(demandPort(port)).rejects.toMatchObject({ code: 'port/taken' });
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
    expect(await portOr(undefined)).toBeGreaterThan(0);
    expect(await demandPort(port)).toBe(port);
  });
});
