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
      reason: 'without a plan it is planned',
      given: { metadata: { finalizers: [] }, status: { plan: undefined } },
      facts: {},
      actions: ['plan'],
    },
    {
      reason: 'nothing is asked again before its time',
      given: { status: { plan: undefined } },
      facts: { notBefore: () => now + 1 },
      actions: [],
    },
    { reason: 'with a plan it is started', given: {}, facts: {}, actions: ['start'] },
    { reason: 'not while it is paused', given: { spec: { paused: true } }, facts: {}, actions: [] },
    { reason: 'not while another goes back', given: {}, facts: { blockedBy: 'other' }, actions: [] },
    {
      reason: 'an Approval that is not there is asked for',
      given: { status: asked('Pending') },
      facts: {},
      actions: ['approvals'],
    },
    {
      reason: 'one that is not decided is waited for',
      given: { status: asked('Pending') },
      facts: { approval: () => 'Pending' as const },
      actions: [],
    },
    {
      reason: 'one that is approved lets it start',
      given: { status: asked('Pending') },
      facts: { approval: () => 'Approved' as const },
      actions: ['start'],
    },
    { reason: 'what was approved stays so', given: { status: asked('Approved') }, facts: {}, actions: ['start'] },
  ])('$reason', ({ given, facts, actions }) => {
    expect(actionsFor(planning(given), factsWith(facts))).toEqual(actions);
  });

  test('before anything else it is held from going away', () => {
    const step = nextStep(planning({ metadata: { finalizers: [] } }), factsWith(), now);
    expect(step).toMatchObject({ finalizer: 'add', actions: [] });
  });

  test.each([
    {
      reason: 'a rejection ends it',
      given: { status: asked('Pending') },
      facts: { approval: () => 'Rejected' as const },
      ends: 'ApprovalRejected',
    },
    { reason: 'so does an abort', given: { spec: { abort: true } }, facts: {}, ends: 'Aborted' },
    {
      reason: 'and a rollback, with nothing to take back',
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

  test('one that is deleted then goes at once', () => {
    const step = nextStep(planning({ metadata: { deletionTimestamp: at(1) } }), factsWith(), now);
    expect(step).toMatchObject({ finalizer: 'remove', actions: [] });
  });
});

describe('one cluster after the other', () => {
  test.each([
    { reason: 'the first is begun', clusters: {}, facts: {}, actions: ['install a'], stage: 1 },
    {
      reason: 'one that is under way goes on',
      clusters: { a: deployingFor(5) },
      facts: {},
      actions: ['install a'],
      stage: 1,
    },
    {
      reason: 'one that is away is passed over',
      clusters: {},
      facts: { away: ['a'] },
      actions: ['install b'],
      stage: 2,
    },
    {
      reason: 'one that comes back has its turn',
      clusters: { b: deployingFor(5) },
      facts: {},
      actions: ['install b'],
      stage: 2,
    },
    {
      reason: 'what is validated is looked at',
      clusters: { a: healthyFor(100, 31) },
      facts: {},
      actions: ['check a'],
      stage: 1,
    },
    { reason: 'not before its time', clusters: { a: healthyFor(100, 29) }, facts: {}, actions: [], stage: 1 },
    {
      reason: 'and once more when its time is over',
      clusters: { a: healthyFor(301, 3) },
      facts: {},
      actions: ['check a'],
      stage: 1,
    },
    { reason: 'then it is paused', clusters: { a: healthyFor(301, 0) }, facts: {}, actions: [], stage: 2 },
    {
      reason: 'a cluster that was removed is passed over',
      clusters: {},
      facts: { gone: ['a'] },
      actions: ['install b'],
      stage: 2,
    },
    {
      reason: 'one made anew under its name is another',
      clusters: { a: { uid: 'before' } },
      facts: {},
      actions: ['install b'],
      stage: 2,
    },
    {
      reason: 'nothing is begun while another goes back',
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

  test('after the pause the next is begun', () => {
    const object = rolloutWith({ clusters: { a: healthyFor(600, 5) }, status: { stage: 2, stageFinishedAt: at(121) } });
    expect(actionsFor(object)).toEqual(['install b']);
  });

  test('a promotion cuts the watching short, and still only what is well goes on', () => {
    const promoted = { spec: { promote: 1 }, clusters: { a: healthyFor(20, 0) } };
    expect(nextStep(rolloutWith(promoted), factsWith(), now).status.stage).toBe(2);
    const { healthySince, ...unwell } = healthyFor(20, 0);
    const clusters = { a: { ...unwell, state: 'Validating' } };
    expect(nextStep(rolloutWith({ spec: { promote: 1 }, clusters }), factsWith(), now).status.stage).toBe(1);
  });

  test('a minimum of being well holds whoever promotes', () => {
    const spec = { promote: 1, health: { interval: 'PT30S', failureThreshold: 3, minimumSoak: 'PT1M' } };
    expect(nextStep(rolloutWith({ spec, clusters: { a: healthyFor(20, 0) } }), factsWith(), now).status.stage).toBe(1);
  });

  test('what was well long ago is looked at again before it promotes', () => {
    const object = rolloutWith({ clusters: { a: healthyFor(4_000, 3_000) } });
    expect(nextStep(object, factsWith(), now).status.stage).toBe(1);
    expect(actionsFor(object)).toEqual(['check a']);
  });
});

describe('the shares of a canary', () => {
  const canary = (clusters: Given['clusters'], more: Given = {}) =>
    rolloutWith({
      ...more,
      spec: { strategy: 'Canary', ...more.spec },
      ...(clusters === undefined ? {} : { clusters }),
    });

  test('a stage of which too many checks have failed is taken back, though it is well in the end', () => {
    const { status } = nextStep(
      canary({ a: { ...healthyFor(301, 0), checks: 20, checksPassed: 18 } }),
      factsWith(),
      now,
    );
    expect(status).toMatchObject({ phase: 'RollingBack', rollback: { reason: 'Unhealthy' } });
    expect(status.rollback?.message).toContain('18 of 20');
  });

  test('a cluster of an earlier stage that falls ill takes the promotion back', () => {
    const clusters = { a: { ...unhealthy, finishedAt: at(50) }, b: healthyFor(50) };
    const { status } = nextStep(canary(clusters, { status: { stage: 2 } }), factsWith(), now);
    expect(status.rollback).toMatchObject({ reason: 'RevalidationFailed' });
    expect(statesOf(status)).toEqual({ a: 'RollingBack', b: 'RollingBack', c: 'Skipped' });
  });

  const takenBack = { ...healthyFor(100), state: 'RolledBack', finishedAt: at(5) };
  test.each([
    { reason: 'all of a stage have failed, though that many may', stage: 1, clusters: { a: takenBack }, opens: false },
    {
      reason: 'all of the second have, and the first is well',
      stage: 2,
      clusters: { a: healthyFor(900), b: takenBack },
      opens: false,
    },
    {
      reason: 'the Cluster of a stage was removed: that says nothing of the version',
      stage: 1,
      clusters: { a: { state: 'Skipped' } },
      opens: true,
    },
  ])('opens the next: $opens, where $reason', ({ stage, clusters, opens }) => {
    const object = canary(clusters, {
      spec: { maxFailures: 2, canaryConfig: { stages: [33, 66] } },
      status: { stage },
    });
    const { status } = nextStep(object, factsWith(), now);
    expect(status.stage).toBe(opens ? stage + 1 : stage);
    if (!opens) expect(status.rollback?.message).toContain(`no cluster of stage ${stage} is healthy`);
  });

  test('where nothing of the first stage can be worked on, nothing else is tried in its place', () => {
    expect(actionsFor(canary({}), factsWith({ away: ['a'] }))).toEqual([]);
  });
});

describe('both sides', () => {
  const blueGreen = (clusters: Given['clusters'], spec: object = {}, coexist = true) =>
    rolloutWith({ spec: { strategy: 'BlueGreen', ...spec }, coexist, ...(clusters === undefined ? {} : { clusters }) });
  const green = (seconds: number, lookedAgo = 0) => ({ ...healthyFor(seconds, lookedAgo), state: 'Validating' });
  const all = (cluster: object) => ({ a: cluster, b: cluster, c: cluster });

  test.each([
    {
      reason: 'all are switched when all have been watched',
      clusters: all(green(601)),
      spec: {},
      coexist: true,
      actions: ['switch a', 'switch b', 'switch c'],
    },
    {
      reason: 'not while one is not deployed',
      clusters: { ...all(green(601)), c: deployingFor(5) },
      spec: {},
      coexist: true,
      actions: ['install c'],
    },
    {
      reason: 'not while one was not looked at lately',
      clusters: { ...all(green(601)), c: green(601, 20) },
      spec: {},
      coexist: true,
      actions: ['check c'],
    },
    {
      reason: 'not before somebody says so',
      clusters: all(green(601)),
      spec: { blueGreenConfig: manual() },
      coexist: true,
      actions: [],
    },
    {
      reason: 'who says so need not wait',
      clusters: all(green(60)),
      spec: { promote: 1, blueGreenConfig: manual() },
      coexist: true,
      actions: ['switch a', 'switch b', 'switch c'],
    },
    {
      reason: 'what cannot run beside the other is switched unseen',
      clusters: all({ ...deployingFor(5), state: 'Validating', deployedAt: at(1) }),
      spec: {},
      coexist: false,
      actions: ['switch a', 'switch b', 'switch c'],
    },
  ])('$reason', ({ clusters, spec, coexist, actions }) => {
    expect(actionsFor(blueGreen(clusters, spec, coexist))).toEqual(actions);
  });

  test('somebody who has to say so is told, and no time runs out', () => {
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
  ])('who decides is told what was seen of it; beside the other: $coexist', ({ coexist, cluster, said }) => {
    const object = blueGreen(all(cluster), { blueGreenConfig: manual() }, coexist);
    const { conditions = [] } = nextStep(object, factsWith(), now).status;
    const { message } = conditions.find(({ type }) => type === 'Progressing') ?? {};
    expect(message).toBe(`${said}; run \`kidp rollout promote\` to switch traffic`);
  });

  test('after the switch it is watched again, and then done', () => {
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

describe('a place among those that are under way', () => {
  const manual = { strategy: 'BlueGreen', blueGreenConfig: { autoSwitch: false } };
  const ready = { ...healthyFor(900), state: 'Validating' };
  const all = (cluster: object) => ({ a: cluster, b: cluster, c: cluster });
  test.each([
    { reason: 'one that is paused has none', spec: { paused: true }, clusters: {}, held: true },
    { reason: 'one that waits for who is to switch has none', spec: manual, clusters: all(ready), held: true },
    {
      reason: 'one that is paused has one while Helm is at work',
      spec: { paused: true },
      clusters: { a: deployingFor(5) },
    },
    { reason: 'and while one cluster goes back', spec: { paused: true }, clusters: { a: { state: 'RollingBack' } } },
    { reason: 'one that goes on has one', spec: {}, clusters: {} },
  ])('$reason', ({ spec, clusters, held = false }) => {
    const { status } = nextStep(rolloutWith({ spec: { maxFailures: 1, ...spec }, clusters }), factsWith(), now);
    expect(status.heldSince).toBe(held ? at(0) : undefined);
  });

  test.each([
    { reason: 'one that was paused asks for one', spec: {}, clusters: {}, actions: ['resume'] },
    { reason: 'not while it is still paused', spec: { paused: true }, clusters: {}, actions: [] },
    { reason: 'nor while another goes back', spec: {}, clusters: {}, facts: { blockedBy: 'other' }, actions: [] },
    {
      reason: 'one that was promoted does',
      spec: { ...manual, promote: 1 },
      clusters: all(ready),
      actions: ['resume'],
    },
    {
      reason: 'meanwhile what is there is looked at',
      spec: {},
      clusters: { a: healthyFor(100, 31) },
      actions: ['resume', 'check a'],
    },
    {
      reason: 'not before its time, if there was none',
      spec: {},
      clusters: {},
      facts: { notBefore: () => now + 5 },
      actions: [],
    },
  ])('before anything new is begun: $reason', ({ spec, clusters, facts = {}, actions }) => {
    const object = rolloutWith({ spec, clusters, status: { heldSince: at(60), progressedAt: at(9_000) } });
    expect(actionsFor(object, factsWith(facts))).toEqual(actions);
    expect(nextStep(object, factsWith(facts), now).status.rollback, 'no time runs out').toBeUndefined();
  });

  test('once it has one it goes on', () => {
    const object = rolloutWith({ status: { heldSince: at(60), progressedAt: at(9_000) } });
    const { status, actions } = nextStep(object, factsWith(), now, (each) => resumed(each, now));
    expect(status.heldSince).toBeUndefined();
    expect(actions).toMatchObject([{ kind: 'install', cluster: 'a' }]);
  });

  test('what goes back needs none', () => {
    const object = rolloutWith({ clusters: { a: unhealthy }, status: { heldSince: at(60) }, spec: { paused: true } });
    const { status } = nextStep(object, factsWith(), now);
    expect(status.phase).toBe('RollingBack');
    expect(status.heldSince).toBeUndefined();
  });
});

describe('what has failed', () => {
  const direct = (clusters: NonNullable<Given['clusters']>, spec: object = {}) =>
    rolloutWith({ spec: { strategy: 'Direct', ...spec }, clusters });
  test.each([
    {
      reason: 'all that were touched go back',
      spec: {},
      states: { a: 'RollingBack', b: 'RollingBack', c: 'RollingBack' },
      phase: 'RollingBack',
    },
    {
      reason: 'as many as may fail go back alone',
      spec: { maxFailures: 1 },
      states: { a: 'RollingBack', b: 'Healthy', c: 'Deploying' },
      phase: 'Deploying',
    },
    {
      reason: 'nothing goes back where that was said',
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

  test('without a way back it ends once nothing is under way', () => {
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

  test('what was begun and not changed yet is back at once', () => {
    const { preparedAt, ...unprepared } = deployingFor(9);
    const { status } = nextStep(direct({ a: unhealthy, b: unprepared }), factsWith(), now);
    expect(statesOf(status)).toMatchObject({ a: 'RollingBack', b: 'RolledBack', c: 'Skipped' });
  });

  test('nothing went forward for too long', () => {
    const object = direct({ a: { ...deployingFor(1_900), message: 'no answer' } });
    const late = { ...object, status: { ...object.status, progressedAt: at(1_801) } as RolloutStatus };
    const { status } = nextStep(late, factsWith({ away: ['a', 'b', 'c'] }), now);
    expect(status.rollback).toMatchObject({ reason: 'ProgressDeadline' });
    expect(status.rollback?.message).toContain('a (no answer)');
  });

  test('a cluster that is well and unwell in turns does not keep it from running out of time', () => {
    const late = { status: { progressedAt: at(1_700) } };
    const flapping = { ...healthyFor(5_000, 100), state: 'Validating', healthySince: at(100), finishedAt: at(4_000) };
    const { status } = nextStep(rolloutWith({ clusters: { a: flapping }, ...late }), factsWith(), now);
    expect(status).toMatchObject({ progressedAt: at(1_700), clusters: [{ state: 'Healthy' }, {}, {}] });
    const { finishedAt, ...first } = flapping;
    expect(nextStep(rolloutWith({ clusters: { a: first }, ...late }), factsWith(), now).status.progressedAt).toBe(
      at(0),
    );
  });

  test('nor does one that comes and goes', () => {
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
    { reason: 'an abort of what is paused', spec: { abort: true, paused: true }, clusters: {}, ends: 'Aborted' },
    {
      reason: 'a failure that is left as it is',
      spec: { rollbackOnFailure: false },
      clusters: illToo,
      ends: 'Unhealthy',
    },
  ])('$reason waits for a cluster that is out of reach, but not for ever', ({ spec, clusters, ends }) => {
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

  test('the time while it was paused does not count', () => {
    const object = direct({ a: { ...deployingFor(1_900) } });
    const conditions = [
      { type: 'Progressing', status: 'False', reason: 'Paused', message: '', lastTransitionTime: at(1) },
    ];
    const late = { ...object, status: { ...object.status, progressedAt: at(1_801), conditions } as RolloutStatus };
    expect(nextStep(late, factsWith(), now).status).toMatchObject({ phase: 'Deploying', progressedAt: at(0) });
  });

  test('a cluster that cannot be reached before anything was changed goes back into the line', () => {
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

describe('the way back', () => {
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

  test('is asked for until it is done, and then looked at', () => {
    expect(actionsFor(back({}))).toEqual(['restore a']);
    expect(actionsFor(back({ retryAt: at(-5) }))).toEqual([]);
    expect(actionsFor(back(restoredOnce))).toEqual(['check a']);
  });

  test.each([
    {
      reason: 'well again',
      cluster: { ...restoredOnce, healthySince: at(5) },
      state: 'RolledBack',
      ends: 'RolledBack',
    },
    {
      reason: 'nothing was there before',
      cluster: { ...restoredOnce, snapshotBefore: undefined },
      state: 'RolledBack',
      ends: 'RolledBack',
    },
    {
      reason: 'not well any more',
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

  test('ends where nothing goes forward, and says whom to look after', () => {
    const { status } = nextStep(back({}, { progressedAt: at(1_801) }), factsWith(), now);
    expect(statesOf(status).a).toBe('Failed');
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.message).toContain(
      'rollback failed on cluster a, repair manually',
    );
  });

  test('comes before an abort, and after the end too', () => {
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
    expect(actionsFor(done({ rollback: true }), factsWith({ installedBy: () => 'a newer one' }))).toEqual([]);
    // Another one was taken back to it, and what is not well since then sets off no second way back; people may.
    const returnedTo = factsWith({ installedBy: () => 'rollout', restoredBy: () => 'a newer one' });
    expect(actionsFor(done({}, degraded), returnedTo)).toEqual([]);
    expect(actionsFor(done({ rollback: true }), returnedTo)).toEqual(['reopen']);
    const [condition] = degraded.conditions;
    const tolerated = { conditions: [{ ...condition, reason: 'WithinMaxFailures' }] };
    expect(actionsFor(done({}, tolerated))).toEqual([]);
  });

  test.each([
    { reason: 'nobody knows what is there', installedBy: undefined, state: 'RollingBack' },
    { reason: 'it has put there what is there', installedBy: 'rollout', state: 'RollingBack' },
    { reason: 'it was cut off before it was in use', installedBy: 'the one before', state: 'RollingBack' },
    { reason: 'another one has come after it', installedBy: 'a newer one', state: 'Skipped' },
  ])('after the end, of a cluster where it was not done: $reason', ({ installedBy, state }) => {
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

describe('times that lie ahead, by the clock of another manager', () => {
  const hour = -3_600;
  const direct = (cluster: object, status: object = {}) =>
    rolloutWith({ spec: { strategy: 'Direct' }, clusters: { a: cluster, b: healthyFor(9), c: healthyFor(9) }, status });

  test.each([
    {
      reason: 'what was deployed then is looked at now, and the look counts',
      cluster: { ...deployingFor(5), state: 'Validating', deployedAt: at(hour) },
    },
    { reason: 'what was seen then is looked at again', cluster: { ...healthyFor(100), lastCheckedAt: at(hour) } },
    { reason: 'and what was well since then', cluster: { ...healthyFor(100, 5), healthySince: at(hour) } },
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

  test('a step is taken again when the longest wait is over, not when that clock says', () => {
    expect(actionsFor(direct({ ...deployingFor(5), retryAt: at(hour) }))).toContain('install a');
    expect(actionsFor(direct({ ...deployingFor(5), retryAt: at(-59) }))).not.toContain('install a');
  });

  test('no deadline moves away, and no pause', () => {
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
      reason: 'of a step that was overtaken',
      object: one({ ...deployingFor(5), attempt: 'u.rollback', state: 'RollingBack' }),
      outcome: (each: Rollout) => deployed(each, 'a', 'u.install', { revision: 2, namespace: 'n' }, now),
    },
    {
      reason: 'of a look that began before the change',
      object: one(validating),
      outcome: (each: Rollout) => checked(each, 'a', 'u.install', look('Healthy', now - 200_000)),
    },
    {
      reason: 'of a look at what is no longer watched',
      object: one(unhealthy),
      outcome: (each: Rollout) => checked(each, 'a', 'u.install', look('Healthy')),
    },
    {
      reason: 'of a second preparation',
      object: one(deployingFor(5)),
      outcome: (each: Rollout) => prepared(each, 'a', 'u.install', { fromVersion: 'v9' }, now),
    },
    {
      reason: 'of a restoration that nobody wanted',
      object: one(validating),
      outcome: (each: Rollout) => restored(each, 'a', 'u.rollback', 3, now),
    },
    {
      reason: 'of a switch that nobody wanted',
      object: one(validating),
      outcome: (each: Rollout) => switched(each, 'a', 'u.switch', now),
    },
    {
      reason: 'of a cluster that is not there',
      object: one(validating),
      outcome: (each: Rollout) => stepFailed(each, 'z', 'u.install', { temporary: true, message: '' }, now, 1),
    },
    {
      reason: 'of what was taken back already',
      object: {
        ...one(validating),
        status: { ...one(validating).status, rollback: { reason: 'Requested', startedAt: at(1) } },
      } as Rollout,
      outcome: (each: Rollout) => reopened(each, factsWith(), { reason: 'Requested', message: '' }, now),
    },
  ])('$reason change nothing', ({ object, outcome }) => {
    expect(outcome(object)).toBe(object.status);
  });

  test('well once is well since then; unwell three times is unhealthy; not known is neither', () => {
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

  test('what is out of reach is tried again, later and later; what is refused has failed', () => {
    const failed = (cluster: object, temporary: boolean) =>
      first(stepFailed(one(cluster), 'a', 'u.install', { temporary, message: 'why' }, now, 1_000));
    expect(failed(deployingFor(5), true)).toMatchObject({ state: 'Deploying', retryAt: at(-1), failuresInRow: 1 });
    expect(failed({ ...deployingFor(5), failuresInRow: 3 }, true)).toMatchObject({ retryAt: at(-8) });
    expect(failed({ ...deployingFor(5), failuresInRow: 30 }, true)).toMatchObject({ retryAt: at(-60) });
    expect(failed(deployingFor(5), false)).toMatchObject({ state: 'Unhealthy', message: 'why' });
  });

  test('on the way back people are called where it is refused again and again', () => {
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
