import { describe, expect, test } from 'vitest';
import { operatorDeployment } from '../../../../api/index.ts';
import type { ClusterStatus, Facts, Rollout } from '../rollout.ts';
import { nextStep } from './next-step.ts';
import { stepFailed } from './outcomes.ts';
import { configOf, stagesOf } from './plan.ts';

const now = Date.parse('2026-02-01T12:00:00Z');
const at = new Date(now - 1_000).toISOString();
const uid = 'u'.repeat(36);
const attempt = `${uid}.rollback`;
const longestName = (prefix: string, number: number) => `${prefix}-${number}-`.padEnd(63, 'x');
const facts: Facts = {
  cluster: () => ({ uid, environment: 'Production', available: true }),
  approval: () => undefined,
  installedBy: () => undefined,
  restoredBy: () => undefined,
  notBefore: () => 0,
};

/** The largest possible rollout: every field of every cluster is set, with names and messages of maximum length. */
function largest(strategy: 'Rolling' | 'BlueGreen', count: number, letter: string): Rollout {
  const names = Array.from({ length: count }, (_, number) => longestName('cluster', number));
  const spec = {
    operator: longestName('operator', 1),
    version: 'v100.200.300-candidate.12',
    clusters: names,
    strategy,
    ...(strategy === 'Rolling' ? { rollingConfig: { clusterOrder: names } } : {}),
    progressDeadline: 'PT30M',
  } as unknown as Rollout['spec'];
  const found = names.map((name) => ({ name, environment: 'Production' as const, available: true }));
  const stages = stagesOf(spec, found);
  const sides = { color: 'Green', colorBefore: 'Blue', switched: true, switchedAt: at } as const;
  const clusters = names.map(
    (name, index): ClusterStatus => ({
      name,
      uid,
      environment: 'Production',
      stage: strategy === 'Rolling' ? index + 1 : 1,
      state: 'RollingBack',
      fromVersion: spec.version,
      snapshot: `snapshot-${'a'.repeat(32)}`,
      snapshotBefore: `snapshot-${'b'.repeat(32)}`,
      attempt,
      revision: 12_345,
      namespace: longestName('namespace', 1),
      ...(strategy === 'BlueGreen' ? sides : {}),
      deploymentBefore: longestName('deployment', 1),
      startedAt: at,
      preparedAt: at,
      deployedAt: at,
      checks: 10_000,
      checksPassed: 10_000,
      failuresInRow: 2,
      refusals: 1,
    }),
  );
  const config = configOf(spec, false) as Record<string, unknown>;
  const plan = { digest: 'd', operatorUid: 'o', chartDigest: 'c', strategy, config, stages, createdAt: at };
  const metadata = { name: longestName('rollout', 1), uid, generation: 1 };
  const rollback = { reason: 'Unhealthy', message: letter.repeat(2048), startedAt: at };
  const status = { phase: 'RollingBack', stage: 1, startedAt: at, progressedAt: at, plan, clusters, rollback };
  return { apiVersion: 'platform.company.com/v1', kind: operatorDeployment.kind, metadata, spec, status } as Rollout;
}

describe('a status with very many clusters', () => {
  test.each([
    { reason: 'one after the other, in an order of its own', strategy: 'Rolling' as const, letter: 'w' },
    { reason: 'both sides, with words that need many bytes', strategy: 'BlueGreen' as const, letter: '語' },
  ])('can be written: $reason', ({ strategy, letter }) => {
    let object = largest(strategy, 1_000, letter);
    const failure = { temporary: true, message: letter.repeat(4_096) };
    const failed = (each: Rollout) => {
      let next = each;
      for (const { name } of each.status?.clusters ?? []) {
        next = { ...next, status: stepFailed(next, name, attempt, failure, now, 60_000) };
      }
      return next.status ?? {};
    };
    object = { ...object, status: nextStep(object, facts, now, failed).status };
    // All clusters finish at once, each with a message.
    object = { ...object, status: nextStep(object, facts, now + 3_600_000).status };
    expect(object.status?.counts?.failed).toBe(1_000);
    expect(object.status?.clusters?.[0]?.message).toMatch(/^rollback timed out: .+…$/);
    // The limit of etcd is 1,572,864 bytes; managedFields need some kilobytes more.
    expect(Buffer.byteLength(JSON.stringify(object))).toBeLessThan(1_250_000);
  });

  test('holds no control characters of charts and clusters, in messages and in the history', () => {
    const object = largest('Rolling', 2, 'w');
    const failure = { temporary: false, message: 'evil\u001b[2J\u202e' };
    const failed = (each: Rollout) =>
      stepFailed(each, each.status?.clusters?.[0]?.name ?? '', attempt, failure, now, 60_000);
    const { status } = nextStep(object, facts, now, failed);
    expect(JSON.stringify(status)).toContain('evil');
    expect(JSON.stringify(status)).not.toMatch(/\\u001b|\\u202e|\u202e/);
  });

  test('with few clusters each message uses the available space', () => {
    const object = largest('Rolling', 3, 'w');
    const step = nextStep(object, facts, now + 3_600_000, (each) =>
      stepFailed(each, longestName('cluster', 0), attempt, { temporary: true, message: 'w'.repeat(4_096) }, now, 1),
    );
    const [first] = step.status.clusters ?? [];
    expect(Buffer.byteLength(first?.message ?? '')).toBe(2_048);
    const said = (step.status.conditions ?? []).map(({ message = '' }) => message.length);
    expect(Math.max(...said)).toBeLessThanOrEqual(4_096);
  });
});
