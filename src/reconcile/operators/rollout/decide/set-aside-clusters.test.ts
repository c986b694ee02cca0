/** Tests of deployed clusters that are paused or unreachable afterwards. */
import { describe, expect, test } from 'vitest';
import {
  actionsFor,
  at,
  deployingFor,
  factsWith,
  type Given,
  healthyFor,
  now,
  reasonOf,
  rolloutWith,
  statesOf,
} from '../support/rollouts.ts';
import { nextStep } from './next-step.ts';

const canary = { strategy: 'Canary', canaryConfig: { stages: [66] } };
const late = { progressedAt: at(9_000) };
/** A cluster that has not responded since. */
const lost = (seconds: number) => ({ ...healthyFor(seconds), state: 'Validating', healthySince: undefined });
const back = { ...healthyFor(9_000), state: 'RollingBack', attempt: 'u.rollback' };

interface Row {
  readonly reason: string;
  readonly given: Given;
  readonly away?: readonly string[];
  readonly paused?: readonly string[];
  readonly phase: string;
  readonly states: object;
  readonly stage?: number;
}

describe('a deployed cluster', () => {
  test.each<Row>([
    {
      reason: 'paused: the others continue',
      given: { spec: canary, clusters: { a: healthyFor(600), b: healthyFor(600) } },
      paused: ['a'],
      phase: 'Deploying',
      stage: 2,
      states: { a: 'Validating', b: 'Healthy', c: 'Deploying' },
    },
    {
      reason: 'paused without progress for long: nothing is rolled back',
      given: { spec: canary, clusters: { a: healthyFor(600), b: healthyFor(600) }, status: late },
      paused: ['a'],
      phase: 'Deploying',
      stage: 2,
      states: { a: 'Validating', b: 'Healthy', c: 'Deploying' },
    },
    {
      reason: 'paused: the rollout completes without it',
      given: { spec: { strategy: 'Direct' }, clusters: { a: healthyFor(9), b: healthyFor(9), c: healthyFor(9) } },
      paused: ['a'],
      phase: 'Completed',
      states: { a: 'Validating', b: 'Healthy', c: 'Healthy' },
    },
    {
      reason: 'unreachable, possibly caused by the new version: no other cluster starts',
      given: { spec: canary, clusters: { a: lost(600), b: healthyFor(600) } },
      away: ['a'],
      phase: 'Validating',
      stage: 1,
      states: { a: 'Validating', b: 'Healthy', c: 'Pending' },
    },
    {
      reason: 'unreachable beyond the deadline: all clusters are rolled back',
      given: {
        spec: canary,
        clusters: { a: lost(9_000), b: healthyFor(9_000) },
        status: late,
      },
      away: ['a'],
      phase: 'RollingBack',
      states: { a: 'RollingBack', b: 'RollingBack', c: 'Skipped' },
    },
    {
      reason: 'unreachable within maxFailures: the others continue',
      given: { spec: { ...canary, maxFailures: 1 }, clusters: { a: lost(600), b: healthyFor(600) } },
      away: ['a'],
      phase: 'Deploying',
      stage: 2,
      states: { a: 'Validating', b: 'Healthy', c: 'Deploying' },
    },
    {
      reason: 'unreachable with maxFailures used up: no other cluster starts',
      given: {
        spec: { ...canary, maxFailures: 1 },
        clusters: { a: lost(600), b: { ...healthyFor(600), state: 'RolledBack' } },
      },
      away: ['a'],
      phase: 'Validating',
      stage: 1,
      states: { a: 'Validating', b: 'RolledBack', c: 'Pending' },
    },
    {
      reason: 'paused before the switch: the others are switched',
      given: {
        spec: { strategy: 'BlueGreen' },
        clusters: {
          a: { ...healthyFor(900), state: 'Validating' },
          b: { ...healthyFor(900), state: 'Validating' },
          c: { ...healthyFor(900), state: 'Validating' },
        },
      },
      paused: ['b'],
      phase: 'Deploying',
      states: { a: 'Deploying', b: 'Validating', c: 'Deploying' },
    },
    {
      reason: 'without health checks it is done, paused or not',
      given: {
        spec: { strategy: 'Direct', directConfig: { parallelClusters: 10, skipHealthChecks: true } },
        clusters: { a: healthyFor(9), b: healthyFor(9), c: healthyFor(9) },
      },
      paused: ['a'],
      away: ['b'],
      phase: 'Completed',
      states: { a: 'Healthy', b: 'Healthy', c: 'Healthy' },
    },
    {
      reason: 'its own rollback times out: it needs manual repair, and the others continue',
      given: {
        spec: { ...canary, maxFailures: 1 },
        clusters: { a: back, b: healthyFor(9_000) },
        status: late,
      },
      away: ['a'],
      phase: 'Deploying',
      stage: 2,
      states: { a: 'Failed', b: 'Healthy', c: 'Deploying' },
    },
  ])('$reason', ({ given, away = [], paused = [], phase, states, stage = 1 }) => {
    const { status } = nextStep(rolloutWith(given), factsWith({ away, paused }), now);
    expect(statesOf(status)).toEqual(states);
    expect(status).toMatchObject({ phase, stage });
  });

  test('is not checked while paused, and checked again afterwards', () => {
    const object = rolloutWith({ clusters: { a: healthyFor(100, 31) } });
    expect(actionsFor(object, factsWith({ paused: ['a'] }))).toEqual([]);
    const { status } = nextStep(object, factsWith({ paused: ['a'] }), now);
    const resumed = { ...object, status: { ...status, stage: 1 } };
    expect(actionsFor(resumed, factsWith())).toContain('check a');
  });

  test('has a message at the end', () => {
    const clusters = { a: healthyFor(9), b: healthyFor(9), c: healthyFor(9) };
    const { status } = nextStep(
      rolloutWith({ spec: { strategy: 'Direct' }, clusters }),
      factsWith({ paused: ['a'] }),
      now,
    );
    expect(status.clusters?.[0]?.message).toBe('deployed, but not fully validated: Cluster is paused');
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.message).toBe('healthy on 2 of 3 clusters');
  });

  test('finishes a running Helm operation while paused', () => {
    expect(actionsFor(rolloutWith({ clusters: { a: deployingFor(5) } }), factsWith({ paused: ['a'] }))).toContain(
      'install a',
    );
  });
});

