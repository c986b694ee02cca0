import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ControlPlaneError } from '../../src/controlplane/index.ts';
import { sharedCluster, startControlPlane } from '../support/cluster.ts';

describe('a control plane whose state is kept', () => {
  const { kubectl } = sharedCluster();
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kidp-state-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  it('is the same one at the next start: address, authority, users, keys and objects of all three members', async () => {
    const options = { directory, etcd: { members: 3 }, encryption: { provider: 'secretbox' } } as const;
    const first = await startControlPlane(options);
    const { url, authority } = first;
    try {
      await kubectl(['create', 'secret', 'generic', 'kept', '--from-literal=k=v'], first);
      const second = startControlPlane({ directory });
      await expect(second).rejects.toSatisfy(
        (error) =>
          error instanceof ControlPlaneError &&
          error.code === 'state/in-use' &&
          error.message.includes(String(process.pid)),
      );
    } finally {
      await first.stop();
    }
    const oldKubeconfig = join(directory, 'copied-kubeconfig');
    await writeFile(oldKubeconfig, await readFile(first.kubeconfig, 'utf8'));

    const again = await startControlPlane(options);
    try {
      expect(again).toMatchObject({ url, authority });
      const read = await kubectl(['get', 'secret', 'kept', '-o', 'jsonpath={.data.k}'], { kubeconfig: oldKubeconfig });
      expect(read).toMatchObject({ code: 0, stdout: Buffer.from('v').toString('base64') });
    } finally {
      await again.stop();
    }
  });

  it('says so when its state cannot be read, and starts nothing', async () => {
    await writeFile(join(directory, 'state.json'), '{"clientAuthority": ');
    await expect(startControlPlane({ directory })).rejects.toMatchObject({ code: 'state/unusable' });
    await rm(join(directory, 'state.json'));
    // The failed start has let go of the directory.
    const plane = await startControlPlane({ directory });
    await plane.stop();
  });

  it('is another one after a reset, at the port that was asked for; one that runs is not reset', async () => {
    const first = await startControlPlane({ directory });
    await kubectl(['create', 'namespace', 'forgotten'], first);
    await expect(startControlPlane({ directory, reset: true })).rejects.toMatchObject({ code: 'state/in-use' });
    expect(await kubectl(['get', 'namespace', 'forgotten'], first)).toMatchObject({ code: 0 });
    await first.stop();

    const port = Number(new URL(first.url).port);
    const fresh = await startControlPlane({ directory, reset: true, port });
    try {
      expect(fresh.url).toBe(first.url);
      expect(fresh.authority).not.toBe(first.authority);
      expect((await kubectl(['get', 'namespace', 'forgotten'], fresh)).stderr).toContain('NotFound');
    } finally {
      await fresh.stop();
    }
  });
});
