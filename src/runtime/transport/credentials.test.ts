import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClusterConfig } from '../kubeconfig/kubeconfig.ts';
import { readCredentials } from './credentials.ts';

describe('credentials', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kidp-credentials-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('are renewed after a rotation for every request that was rejected with the old ones', async () => {
    const file = join(folder, 'token');
    writeFileSync(file, 'old');
    const source = readCredentials({ server: 'http://localhost', source: 'test', token: { file } }, 60_000);
    const refused = await source.current();
    writeFileSync(file, 'newer');
    expect(await Promise.all([source.renew(refused), source.renew(refused), source.renew(refused)])).toEqual([
      true,
      true,
      true,
    ]);
    expect(await source.renew(refused)).toBe(true);
    const now = await source.current();
    expect(now.authorization).toBe('Bearer newer');
    expect(await source.renew(now)).toBe(false);
  });

  it('are requested from a plugin by one renewal at a time, and kept while the kubeconfig is unchanged', async () => {
    const file = join(folder, 'kubeconfig');
    writeFileSync(file, 'one');
    let asked = 0;
    let reloads = 0;
    const config = (): ClusterConfig => ({
      server: 'http://localhost',
      source: 'test',
      authenticator: async () => ({ token: `token-${++asked}` }),
      origin: {
        files: [file],
        reload: () => {
          reloads += 1;
          return config();
        },
      },
    });
    const source = readCredentials(config(), 0);
    for (let look = 0; look < 5; look++) await source.current();
    expect(reloads).toBe(0);
    const refused = await source.current();
    const before = asked;
    await Promise.all([source.renew(refused), source.renew(refused), source.renew(refused)]);
    expect(asked - before).toBe(1);
    const reloaded = reloads;
    writeFileSync(file, 'another');
    await source.current();
    expect(reloads - reloaded).toBe(1);
  });
});
