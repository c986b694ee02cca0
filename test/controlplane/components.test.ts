import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, sharedCluster, startControlPlane } from '../support/cluster.ts';

describe('a control plane that behaves like a cluster', () => {
  const { kubectl } = sharedCluster();
  let plane: ControlPlane;

  beforeAll(async () => {
    plane = await startControlPlane({ controllerManager: true, scheduler: true, nodes: 1 });
  });
  afterAll(() => plane?.stop());

  async function rollOut(name: string): Promise<void> {
    expect(await kubectl(['create', 'deployment', name, '--image=web:1'], plane)).toMatchObject({ code: 0 });
    expect(await kubectl(['rollout', 'status', `deployment/${name}`, '--timeout=180s'], plane)).toMatchObject({
      code: 0,
    });
  }

  it('runs as many nodes as were asked for, and pods on them', async () => {
    const { stdout } = await kubectl(['get', 'nodes', '-o', 'name'], plane);
    expect(stdout).toBe('node/node-0\n');
    await rollOut('first');
  });

  it('finishes a Job', async () => {
    await kubectl(['create', 'job', 'once', '--image=once:1'], plane);
    const done = await kubectl(['wait', '--for=condition=complete', 'job/once', '--timeout=180s'], plane);
    expect(done).toMatchObject({ code: 0 });
  });

  it('gives service accounts tokens that the API server trusts', async () => {
    const { stdout: token } = await kubectl(['create', 'token', 'default'], plane);
    const review = await kubectl(['create', '-o', 'json', '-f', '-'], {
      kubeconfig: plane.kubeconfig,
      input: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        metadata: {},
        spec: { token: token.trim() },
      },
    });
    expect(JSON.parse(review.stdout).status).toMatchObject({
      authenticated: true,
      user: { username: 'system:serviceaccount:default:default' },
    });
  });

  it('goes on under a new authority, which every part is given', async () => {
    const parts = [plane.controllerManager, plane.scheduler, plane.kwok];
    const before = parts.map((part) => part?.pid);
    await plane.replaceServingCertificate({ authority: 'new' });
    for (const [index, part] of parts.entries()) {
      expect(part?.pid).toBeDefined();
      expect(part?.pid).not.toBe(before[index]);
    }
    await rollOut('second');
  });
});
