import { describe, expect, it } from 'vitest';
import { sharedCluster } from '../support/cluster.ts';

describe('the shared control plane', () => {
  const cluster = sharedCluster();

  it('runs a Deployment on nodes played by KWOK until it is ready', async () => {
    const namespace = await cluster.uniqueNamespace('deployment');
    const created = await cluster.kubectl([
      '-n',
      namespace,
      'create',
      'deployment',
      'web',
      '--image=web:1',
      '--replicas=2',
    ]);
    expect(created).toMatchObject({ code: 0, stderr: '' });
    const rollout = await cluster.kubectl(['-n', namespace, 'rollout', 'status', 'deployment/web', '--timeout=180s']);
    expect(rollout).toMatchObject({ code: 0 });
    const pods = await cluster.kubectl(['-n', namespace, 'get', 'pods', '-o', 'json']);
    const items: { status: { phase: string }; spec: { nodeName: string } }[] = JSON.parse(pods.stdout).items;
    expect(items.map((pod) => pod.status.phase)).toEqual(['Running', 'Running']);
    expect(items.every((pod) => /^node-[01]$/.test(pod.spec.nodeName))).toBe(true);
  });

  it('says in kubectl’s exit code and words what failed', async () => {
    const result = await cluster.kubectl(['apply', '-f', '-'], { input: { apiVersion: 'v1', kind: 'ConfigMap' } });
    expect(result.code).not.toBe(0);
    expect(result.stderr).toMatch(/name/);
  });
});
