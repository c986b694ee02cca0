import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newKeySet } from '../../../fleet/index.ts';
import { silentLogger } from '../../../runtime/index.ts';
import { rolloutsOptions } from './rollouts.ts';

const defaults = { restAudience: 'kidp', restUserClaim: 'sub', restGroupsClaim: 'groups' };
let folder: string;
let clusterKeys: string;
const helm = () => join(folder, 'helm');

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-rollout-flags-'));
  clusterKeys = join(folder, 'keys.json');
  writeFileSync(clusterKeys, await newKeySet(), { mode: 0o600 });
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

test('without keys there are no rollouts, and nothing is looked for', async () => {
  vi.stubEnv('PATH', '');
  expect(await rolloutsOptions(defaults, '127.0.0.1', silentLogger)).toBeUndefined();
});

test('rollouts without Helm are refused at the start, with what to do', async () => {
  vi.stubEnv('PATH', '');
  await expect(rolloutsOptions({ ...defaults, clusterKeys }, '127.0.0.1', silentLogger)).rejects.toMatchObject({
    code: 'input/helm',
    message:
      'rollouts need Helm. No helm binary on the PATH: install Helm 3.14 or later, or set its path. ' +
      'The image of kidp includes it; elsewhere set --helm FILE. To run without rollouts, remove --cluster-keys.',
  });
});

test('Helm without a place for temporary files is refused at the start', async () => {
  writeFileSync(helm(), '#!/bin/sh\necho v4.3.1\n');
  chmodSync(helm(), 0o755);
  vi.stubEnv('TMPDIR', join(folder, 'nowhere'));
  await expect(
    rolloutsOptions({ ...defaults, clusterKeys, helm: helm() }, '127.0.0.1', silentLogger),
  ).rejects.toMatchObject({
    code: 'input/temporary',
    message: expect.stringContaining('mount an emptyDir volume there'),
  });
  vi.stubEnv('TMPDIR', folder);
  expect(await rolloutsOptions({ ...defaults, clusterKeys, helm: helm() }, '127.0.0.1', silentLogger)).toMatchObject({
    helm: { program: helm() },
  });
});