describe('all deployed clusters are paused', () => {
  const one = { spec: canary, clusters: { a: healthyFor(9_000), b: { state: 'Skipped' } }, status: late };

  test('waits for a user without a deadline, a new cluster or a slot', () => {
    const { status } = nextStep(rolloutWith(one), factsWith({ paused: ['a'] }), now);
    expect(status).toMatchObject({ stage: 1, heldSince: at(0) });
    expect(status.rollback).toBeUndefined();
    expect(reasonOf(status, 'Progressing')).toBe('ClusterPaused');
  });

  test('continues when they are resumed', () => {
    const held = {
      ...one,
      clusters: { ...one.clusters, a: healthyFor(9_000, 60) },
      status: { ...late, heldSince: at(60) },
    };
    expect(actionsFor(rolloutWith(held))).toEqual(['resume', 'check a']);
  });

  test('Rolling continues with the next cluster, and never completes without a healthy one', () => {
    const rolling = (clusters: Given['clusters'], stage: number) =>
      nextStep(
        rolloutWith({ ...(clusters === undefined ? {} : { clusters }), status: { stage } }),
        factsWith({ paused: ['a', 'b', 'c'] }),
        now,
      ).status;
    expect(rolling({ a: healthyFor(600) }, 1)).toMatchObject({ stage: 3, phase: 'Validating' });
    const last = rolling({ a: healthyFor(600), b: healthyFor(500), c: healthyFor(400) }, 3);
    expect(last).toMatchObject({ phase: 'Validating', heldSince: at(0) });
  });
});
