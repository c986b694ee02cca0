import { describe, expect, test } from 'vitest';
import type { ApprovalOutcome } from '../../../../api/index.ts';
import type { ClusterStatus, Rollout, RolloutStatus } from '../rollout.ts';
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
  unhealthy,
} from '../support/rollouts.ts';
import { nextStep } from './next-step.ts';
import { checked, deployed, prepared, reopened, restored, resumed, stepFailed, switched } from './outcomes.ts';

describe('planning', () => {
  const planning = (more: Given = {}) =>
    rolloutWith({ ...more, status: { phase: 'Planning', stage: undefined, startedAt: undefined, ...more.status } });
  const asked = (outcome: ApprovalOutcome) => ({ approvals: [{ name: 'one', type: 'VersionUpgrade', outcome }] });
  test.each([
    {
      reason: 'plans first',
      given: { metadata: { finalizers: [] }, status: { plan: undefined } },
      facts: {},
      actions: ['plan'],
    },
    {
      reason: 'does not retry before the delay',
      given: { status: { plan: undefined } },
      facts: { notBefore: () => now + 1 },
      actions: [],
    },
    { reason: 'starts with a plan', given: {}, facts: {}, actions: ['start'] },
    { reason: 'does not start while paused', given: { spec: { paused: true } }, facts: {}, actions: [] },
    { reason: 'does not start during another rollback', given: {}, facts: { blockedBy: 'other' }, actions: [] },
    {
      reason: 'creates a missing Approval',
      given: { status: asked('Pending') },
      facts: {},
      actions: ['approvals'],
    },
    {
      reason: 'waits for a pending Approval',
      given: { status: asked('Pending') },
      facts: { approval: () => 'Pending' as const },
      actions: [],
    },
    {
      reason: 'starts once approved',
      given: { status: asked('Pending') },
      facts: { approval: () => 'Approved' as const },
      actions: ['start'],
    },
    { reason: 'an approval is final', given: { status: asked('Approved') }, facts: {}, actions: ['start'] },
  ])('$reason', ({ given, facts, actions }) => {
    expect(actionsFor(planning(given), factsWith(facts))).toEqual(actions);
  });

  test('adds the finalizer first', () => {
    const step = nextStep(planning({ metadata: { finalizers: [] } }), factsWith(), now);
    expect(step).toMatchObject({ finalizer: 'add', actions: [] });
  });

  test.each([
    {
      reason: 'a rejection ends the rollout',
      given: { status: asked('Pending') },
      facts: { approval: () => 'Rejected' as const },
      ends: 'ApprovalRejected',
    },
    { reason: 'an abort ends the rollout', given: { spec: { abort: true } }, facts: {}, ends: 'Aborted' },
    {
      reason: 'a rollback before the start ends the rollout',
      given: { spec: { rollback: true } },
      facts: {},
      ends: 'Aborted',
    },
  ])('$reason', ({ given, facts, ends }) => {
    const { status, actions } = nextStep(planning(given), factsWith(facts), now);
    expect(status).toMatchObject({ phase: 'Failed', finishedAt: at(0) });
    expect(reasonOf(status)).toBe(ends);
    expect(statesOf(status)).toEqual({ a: 'Skipped', b: 'Skipped', c: 'Skipped' });
    expect(actions).toEqual([]);
  });

  test('removes the finalizer of a deleted rollout at once', () => {
    const step = nextStep(planning({ metadata: { deletionTimestamp: at(1) } }), factsWith(), now);
    expect(step).toMatchObject({ finalizer: 'remove', actions: [] });
  });
});

