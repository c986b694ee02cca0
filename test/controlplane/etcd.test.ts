import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, sharedCluster, startControlPlane } from '../support/cluster.ts';

describe('an etcd of three members', () => {
  const { kubectl } = sharedCluster();
  let plane: ControlPlane;

  beforeAll(async () => {
    plane = await startControlPlane({ etcd: { members: 3 } });
  });
  afterAll(() => plane?.stop());

  it('keeps working when one member is lost, and lets it rejoin', async () => {
    const [, lost] = plane.etcd.members;
    expect(plane.etcd.members).toHaveLength(3);
    await lost?.kill();
    expect(lost?.pid).toBeUndefined();
    await expect.poll(async () => write('while-one-is-lost')).toBe(0);
    expect((await kubectl(['get', 'configmap', 'while-one-is-lost'], plane)).code).toBe(0);
    await lost?.start();
    // It answers before it has caught up with the others.
    await expect
      .poll(async () => (await plane.etcd.control('endpoint', 'health').catch(() => '')).match(/is healthy/g))
      .toHaveLength(3);
  });

  async function write(name: string): Promise<number> {
    const { code, stderr } = await kubectl(['create', 'configmap', name, '--request-timeout=10s'], plane);
    return stderr.includes('AlreadyExists') ? 0 : code;
  }
});

describe('snapshot and restore', () => {
  const { kubectl } = sharedCluster();
  let directory: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kidp-snapshot-'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('brings back the same objects after the loss of everything', async () => {
    const snapshot = join(directory, 'snapshot.db');
    const encryption = { provider: 'secretbox' } as const;
    const first = await startControlPlane({ encryption });
    const { encryptionKey } = first;
    let before: Map<string, string>;
    try {
      await fill(first);
      before = await everything(first);
      await first.etcd.snapshot(snapshot);
      await kubectl(['create', 'namespace', 'after-the-snapshot'], first);
    } finally {
      await first.stop();
    }
    const second = await startControlPlane({
      restoreFrom: snapshot,
      encryption: { ...encryption, key: encryptionKey },
    });
    try {
      const after = await everything(second);
      expect([...before.keys()].filter((key) => key.includes('kept-'))).toHaveLength(23);
      // Where the API server writes down whom it trusts: the new one adds its own authorities.
      before.delete('ConfigMap/kube-system/extension-apiserver-authentication');
      for (const [key, object] of before) expect(after.get(key), key).toBe(object);
      expect(after.has('Namespace//after-the-snapshot')).toBe(false);
      const secret = await kubectl(
        ['-n', 'kept-0', 'get', 'secret', 'kept-secret', '-o', 'jsonpath={.data.k}'],
        second,
      );
      expect(secret.stdout).toBe(Buffer.from('value').toString('base64'));
      expect((await kubectl(['create', 'namespace', 'life-goes-on'], second)).code).toBe(0);
    } finally {
      await second.stop();
    }
  });

  /** Two namespaces, twenty config maps and a secret: 23 objects whose name or namespace begins with `kept-`. */
  async function fill(plane: ControlPlane): Promise<void> {
    const namespaces = ['kept-0', 'kept-1'].map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    }));
    const maps = Array.from({ length: 20 }, (_, index) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: `kept-${index % 2}`, name: `map-${index}` },
      data: { index: String(index) },
    }));
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'kept-0', name: 'kept-secret' },
      stringData: { k: 'value' },
    };
    const applied = await kubectl(['apply', '-f', '-'], {
      input: [...namespaces, ...maps, secret],
      kubeconfig: plane.kubeconfig,
    });
    expect(applied).toMatchObject({ code: 0, stderr: '' });
  }

  /** Every stored object of a few kinds, with its uid and resourceVersion, by kind, namespace and name. */
  async function everything(plane: ControlPlane): Promise<Map<string, string>> {
    const kinds =
      'namespaces,configmaps,secrets,clusterroles,clusterrolebindings,roles,rolebindings,services,priorityclasses';
    const { stdout, code } = await kubectl(['get', kinds, '--all-namespaces', '-o', 'json'], plane);
    expect(code).toBe(0);
    const items: { kind: string; metadata: { namespace?: string; name: string } }[] = JSON.parse(stdout).items;
    return new Map(
      items.map((item) => [
        `${item.kind}/${item.metadata.namespace ?? ''}/${item.metadata.name}`,
        JSON.stringify(item),
      ]),
    );
  }
});
