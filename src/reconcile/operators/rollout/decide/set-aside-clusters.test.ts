/** Clusters that were deployed and are paused, or out of reach, since. */
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
/** Nobody has had an answer since. */
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

describe('a cluster that was deployed', () => {
  test.each<Row>([
    {
      reason: 'and is paused since: the others go on',
      given: { spec: canary, clusters: { a: healthyFor(600), b: healthyFor(600) } },
      paused: ['a'],
      phase: 'Deploying',
      stage: 2,
      states: { a: 'Validating', b: 'Healthy', c: 'Deploying' },
    },
    {
      reason: 'and is paused since, though nothing went forward for long: nothing is taken back',
      given: { spec: canary, clusters: { a: healthyFor(600), b: healthyFor(600) }, status: late },
      paused: ['a'],
      phase: 'Deploying',
      stage: 2,
      states: { a: 'Validating', b: 'Healthy', c: 'Deploying' },
    },
    {
      reason: 'and is paused since: what is well without it is completed',
      given: { spec: { strategy: 'Direct' }, clusters: { a: healthyFor(9), b: healthyFor(9), c: healthyFor(9) } },
      paused: ['a'],
      phase: 'Completed',
      states: { a: 'Validating', b: 'Healthy', c: 'Healthy' },
    },
    {
      reason: 'and is out of reach since: that may be the fault of what was deployed, so nobody follows',
      given: { spec: canary, clusters: { a: lost(600), b: healthyFor(600) } },
      away: ['a'],
      phase: 'Validating',
      stage: 1,
      states: { a: 'Validating', b: 'Healthy', c: 'Pending' },
    },
    {
      reason: 'and is out of reach for longer than anything may take: all is taken back',
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
      reason: 'and is out of reach, where so many may fail: the others go on',
      given: { spec: { ...canary, maxFailures: 1 }, clusters: { a: lost(600), b: healthyFor(600) } },
      away: ['a'],
      phase: 'Deploying',
      stage: 2,
      states: { a: 'Validating', b: 'Healthy', c: 'Deploying' },
    },
    {
      reason: 'and is out of reach, where another has used up what may fail: nobody follows',
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
      reason: 'and is paused before the switch: the others are switched',
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
      reason: 'where nobody looks is done, paused or not',
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
      reason: 'and is taken back alone, and is not back in time: people look after it, and the others go on',
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

  test('and is paused is not looked at, and is looked at again when it is not paused any more', () => {
    const object = rolloutWith({ clusters: { a: healthyFor(100, 31) } });
    expect(actionsFor(object, factsWith({ paused: ['a'] }))).toEqual([]);
    const { status } = nextStep(object, factsWith({ paused: ['a'] }), now);
    const resumed = { ...object, status: { ...status, stage: 1 } };
    expect(actionsFor(resumed, factsWith())).toContain('check a');
  });

  test('what is said of it at the end', () => {
    const clusters = { a: healthyFor(9), b: healthyFor(9), c: healthyFor(9) };
    const { status } = nextStep(
      rolloutWith({ spec: { strategy: 'Direct' }, clusters }),
      factsWith({ paused: ['a'] }),
      now,
    );
    expect(status.clusters?.[0]?.message).toBe('deployed, but not fully validated: Cluster is paused');
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.message).toBe('healthy on 2 of 3 clusters');
  });

  test('what Helm is at work on is brought to its end, paused or not', () => {
    expect(actionsFor(rolloutWith({ clusters: { a: deployingFor(5) } }), factsWith({ paused: ['a'] }))).toContain(
      'install a',
    );
  });
});

describe('where all that were deployed are paused', () => {
  const one = { spec: canary, clusters: { a: healthyFor(9_000), b: { state: 'Skipped' } }, status: late };

  test('it waits for people: no time runs out, nobody follows, and it takes no place', () => {
    const { status } = nextStep(rolloutWith(one), factsWith({ paused: ['a'] }), now);
    expect(status).toMatchObject({ stage: 1, heldSince: at(0) });
    expect(status.rollback).toBeUndefined();
    expect(reasonOf(status, 'Progressing')).toBe('ClusterPaused');
  });

  test('it goes on when they are not paused any more', () => {
    const held = {
      ...one,
      clusters: { ...one.clusters, a: healthyFor(9_000, 60) },
      status: { ...late, heldSince: at(60) },
    };
    expect(actionsFor(rolloutWith(held))).toEqual(['resume', 'check a']);
  });

  test('one after the other goes on with the next, and is not completed without one that is well', () => {
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