describe('Rolling', () => {
  test.each([
    { reason: 'starts the first cluster', clusters: {}, facts: {}, actions: ['install a'], stage: 1 },
    {
      reason: 'continues a started cluster',
      clusters: { a: deployingFor(5) },
      facts: {},
      actions: ['install a'],
      stage: 1,
    },
    {
      reason: 'skips an unavailable cluster',
      clusters: {},
      facts: { away: ['a'] },
      actions: ['install b'],
      stage: 2,
    },
    {
      reason: 'starts a cluster that is available again',
      clusters: { b: deployingFor(5) },
      facts: {},
      actions: ['install b'],
      stage: 2,
    },
    {
      reason: 'checks a validating cluster',
      clusters: { a: healthyFor(100, 31) },
      facts: {},
      actions: ['check a'],
      stage: 1,
    },
    {
      reason: 'does not check before the interval',
      clusters: { a: healthyFor(100, 29) },
      facts: {},
      actions: [],
      stage: 1,
    },
    {
      reason: 'checks once more at the end of the period',
      clusters: { a: healthyFor(301, 3) },
      facts: {},
      actions: ['check a'],
      stage: 1,
    },
    {
      reason: 'then waits for the pause between clusters',
      clusters: { a: healthyFor(301, 0) },
      facts: {},
      actions: [],
      stage: 2,
    },
    {
      reason: 'skips a removed cluster',
      clusters: {},
      facts: { gone: ['a'] },
      actions: ['install b'],
      stage: 2,
    },
    {
      reason: 'skips a re-created cluster',
      clusters: { a: { uid: 'before' } },
      facts: {},
      actions: ['install b'],
      stage: 2,
    },
    {
      reason: 'starts nothing during another rollback',
      clusters: {},
      facts: { blockedBy: 'other' },
      actions: [],
      stage: 1,
    },
  ])('$reason', ({ clusters, facts, actions, stage }) => {
    const before = Object.hasOwn(clusters, 'b') ? { stage: 2 } : {};
    const object = rolloutWith({ clusters, status: before });
    expect(actionsFor(object, factsWith(facts))).toEqual(actions);
    expect(nextStep(object, factsWith(facts), now).status.stage).toBe(stage);
  });

  test('starts the next cluster after the pause', () => {
    const object = rolloutWith({ clusters: { a: healthyFor(600, 5) }, status: { stage: 2, stageFinishedAt: at(121) } });
    expect(actionsFor(object)).toEqual(['install b']);
  });

  test('a promotion shortens the validation but requires healthy clusters', () => {
    const promoted = { spec: { promote: 1 }, clusters: { a: healthyFor(20, 0) } };
    expect(nextStep(rolloutWith(promoted), factsWith(), now).status.stage).toBe(2);
    const { healthySince, ...unwell } = healthyFor(20, 0);
    const clusters = { a: { ...unwell, state: 'Validating' } };
    expect(nextStep(rolloutWith({ spec: { promote: 1 }, clusters }), factsWith(), now).status.stage).toBe(1);
  });

  test('minimumSoak delays a promotion', () => {
    const spec = { promote: 1, health: { interval: 'PT30S', failureThreshold: 3, minimumSoak: 'PT1M' } };
    expect(nextStep(rolloutWith({ spec, clusters: { a: healthyFor(20, 0) } }), factsWith(), now).status.stage).toBe(1);
  });

  test('requires a recent check before a promotion', () => {
    const object = rolloutWith({ clusters: { a: healthyFor(4_000, 3_000) } });
    expect(nextStep(object, factsWith(), now).status.stage).toBe(1);
    expect(actionsFor(object)).toEqual(['check a']);
  });
});

describe('Canary', () => {
  const canary = (clusters: Given['clusters'], more: Given = {}) =>
    rolloutWith({
      ...more,
      spec: { strategy: 'Canary', ...more.spec },
      ...(clusters === undefined ? {} : { clusters }),
    });

  test('rolls back if too many checks of a stage failed, even if it is healthy at the end', () => {
    const { status } = nextStep(
      canary({ a: { ...healthyFor(301, 0), checks: 20, checksPassed: 18 } }),
      factsWith(),
      now,
    );
    expect(status).toMatchObject({ phase: 'RollingBack', rollback: { reason: 'Unhealthy' } });
    expect(status.rollback?.message).toContain('18 of 20');
  });

  test('an unhealthy cluster of an earlier stage triggers a rollback', () => {
    const clusters = { a: { ...unhealthy, finishedAt: at(50) }, b: healthyFor(50) };
    const { status } = nextStep(canary(clusters, { status: { stage: 2 } }), factsWith(), now);
    expect(status.rollback).toMatchObject({ reason: 'RevalidationFailed' });
    expect(statesOf(status)).toEqual({ a: 'RollingBack', b: 'RollingBack', c: 'Skipped' });
  });

  const rolledBack = { ...healthyFor(100), state: 'RolledBack', finishedAt: at(5) };
  test.each([
    {
      reason: 'all clusters of a stage failed within maxFailures',
      stage: 1,
      clusters: { a: rolledBack },
      opens: false,
    },
    {
      reason: 'all of the second stage failed and the first is healthy',
      stage: 2,
      clusters: { a: healthyFor(900), b: rolledBack },
      opens: false,
    },
    {
      reason: 'the only Cluster of a stage was removed',
      stage: 1,
      clusters: { a: { state: 'Skipped' } },
      opens: true,
    },
  ])('starts the next stage: $opens, if $reason', ({ stage, clusters, opens }) => {
    const object = canary(clusters, {
      spec: { maxFailures: 2, canaryConfig: { stages: [33, 66] } },
      status: { stage },
    });
    const { status } = nextStep(object, factsWith(), now);
    expect(status.stage).toBe(opens ? stage + 1 : stage);
    if (!opens) expect(status.rollback?.message).toContain(`no cluster of stage ${stage} is healthy`);
  });

  test('does not start later stages if the first is unavailable', () => {
    expect(actionsFor(canary({}), factsWith({ away: ['a'] }))).toEqual([]);
  });
});

