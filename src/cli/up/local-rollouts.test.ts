import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { localRollouts } from './local-rollouts.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-local-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A machine without Go and without built binaries. */
const bare = () => ({ environment: { PATH: folder, KIDP_CACHE: join(folder, 'cache') } });

test('without Go and without Helm it returns the reason and creates nothing', async () => {
  const found = await localRollouts(folder, bare());
  expect(found).toEqual({ away: expect.stringMatching(/Go/) });
  expect(() => statSync(join(folder, 'cluster-keys.json'))).toThrow();
});

test('without Go it uses Helm on the PATH; keys are generated once and readable only by their owner', async () => {
  const program = join(folder, 'helm');
  writeFileSync(program, '#!/bin/sh\necho v4.3.1\n');
  chmodSync(program, 0o755);
  expect(await localRollouts(folder, bare())).toMatchObject({ helm: { program } });
  const file = join(folder, 'cluster-keys.json');
  expect(statSync(file).mode & 0o077).toBe(0);
  const keys = readFileSync(file, 'utf8');
  await localRollouts(folder, bare());
  expect(readFileSync(file, 'utf8')).toBe(keys);
});
