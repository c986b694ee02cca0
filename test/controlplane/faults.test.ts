import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, sharedCluster, startControlPlane } from '../support/cluster.ts';

describe('a control plane that is hurt on purpose', () => {
  const { kubectl } = sharedCluster();
  let plane: ControlPlane;

  beforeAll(async () => {
    plane = await startControlPlane();
  });
  afterAll(() => plane?.stop());

  it('comes back on the same address after its API server was killed', async () => {
    await kubectl(['create', 'configmap', 'before-the-kill'], plane);
    const { pid } = plane.apiServer;
    await plane.apiServer.kill();
    expect(plane.apiServer.pid).toBeUndefined();
    expect((await kubectl(['get', 'configmap', 'before-the-kill', '--request-timeout=5s'], plane)).code).not.toBe(0);
    await plane.apiServer.start();
    expect(plane.apiServer.pid).not.toBe(pid);
    expect((await kubectl(['get', 'configmap', 'before-the-kill'], plane)).code).toBe(0);
  });

  it('says so where another took its port while it was down, and starts once that is gone', async () => {
    await plane.apiServer.kill();
    const thief = createServer((connection) => connection.destroy());
    await new Promise<void>((resolve) => thief.listen(Number(new URL(plane.url).port), '127.0.0.1', resolve));
    await expect(plane.apiServer.start()).rejects.toMatchObject({ code: 'port/taken' });
    await new Promise((resolve) => thief.close(resolve));
    await plane.apiServer.start();
    expect((await kubectl(['get', 'namespaces'], plane)).code).toBe(0);
  });

  it('stands still while etcd is paused and goes on afterwards', async () => {
    const [member] = plane.etcd.members;
    member?.pause();
    try {
      const stuck = await kubectl(['create', 'configmap', 'while-paused', '--request-timeout=2s'], plane);
      expect(stuck.code).not.toBe(0);
    } finally {
      member?.resume();
    }
    const apply = { input: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'after-pause' } }, ...plane };
    await expect.poll(async () => (await kubectl(['apply', '-n', 'default', '-f', '-'], apply)).code).toBe(0);
  });

  it('answers 410 to a watch from before a compaction and a restart', async () => {
    const list = JSON.parse((await kubectl(['get', '--raw', '/api/v1/configmaps'], plane)).stdout);
    await kubectl(['create', 'configmap', 'later'], plane);
    const revision = await plane.etcd.compact();
    expect(revision).toBeGreaterThan(Number(list.metadata.resourceVersion));
    await plane.apiServer.kill();
    await plane.apiServer.start();
    const path = `/api/v1/configmaps?watch=true&timeoutSeconds=5&resourceVersion=${list.metadata.resourceVersion}`;
    const watch = await kubectl(['get', '--raw', path], plane);
    expect(JSON.parse(watch.stdout)).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
  });

  const certificates = [
    { reason: 'same authority, hot', authority: 'same', restart: false },
    { reason: 'new authority, hot', authority: 'new', restart: false },
    { reason: 'new authority, with a restart', authority: 'new', restart: true },
  ] as const;
  it.each(certificates)('serves a new certificate: $reason', async ({ authority, restart }) => {
    const before = {
      authority: plane.authority,
      kubeconfig: await readFile(plane.kubeconfig, 'utf8'),
      pid: plane.apiServer.pid,
    };
    await plane.replaceServingCertificate({ authority, restart });
    expect(plane.authority === before.authority).toBe(authority === 'same');
    expect(plane.apiServer.pid === before.pid).toBe(!restart);
    expect((await kubectl(['get', 'namespaces'], plane)).code).toBe(0);
    const old = `${plane.directory}/old-kubeconfig.json`;
    await writeFile(old, before.kubeconfig);
    const withOldAuthority = await kubectl(['get', 'namespaces'], { kubeconfig: old });
    expect(withOldAuthority.code === 0).toBe(authority === 'same');
    if (authority === 'new') expect(withOldAuthority.stderr).toMatch(/x509|certificate/);
  });
});