describe('BlueGreen', () => {
  const blueGreen = (clusters: Given['clusters'], spec: object = {}, coexist = true) =>
    rolloutWith({ spec: { strategy: 'BlueGreen', ...spec }, coexist, ...(clusters === undefined ? {} : { clusters }) });
  const green = (seconds: number, lookedAgo = 0) => ({ ...healthyFor(seconds, lookedAgo), state: 'Validating' });
  const all = (cluster: object) => ({ a: cluster, b: cluster, c: cluster });

  test.each([
    {
      reason: 'switches all clusters after the validation',
      clusters: all(green(601)),
      spec: {},
      coexist: true,
      actions: ['switch a', 'switch b', 'switch c'],
    },
    {
      reason: 'does not switch before all are deployed',
      clusters: { ...all(green(601)), c: deployingFor(5) },
      spec: {},
      coexist: true,
      actions: ['install c'],
    },
    {
      reason: 'does not switch without a recent check',
      clusters: { ...all(green(601)), c: green(601, 20) },
      spec: {},
      coexist: true,
      actions: ['check c'],
    },
    {
      reason: 'does not switch without a promotion',
      clusters: all(green(601)),
      spec: { blueGreenConfig: manual() },
      coexist: true,
      actions: [],
    },
    {
      reason: 'a promotion skips the wait',
      clusters: all(green(60)),
      spec: { promote: 1, blueGreenConfig: manual() },
      coexist: true,
      actions: ['switch a', 'switch b', 'switch c'],
    },
    {
      reason: 'switches without validation if the versions cannot coexist',
      clusters: all({ ...deployingFor(5), state: 'Validating', deployedAt: at(1) }),
      spec: {},
      coexist: false,
      actions: ['switch a', 'switch b', 'switch c'],
    },
  ])('$reason', ({ clusters, spec, coexist, actions }) => {
    expect(actionsFor(blueGreen(clusters, spec, coexist))).toEqual(actions);
  });

  test('waits for a promotion with a condition and without a deadline', () => {
    const object = blueGreen(all(green(9_000)), { blueGreenConfig: manual() });
    const { status } = nextStep(
      { ...object, status: { ...object.status, progressedAt: at(8_000) } as RolloutStatus },
      factsWith(),
      now,
    );
    expect(status.phase).toBe('Validating');
    expect(reasonOf(status, 'Progressing')).toBe('AwaitingPromotion');
  });

  test.each([
    { coexist: true, cluster: green(9_000), said: 'validation passed' },
    {
      coexist: false,
      cluster: { ...deployingFor(5), state: 'Validating', deployedAt: at(1) },
      said: 'installed with 0 replicas, validated after the switch',
    },
  ])('the condition reports the validation; coexist: $coexist', ({ coexist, cluster, said }) => {
    const object = blueGreen(all(cluster), { blueGreenConfig: manual() }, coexist);
    const { conditions = [] } = nextStep(object, factsWith(), now).status;
    const { message } = conditions.find(({ type }) => type === 'Progressing') ?? {};
    expect(message).toBe(`${said}; run \`kidp rollout promote\` to switch traffic`);
  });

  test('validates again after the switch, then completes', () => {
    const switchedFor = (seconds: number) => ({
      ...healthyFor(900),
      switched: true,
      switchedAt: at(seconds),
      healthySince: at(seconds),
    });
    expect(nextStep(blueGreen(all(switchedFor(299))), factsWith(), now).status.phase).toBe('Validating');
    expect(nextStep(blueGreen(all(switchedFor(301))), factsWith(), now).status.phase).toBe('Completed');
  });

  function manual() {
    return {
      blueNamespace: 'x',
      greenNamespace: 'y',
      autoSwitch: false,
      validationPeriod: 'PT10M',
      monitorPeriod: 'PT5M',
      retentionPeriod: 'PT24H',
    };
  }
});

