import { describe, expect, test } from 'vitest';
import type { Cluster } from '../../../api/index.ts';
import { FleetError, type FleetErrorCode } from '../../../fleet/index.ts';
import { clusterHealth, type ProbeResult } from './health.ts';

const now = Date.parse('2026-01-01T12:00:00Z');
const cluster = (status?: object) =>
  ({ metadata: { name: 'c', generation: 3 }, spec: { environment: 'Dev' }, status }) as unknown as Cluster;
const known = {
  kubernetesVersion: 'v1.35.0',
  latencyMilliseconds: 7,
  sealedWith: 'old',
  credentialsDigest: 'sha256:0',
  failures: 2,
};
const opened = { keyId: 'key', digest: 'sha256:1' };
const failure = (code: FleetErrorCode) => new FleetError(code, 'because');
const well = { kubernetesVersion: 'v1.36.3', milliseconds: 12, ready: true };

describe('clusterHealth', () => {
  test.each<{
    reason: string;
    look: ProbeResult;
    ready: string;
    readable: string;
    reachable: string;
    health: string;
    phase: string;
    failures: number;
  }>([
    {
      reason: 'healthy',
      look: { ...opened, reached: well },
      ready: 'True ResourceReady',
      readable: 'True Decrypted',
      reachable: 'True Responding',
      health: 'Healthy',
      phase: 'ready',
      failures: 0,
    },
    {
      reason: 'the API server is not ready',
      look: { ...opened, reached: { ...well, ready: false } },
      ready: 'False NotReady',
      readable: 'True Decrypted',
      reachable: 'True Responding',
      health: 'Unhealthy',
      phase: 'unknown',
      failures: 3,
    },
    {
      reason: 'unreachable',
      look: { ...opened, reached: failure('cluster/unreachable') },
      ready: 'False Unreachable',
      readable: 'True Decrypted',
      reachable: 'False Unreachable',
      health: 'Unhealthy',
      phase: 'unknown',
      failures: 3,
    },
    {
      reason: 'the credentials are rejected',
      look: { ...opened, reached: failure('cluster/forbidden') },
      ready: 'False Forbidden',
      readable: 'True Decrypted',
      reachable: 'False Forbidden',
      health: 'Unhealthy',
      phase: 'unknown',
      failures: 3,
    },
    {
      reason: 'the Secret was tampered with',
      look: { credentials: failure('cluster/tampered') },
      ready: 'False Tampered',
      readable: 'False Tampered',
      reachable: 'Unknown NotProbed',
      health: 'Unhealthy',
      phase: 'failed',
      failures: 3,
    },
    {
      reason: 'the sealing key is missing',
      look: { credentials: failure('cluster/key-missing') },
      ready: 'False KeyNotFound',
      readable: 'False KeyNotFound',
      reachable: 'Unknown NotProbed',
      health: 'Unhealthy',
      phase: 'failed',
      failures: 3,
    },
  ])('$reason', ({ look, ready, readable, reachable, health, phase, failures }) => {
    const answer = clusterHealth(cluster(known), look, now);
    const reasons = Object.fromEntries(
      answer.conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]),
    );
    expect(reasons).toEqual({ Ready: ready, CredentialsReadable: readable, Reachable: reachable });
    expect(answer.conditions.every(({ observedGeneration }) => observedGeneration === 3)).toBe(true);
    expect(answer.fields).toMatchObject({ health, phase, failures, lastCheckedTime: '2026-01-01T12:00:00.000Z' });
  });

  test('keeps the last known fields of an unreachable cluster', () => {
    const { fields } = clusterHealth(cluster(known), { ...opened, reached: failure('cluster/unreachable') }, now);
    expect(fields).toMatchObject({
      kubernetesVersion: 'v1.35.0',
      latencyMilliseconds: 7,
      sealedWith: 'key',
      credentialsDigest: 'sha256:1',
    });
  });

  test('keeps the last key id if the kubeconfig cannot be decrypted', () => {
    const { fields } = clusterHealth(cluster(known), { credentials: failure('cluster/tampered') }, now);
    expect(fields).toMatchObject({ sealedWith: 'old', credentialsDigest: 'sha256:0' });
  });

  test('counts the first failure', () => {
    const { fields } = clusterHealth(cluster(), { credentials: failure('cluster/credentials-missing') }, now);
    expect(fields).toMatchObject({ failures: 1 });
  });
});