describe('slots', () => {
  const manual = { strategy: 'BlueGreen', blueGreenConfig: { autoSwitch: false } };
  const ready = { ...healthyFor(900), state: 'Validating' };
  const all = (cluster: object) => ({ a: cluster, b: cluster, c: cluster });
  test.each([
    { reason: 'a paused rollout takes no slot', spec: { paused: true }, clusters: {}, held: true },
    { reason: 'a rollout that waits for a promotion takes no slot', spec: manual, clusters: all(ready), held: true },
    {
      reason: 'a paused rollout keeps its slot while Helm runs',
      spec: { paused: true },
      clusters: { a: deployingFor(5) },
    },
    {
      reason: 'a paused rollout keeps its slot during a cluster rollback',
      spec: { paused: true },
      clusters: { a: { state: 'RollingBack' } },
    },
    { reason: 'a running rollout takes a slot', spec: {}, clusters: {} },
  ])('$reason', ({ spec, clusters, held = false }) => {
    const { status } = nextStep(rolloutWith({ spec: { maxFailures: 1, ...spec }, clusters }), factsWith(), now);
    expect(status.heldSince).toBe(held ? at(0) : undefined);
  });

  test.each([
    { reason: 'a resumed rollout requests a slot', spec: {}, clusters: {}, actions: ['resume'] },
    { reason: 'a paused rollout does not', spec: { paused: true }, clusters: {}, actions: [] },
    { reason: 'nothing during another rollback', spec: {}, clusters: {}, facts: { blockedBy: 'other' }, actions: [] },
    {
      reason: 'a promoted rollout requests a slot',
      spec: { ...manual, promote: 1 },
      clusters: all(ready),
      actions: ['resume'],
    },
    {
      reason: 'checks continue meanwhile',
      spec: {},
      clusters: { a: healthyFor(100, 31) },
      actions: ['resume', 'check a'],
    },
    {
      reason: 'not before the retry delay',
      spec: {},
      clusters: {},
      facts: { notBefore: () => now + 5 },
      actions: [],
    },
  ])('resume: $reason', ({ spec, clusters, facts = {}, actions }) => {
    const object = rolloutWith({ spec, clusters, status: { heldSince: at(60), progressedAt: at(9_000) } });
    expect(actionsFor(object, factsWith(facts))).toEqual(actions);
    expect(nextStep(object, factsWith(facts), now).status.rollback, 'no deadline expires').toBeUndefined();
  });

  test('continues with a slot', () => {
    const object = rolloutWith({ status: { heldSince: at(60), progressedAt: at(9_000) } });
    const { status, actions } = nextStep(object, factsWith(), now, (each) => resumed(each, now));
    expect(status.heldSince).toBeUndefined();
    expect(actions).toMatchObject([{ kind: 'install', cluster: 'a' }]);
  });

  test('a rollback needs no slot', () => {
    const object = rolloutWith({ clusters: { a: unhealthy }, status: { heldSince: at(60) }, spec: { paused: true } });
    const { status } = nextStep(object, factsWith(), now);
    expect(status.phase).toBe('RollingBack');
    expect(status.heldSince).toBeUndefined();
  });
});

describe('failures', () => {
  const direct = (clusters: NonNullable<Given['clusters']>, spec: object = {}) =>
    rolloutWith({ spec: { strategy: 'Direct', ...spec }, clusters });
  test.each([
    {
      reason: 'all changed clusters are rolled back',
      spec: {},
      states: { a: 'RollingBack', b: 'RollingBack', c: 'RollingBack' },
      phase: 'RollingBack',
    },
    {
      reason: 'clusters within maxFailures are rolled back alone',
      spec: { maxFailures: 1 },
      states: { a: 'RollingBack', b: 'Healthy', c: 'Deploying' },
      phase: 'Deploying',
    },
    {
      reason: 'nothing is rolled back with rollbackOnFailure: false',
      spec: { maxFailures: 1, rollbackOnFailure: false },
      states: { a: 'Unhealthy', b: 'Healthy', c: 'Deploying' },
      phase: 'Deploying',
    },
  ])('$reason', ({ spec, states, phase }) => {
    const { status } = nextStep(
      direct({ a: unhealthy, b: healthyFor(100), c: deployingFor(9) }, spec),
      factsWith(),
      now,
    );
    expect(status.phase).toBe(phase);
    expect(statesOf(status)).toEqual(states);
  });

  test('without a rollback it ends once no step runs', () => {
    const spec = { rollbackOnFailure: false };
    const busy = nextStep(
      direct({ a: unhealthy, b: healthyFor(100), c: deployingFor(9) }, spec),
      factsWith(),
      now,
    ).status;
    expect(busy.phase).toBe('Deploying');
    const { status } = nextStep(direct({ a: unhealthy, b: healthyFor(100), c: healthyFor(9) }, spec), factsWith(), now);
    expect(status.phase).toBe('Failed');
    expect(reasonOf(status)).toBe('Unhealthy');
  });

  test('an unchanged cluster is rolled back at once', () => {
    const { preparedAt, ...unprepared } = deployingFor(9);
    const { status } = nextStep(direct({ a: unhealthy, b: unprepared }), factsWith(), now);
    expect(statesOf(status)).toMatchObject({ a: 'RollingBack', b: 'RolledBack', c: 'Skipped' });
  });

  test('the progress deadline expires', () => {
    const object = direct({ a: { ...deployingFor(1_900), message: 'no response' } });
    const late = { ...object, status: { ...object.status, progressedAt: at(1_801) } as RolloutStatus };
    const { status } = nextStep(late, factsWith({ away: ['a', 'b', 'c'] }), now);
    expect(status.rollback).toMatchObject({ reason: 'ProgressDeadline' });
    expect(status.rollback?.message).toContain('a (no response)');
  });

  test('a flapping cluster does not extend the deadline', () => {
    const late = { status: { progressedAt: at(1_700) } };
    const flapping = { ...healthyFor(5_000, 100), state: 'Validating', healthySince: at(100), finishedAt: at(4_000) };
    const { status } = nextStep(rolloutWith({ clusters: { a: flapping }, ...late }), factsWith(), now);
    expect(status).toMatchObject({ progressedAt: at(1_700), clusters: [{ state: 'Healthy' }, {}, {}] });
    const { finishedAt, ...first } = flapping;
    expect(nextStep(rolloutWith({ clusters: { a: first }, ...late }), factsWith(), now).status.progressedAt).toBe(
      at(0),
    );
  });

  test('a cluster with intermittent connectivity does not extend the deadline', () => {
    const { preparedAt, ...unprepared } = deployingFor(9);
    const object = direct({ a: unprepared, b: { state: 'Skipped' }, c: { state: 'Skipped' } });
    const late = { ...object, status: { ...object.status, progressedAt: at(1_700) } as RolloutStatus };
    const gone = { ...late, status: nextStep(late, factsWith({ away: ['a'] }), now).status };
    expect(statesOf(gone.status).a).toBe('Pending');
    const { status, actions } = nextStep(gone, factsWith(), now);
    expect(actions).toMatchObject([{ kind: 'install', cluster: 'a' }]);
    expect(status.progressedAt).toBe(at(1_700));
  });

  const illToo = { b: unhealthy };
  test.each([
    { reason: 'an abort', spec: { abort: true }, clusters: {}, ends: 'Aborted' },
    { reason: 'an abort while paused', spec: { abort: true, paused: true }, clusters: {}, ends: 'Aborted' },
    {
      reason: 'a failure without a rollback',
      spec: { rollbackOnFailure: false },
      clusters: illToo,
      ends: 'Unhealthy',
    },
  ])('$reason waits for an unreachable cluster until the deadline', ({ spec, clusters, ends }) => {
    const object = (secondsAgo: number) =>
      rolloutWith({
        spec: { strategy: 'Direct', ...spec },
        clusters: { a: { ...deployingFor(2_000), retryAt: at(-9_000) }, ...clusters },
        status: { progressedAt: at(secondsAgo) },
      });
    const waiting = nextStep(object(1_700), factsWith({ away: ['a', 'c'] }), now);
    expect(waiting.status.phase).toBe('Deploying');
    expect(waiting.wakeAt).toBeLessThanOrEqual(now + 100_000);
    const { status } = nextStep(object(1_800), factsWith({ away: ['a', 'c'] }), now);
    expect(status.phase).toBe('Failed');
    expect(reasonOf(status)).toBe(ends);
  });

  test('paused time does not count', () => {
    const object = direct({ a: { ...deployingFor(1_900) } });
    const conditions = [
      { type: 'Progressing', status: 'False', reason: 'Paused', message: '', lastTransitionTime: at(1) },
    ];
    const late = { ...object, status: { ...object.status, progressedAt: at(1_801), conditions } as RolloutStatus };
    expect(nextStep(late, factsWith(), now).status).toMatchObject({ phase: 'Deploying', progressedAt: at(0) });
  });

  test('an unreachable, unchanged cluster is Pending again', () => {
    const { preparedAt, ...unprepared } = deployingFor(9);
    const { status } = nextStep(
      direct({ a: unprepared, b: healthyFor(9), c: healthyFor(9) }),
      factsWith({ away: ['a'] }),
      now,
    );
    expect(status.phase).toBe('Completed');
    expect(statesOf(status)).toEqual({ a: 'Skipped', b: 'Healthy', c: 'Healthy' });
  });
});

describe('rollback', () => {
  const back = (cluster: object, status: object = {}) =>
    rolloutWith({
      clusters: {
        a: { ...healthyFor(100), state: 'RollingBack', attempt: 'u.rollback', ...cluster },
        b: { state: 'Skipped' },
        c: { state: 'Skipped' },
      },
      status: {
        phase: 'RollingBack',
        rollback: { reason: 'Unhealthy', message: 'why', startedAt: at(60) },
        progressedAt: at(60),
        ...status,
      },
    });
  const restoredOnce = { restoredAt: at(20), healthySince: undefined, lastCheckedAt: undefined };

  test('restores until done, then checks', () => {
    expect(actionsFor(back({}))).toEqual(['restore a']);
    expect(actionsFor(back({ retryAt: at(-5) }))).toEqual([]);
    expect(actionsFor(back(restoredOnce))).toEqual(['check a']);
  });

  test.each([
    {
      reason: 'healthy again',
      cluster: { ...restoredOnce, healthySince: at(5) },
      state: 'RolledBack',
      ends: 'RolledBack',
    },
    {
      reason: 'nothing was installed before',
      cluster: { ...restoredOnce, snapshotBefore: undefined },
      state: 'RolledBack',
      ends: 'RolledBack',
    },
    {
      reason: 'restored but unhealthy',
      cluster: { ...restoredOnce, failuresInRow: 3 },
      state: 'Failed',
      ends: 'RollbackFailed',
    },
  ])('ends: $reason', ({ cluster, state, ends }) => {
    const { status } = nextStep(back(cluster), factsWith(), now);
    expect(status).toMatchObject({ phase: 'Failed', rollback: { finishedAt: at(0) } });
    expect(statesOf(status).a).toBe(state);
    expect(reasonOf(status)).toBe(ends);
  });

  test('ends at the deadline and lists the clusters to repair', () => {
    const { status } = nextStep(back({}, { progressedAt: at(1_801) }), factsWith(), now);
    expect(statesOf(status).a).toBe('Failed');
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.message).toContain(
      'rollback failed on cluster a, repair manually',
    );
  });

  test('takes precedence over an abort, and is possible after the end', () => {
    const both = rolloutWith({ spec: { abort: true, rollback: true }, clusters: { a: healthyFor(9) } });
    expect(nextStep(both, factsWith(), now).status.phase).toBe('RollingBack');
    const done = (spec: object, status: object = {}) =>
      rolloutWith({
        spec,
        metadata: { finalizers: [] },
        clusters: { a: healthyFor(9) },
        status: { phase: 'Completed', finishedAt: at(5), ...status },
      });
    const degraded = {
      conditions: [
        { type: 'Degraded', status: 'True', reason: 'Unhealthy', message: 'ill', lastTransitionTime: at(1) },
      ],
    };
    expect(actionsFor(done({}))).toEqual([]);
    expect(actionsFor(done({ rollback: true }))).toEqual(['reopen']);
    expect(actionsFor(done({}, degraded))).toEqual(['reopen']);
    expect(actionsFor(done({ rollbackOnFailure: false }, degraded))).toEqual([]);
    expect(actionsFor(done({ rollback: true }), factsWith({ installedBy: () => 'newer' }))).toEqual([]);
    // An automatic rollback does not follow another rollback that restored this version; users can still request one.
    const returnedTo = factsWith({ installedBy: () => 'rollout', restoredBy: () => 'newer' });
    expect(actionsFor(done({}, degraded), returnedTo)).toEqual([]);
    expect(actionsFor(done({ rollback: true }), returnedTo)).toEqual(['reopen']);
    const [condition] = degraded.conditions;
    const tolerated = { conditions: [{ ...condition, reason: 'WithinMaxFailures' }] };
    expect(actionsFor(done({}, tolerated))).toEqual([]);
  });

  test.each([
    { reason: 'no installation is recorded', installedBy: undefined, state: 'RollingBack' },
    { reason: 'this rollout made the installation', installedBy: 'rollout', state: 'RollingBack' },
    { reason: 'it was interrupted before its version was in use', installedBy: 'the one before', state: 'RollingBack' },
    { reason: 'a later rollout replaced it', installedBy: 'newer', state: 'Skipped' },
  ])('an unfinished cluster after the end: $reason', ({ installedBy, state }) => {
    const ended = rolloutWith({
      spec: { rollback: true },
      clusters: { a: { ...deployingFor(90), deploymentBefore: 'the one before' }, b: healthyFor(9) },
      status: { phase: 'Failed', finishedAt: at(5) },
    });
    const facts = factsWith({ installedBy: (name) => (name === 'a' ? installedBy : 'rollout') });
    expect(actionsFor({ ...ended, metadata: { ...ended.metadata, finalizers: [] } }, facts)).toEqual(['reopen']);
    const { status } = nextStep(ended, facts, now, (each) =>
      reopened(each, facts, { reason: 'Requested', message: 'asked' }, now),
    );
    expect(statesOf(status)).toMatchObject({ a: state, b: 'RollingBack' });
  });
});

describe('times in the future', () => {
  const hour = -3_600;
  const direct = (cluster: object, status: object = {}) =>
    rolloutWith({ spec: { strategy: 'Direct' }, clusters: { a: cluster, b: healthyFor(9), c: healthyFor(9) }, status });

  test.each([
    {
      reason: 'a future deployment time does not delay the check',
      cluster: { ...deployingFor(5), state: 'Validating', deployedAt: at(hour) },
    },
    { reason: 'a check with a future time is repeated', cluster: { ...healthyFor(100), lastCheckedAt: at(hour) } },
    { reason: 'a future healthySince is dropped', cluster: { ...healthyFor(100, 5), healthySince: at(hour) } },
  ])('$reason', ({ cluster }) => {
    const object = direct(cluster);
    const step = nextStep(object, factsWith(), now);
    expect(step.actions).toMatchObject([{ kind: 'check', cluster: 'a' }]);
    const written = { ...object, status: step.status };
    const later = now + 100;
    const look = { state: 'Healthy' as const, message: '', checkStartedAt: later };
    const { status } = nextStep(written, factsWith(), later, (each) => checked(each, 'a', 'u.install', look));
    expect(status.phase).toBe('Completed');
  });

  test('a retry waits for the maximum delay at most', () => {
    expect(actionsFor(direct({ ...deployingFor(5), retryAt: at(hour) }))).toContain('install a');
    expect(actionsFor(direct({ ...deployingFor(5), retryAt: at(-59) }))).not.toContain('install a');
  });

  test('deadlines and pauses are not extended', () => {
    const { status } = nextStep(
      direct(deployingFor(5), { progressedAt: at(hour), startedAt: at(hour) }),
      factsWith(),
      now,
    );
    expect(status).toMatchObject({ progressedAt: at(0), startedAt: at(0) });
    const paused = rolloutWith({
      clusters: { a: healthyFor(600, 5) },
      status: { stage: 2, stageFinishedAt: at(hour) },
    });
    expect(nextStep(paused, factsWith(), now).wakeAt).toBeLessThanOrEqual(now + 120_000);
  });
});

describe('outcomes', () => {
  const one = (cluster: object): Rollout => rolloutWith({ spec: { strategy: 'Direct' }, clusters: { a: cluster } });
  const first = ({ clusters = [] }: RolloutStatus): ClusterStatus | undefined => clusters[0];
  const validating = { ...healthyFor(100), state: 'Validating', healthySince: undefined, lastCheckedAt: undefined };
  const look = (state: 'Healthy' | 'Unhealthy' | 'Unknown', checkStartedAt = now) => ({
    state,
    message: 'm',
    checkStartedAt,
  });

  test.each([
    {
      reason: 'of a superseded step',
      object: one({ ...deployingFor(5), attempt: 'u.rollback', state: 'RollingBack' }),
      outcome: (each: Rollout) => deployed(each, 'a', 'u.install', { revision: 2, namespace: 'n' }, now),
    },
    {
      reason: 'of a check that started before the change',
      object: one(validating),
      outcome: (each: Rollout) => checked(each, 'a', 'u.install', look('Healthy', now - 200_000)),
    },
    {
      reason: 'of a check of a cluster that is not monitored',
      object: one(unhealthy),
      outcome: (each: Rollout) => checked(each, 'a', 'u.install', look('Healthy')),
    },
    {
      reason: 'of a second preparation',
      object: one(deployingFor(5)),
      outcome: (each: Rollout) => prepared(each, 'a', 'u.install', { fromVersion: 'v9' }, now),
    },
    {
      reason: 'of an unwanted restore',
      object: one(validating),
      outcome: (each: Rollout) => restored(each, 'a', 'u.rollback', 3, now),
    },
    {
      reason: 'of an unwanted switch',
      object: one(validating),
      outcome: (each: Rollout) => switched(each, 'a', 'u.switch', now),
    },
    {
      reason: 'of an unknown cluster',
      object: one(validating),
      outcome: (each: Rollout) => stepFailed(each, 'z', 'u.install', { temporary: true, message: '' }, now, 1),
    },
    {
      reason: 'of a rollout that is already rolled back',
      object: {
        ...one(validating),
        status: { ...one(validating).status, rollback: { reason: 'Requested', startedAt: at(1) } },
      } as Rollout,
      outcome: (each: Rollout) => reopened(each, factsWith(), { reason: 'Requested', message: '' }, now),
    },
  ])('$reason change nothing', ({ object, outcome }) => {
    expect(outcome(object)).toBe(object.status);
  });

  test('one success is healthy, three failures are unhealthy, Unknown is neither', () => {
    expect(first(checked(one(validating), 'a', 'u.install', look('Healthy')))).toMatchObject({
      healthySince: at(0),
      checks: 11,
      checksPassed: 11,
    });
    const twice = { ...validating, failuresInRow: 2 };
    expect(first(checked(one(twice), 'a', 'u.install', look('Unhealthy')))).toMatchObject({
      state: 'Unhealthy',
      checks: 11,
      checksPassed: 10,
    });
    const unknown = first(
      checked(one({ ...healthyFor(100, 50), failuresInRow: 2 }), 'a', 'u.install', look('Unknown')),
    );
    expect(unknown).toMatchObject({ state: 'Validating', failuresInRow: 2, checks: 10 });
    expect(unknown?.healthySince).toBeUndefined();
  });

  test('temporary failures are retried with backoff, refusals are final', () => {
    const failed = (cluster: object, temporary: boolean) =>
      first(stepFailed(one(cluster), 'a', 'u.install', { temporary, message: 'why' }, now, 1_000));
    expect(failed(deployingFor(5), true)).toMatchObject({ state: 'Deploying', retryAt: at(-1), failuresInRow: 1 });
    expect(failed({ ...deployingFor(5), failuresInRow: 3 }, true)).toMatchObject({ retryAt: at(-8) });
    expect(failed({ ...deployingFor(5), failuresInRow: 30 }, true)).toMatchObject({ retryAt: at(-60) });
    expect(failed(deployingFor(5), false)).toMatchObject({ state: 'Unhealthy', message: 'why' });
  });

  test('a rollback fails after repeated refusals', () => {
    const back = { ...deployingFor(5), state: 'RollingBack', attempt: 'u.rollback' };
    const tried = (...outcomes: readonly ('refused' | 'out of reach')[]) => {
      let object = one(back);
      for (const outcome of outcomes) {
        const failure = { temporary: outcome === 'out of reach', message: 'why' };
        object = { ...object, status: stepFailed(object, 'a', 'u.rollback', failure, now, 1_000) };
      }
      return first(object.status ?? {});
    };
    expect(tried('refused', 'refused')).toMatchObject({ state: 'RollingBack' });
    expect(tried('refused', 'refused', 'refused')).toMatchObject({ state: 'Failed' });
    expect(tried('out of reach', 'out of reach', 'out of reach', 'refused')).toMatchObject({ state: 'RollingBack' });
    expect(tried('refused', 'out of reach', 'refused', 'refused')).toMatchObject({ state: 'Failed' });
  });
});
