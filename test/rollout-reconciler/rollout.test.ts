/**
 * Each strategy, completed and rolled back, on a real API server: the writes, their order, and the state after the
 * manager ends.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OperatorDeployment, ROLLOUT_FINALIZER } from '../../src/api/index.ts';
import { leases } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type Platform, startPlatform } from '../admission/support/platform.ts';
import { Objects, Played, patient, type Running, reasonOf, startRollouts, states } from './support/testbed.ts';

let platform: Platform;
let objects: Objects;
let running: Running;
const played = new Played();
const versions = ['v1.0.0', 'v2.0.0', 'v3.0.0'];
const three = ['dev-1', 'staging-1', 'prod-1'];

beforeAll(async () => {
  platform = await startPlatform();
  objects = new Objects(platform.client);
  await objects.cluster('dev-1', 'Dev', { ring: 'all' });
  await objects.cluster('staging-1', 'Staging', { ring: 'all' });
  await objects.cluster('prod-1', 'Production', { ring: 'all' });
  await objects.cluster('away-1');
  await objects.ready('away-1', false);
  running = startRollouts(platform.client, played);
});
afterAll(async () => {
  await running?.stop();
  await platform?.stop();
});

/** A separate operator for each test on the three clusters, with the first version installed. */
async function installed(name: string, spec: object = {}): Promise<void> {
  await objects.operator(name, versions, { releaseName: name, ...spec });
  await objects.rollout(`${name}-1`, { operator: name, clusters: three });
  await objects.ends(`${name}-1`, 'Completed');
}

const versionOn = (cluster: string, name: string, namespace = 'operators') =>
  played.cluster(cluster).release(namespace, name)?.version;
const everywhere = (name: string, namespace?: string) => three.map((cluster) => versionOn(cluster, name, namespace));

const quickCanary = {
  strategy: 'Canary',
  canaryConfig: { initialPercentage: 10, incrementPercentage: 40, evaluationPeriod: 'PT0.5S', successThreshold: 0.95 },
};

describe('canary', () => {
  test('rolls out from Dev to Production, validates each stage and records the installations', async () => {
    await objects.operator('canary', versions, { releaseName: 'canary' });
    await objects.rollout('canary-1', {
      operator: 'canary',
      clusterSelector: { matchLabels: { ring: 'all' } },
      ...quickCanary,
    });
    const { status, metadata } = await objects.ends('canary-1', 'Completed');
    expect(status?.plan?.stages.map((stage) => stage.clusters)).toEqual([['dev-1'], ['staging-1'], ['prod-1']]);
    expect(status?.counts).toEqual({ total: 3, healthy: 3, failed: 0, skipped: 0, rolledBack: 0 });
    expect(everywhere('canary')).toEqual(['v1.0.0', 'v1.0.0', 'v1.0.0']);
    const begun = (status?.history ?? [])
      .filter(({ what }) => what === 'ClusterDeploying')
      .map(({ cluster }) => cluster);
    expect(begun).toEqual(three);
    expect(await objects.installation('canary', 'prod-1')).toMatchObject({ version: 'v1.0.0', deployment: 'canary-1' });
    await eventually(() => running.events.some(({ reason }) => reason === 'Completed'), patient);
    await objects.until('canary-1', ({ metadata: { finalizers = [] } }) => !finalizers.includes(ROLLOUT_FINALIZER));
    const held = async () => {
      const { items } = await platform.client.list(leases, { namespace: 'kidp-system' });
      return items.filter(({ spec }) => JSON.stringify(spec).includes(metadata.uid ?? '')).length === 0;
    };
    await eventually(held, patient);
    const counted = 'kidp_operators_deployed_total{operator="canary",strategy="Canary"} 1';
    await eventually(async () => expect(await running.registry.metrics()).toContain(counted), patient);
    const root = status?.traceparent ?? 'none';
    const ofItself = () => running.spans.filter(({ traceparent }) => traceparent === root);
    await eventually(() => ofItself().length > 0, patient);
    expect(ofItself()).toEqual([{ name: 'operator.deploy', traceparent: root }]);
    const below = running.spans.filter(({ parent }) => parent === root).map(({ name }) => name);
    expect(new Set(below)).toEqual(new Set(['operator.validate', 'cluster.connect']));
  });

  test('rolls back both stages if the second is unhealthy, and never changes the third', async () => {
    await installed('second');
    played.cluster('staging-1').ill.add('v2.0.0');
    await objects.rollout('second-2', { operator: 'second', version: 'v2.0.0', clusters: three, ...quickCanary });
    const failed = await objects.ends('second-2', 'Failed');
    played.cluster('staging-1').ill.delete('v2.0.0');
    expect(failed.status?.rollback).toMatchObject({ reason: 'Unhealthy' });
    expect(failed.status?.rollback?.finishedAt).toBeDefined();
    expect(states(failed)).toEqual({ 'dev-1': 'RolledBack', 'staging-1': 'RolledBack', 'prod-1': 'Skipped' });
    expect(everywhere('second')).toEqual(['v1.0.0', 'v1.0.0', 'v1.0.0']);
    expect(reasonOf(failed.status)).toBe('RolledBack');
    expect(await objects.installation('second', 'dev-1')).toMatchObject({ version: 'v1.0.0', deployment: 'second-1' });
  });
});

describe('blue-green', () => {
  const blueGreen = {
    strategy: 'BlueGreen',
    version: 'v2.0.0',
    clusters: three,
    blueGreenConfig: {
      validationPeriod: 'PT0.3S',
      monitorPeriod: 'PT0.3S',
      retentionPeriod: 'PT0.5S',
      autoSwitch: false,
    },
  };

  test('waits for a promotion, switches all, keeps the old side and removes it after its period', async () => {
    await installed('sides', { coexist: true });
    await objects.rollout('sides-2', { operator: 'sides', ...blueGreen });
    await objects.reason('sides-2', 'AwaitingPromotion');
    expect(everywhere('sides', 'operators-green')).toEqual(['v2.0.0', 'v2.0.0', 'v2.0.0']);
    expect(three.map((name) => played.cluster(name).ledger.includes('switch to v2.0.0'))).toEqual([
      false,
      false,
      false,
    ]);
    expect(await objects.installation('sides', 'dev-1')).toMatchObject({ version: 'v1.0.0' });
    await objects.edit('sides-2', { promote: 1 });
    await objects.ends('sides-2', 'Completed');
    expect(three.map((name) => played.cluster(name).active)).toEqual(three.map(() => 'operators-green'));
    expect(await objects.installation('sides', 'dev-1')).toMatchObject({
      version: 'v2.0.0',
      namespace: 'operators-green',
      color: 'Green',
      previous: { version: 'v1.0.0', namespace: 'operators' },
    });
    await eventually(() => everywhere('sides').every((version) => version === undefined), patient);
  });

  test('switches back to the kept side without installing it again', async () => {
    await installed('instant');
    const config = { ...blueGreen.blueGreenConfig, autoSwitch: true, retentionPeriod: 'PT24H' };
    await objects.rollout('instant-2', { operator: 'instant', ...blueGreen, blueGreenConfig: config });
    await objects.ends('instant-2', 'Completed');
    await objects.edit('instant-2', { rollback: true });
    const back = await objects.ends('instant-2', 'Failed');
    expect(back.status?.rollback?.reason).toBe('Requested');
    expect(three.map((name) => played.cluster(name).active)).toEqual(three.map(() => 'operators'));
    expect(everywhere('instant')).toEqual(['v1.0.0', 'v1.0.0', 'v1.0.0']);
    expect(everywhere('instant', 'operators-green')).toEqual([undefined, undefined, undefined]);
    expect(await objects.installation('instant', 'dev-1')).toMatchObject({ version: 'v1.0.0', namespace: 'operators' });
  });
});

describe('the old side of a blue-green deployment', () => {
  const config = { validationPeriod: 'PT0.2S', monitorPeriod: 'PT0.2S' };
  const direct = { version: 'v3.0.0', clusters: ['dev-1'] };
  const there = (name: string) => versionOn('dev-1', name);
  /** `name` is v2.0.0 in the green namespace, and v1.0.0 is kept where it was. */
  const switched = async (name: string) => {
    await installed(name);
    const spec = { version: 'v2.0.0', clusters: ['dev-1'], strategy: 'BlueGreen' };
    await objects.rollout(`${name}-2`, { operator: name, ...spec, blueGreenConfig: config });
    await objects.ends(`${name}-2`, 'Completed');
  };

  test('is removed after its period, whatever was rolled out since', async () => {
    await switched('outlived');
    await objects.rollout('outlived-3', { operator: 'outlived', ...direct });
    await objects.ends('outlived-3', 'Completed');
    expect(there('outlived')).toBe('v1.0.0');
    await objects.timeIsOver('outlived', 'dev-1');
    await eventually(() => there('outlived') === undefined, patient);
    const left = await objects.installation('outlived', 'dev-1');
    expect(left).toMatchObject({ version: 'v3.0.0', namespace: 'operators-green' });
    await eventually(async () => (await objects.installation('outlived', 'dev-1'))?.kept === undefined, patient);
    expect(versionOn('dev-1', 'outlived', 'operators-green')).toBe('v3.0.0');
  });

  test('stays recorded after the rollback of a later rollout', async () => {
    await switched('returned');
    played.cluster('dev-1').ill.add('v3.0.0');
    await objects.rollout('returned-3', { operator: 'returned', ...direct });
    await objects.ends('returned-3', 'Failed');
    played.cluster('dev-1').ill.clear();
    expect(await objects.installation('returned', 'dev-1')).toMatchObject({
      version: 'v2.0.0',
      restoredBy: 'returned-3',
      kept: [{ version: 'v1.0.0', namespace: 'operators', keptUntil: expect.any(String) }],
    });
    await objects.edit('returned-2', { rollback: true });
    await objects.ends('returned-2', 'Failed');
    const { kept } = (await objects.installation('returned', 'dev-1')) ?? {};
    expect([there('returned'), kept]).toEqual(['v1.0.0', undefined]);
  });
});

describe('rolling', () => {
  const rolling = {
    strategy: 'Rolling',
    version: 'v2.0.0',
    rollingConfig: { clusterOrder: ['staging-1'], validationPeriod: 'PT0.2S', pauseBetweenClusters: 'PT0.2S' },
  };

  test('follows clusterOrder and does not wait for an unavailable cluster', async () => {
    await installed('rolling');
    const clusters = ['away-1', 'staging-1', 'prod-1'];
    await objects.rollout('rolling-2', { operator: 'rolling', ...rolling, clusters });
    const done = await objects.ends('rolling-2', 'Completed');
    expect(done.status?.plan?.stages.map((stage) => stage.clusters)).toEqual([['staging-1'], ['away-1'], ['prod-1']]);
    expect(states(done)).toEqual({ 'away-1': 'Skipped', 'staging-1': 'Healthy', 'prod-1': 'Healthy' });
    expect(versionOn('away-1', 'rolling')).toBeUndefined();
  });

  test('pauses, resumes, and leaves everything unchanged after an abort', async () => {
    await installed('paused');
    const held = new Set(['staging-1', 'prod-1']);
    played.after = async (cluster, version) => {
      if (version === 'v2.0.0') await eventually(() => !held.has(cluster), patient);
    };
    await objects.rollout('paused-2', { operator: 'paused', ...rolling, clusters: three });
    await objects.until('paused-2', (rollout) => states(rollout)['staging-1'] === 'Deploying');
    await objects.edit('paused-2', { paused: true });
    held.delete('staging-1');
    const isPaused = (rollout: OperatorDeployment) => reasonOf(rollout.status) === 'Paused';
    await objects.until('paused-2', (rollout) => states(rollout)['staging-1'] === 'Healthy' && isPaused(rollout));
    expect(versionOn('dev-1', 'paused')).toBe('v1.0.0');
    await objects.edit('paused-2', { paused: false });
    await objects.until('paused-2', (rollout) => states(rollout)['prod-1'] === 'Deploying');
    await objects.edit('paused-2', { abort: true });
    held.clear();
    const ended = await objects.ends('paused-2', 'Failed');
    played.after = async () => {};
    expect(ended.status?.rollback).toBeUndefined();
    expect(reasonOf(ended.status)).toBe('Aborted');
    expect(['staging-1', 'dev-1'].map((name) => versionOn(name, 'paused'))).toEqual(['v2.0.0', 'v2.0.0']);
  });
});

describe('direct', () => {
  test('rolls back only the failed cluster within maxFailures, and all clusters beyond it', async () => {
    await installed('direct');
    played.cluster('prod-1').refused.add('v2.0.0');
    const direct = { operator: 'direct', version: 'v2.0.0', clusters: three };
    await objects.rollout('direct-2', { ...direct, maxFailures: 1 });
    const done = await objects.ends('direct-2', 'Completed');
    expect(states(done)).toEqual({ 'dev-1': 'Healthy', 'staging-1': 'Healthy', 'prod-1': 'RolledBack' });
    played.cluster('prod-1').refused.add('v3.0.0');
    await objects.rollout('direct-3', { ...direct, version: 'v3.0.0' });
    const failed = await objects.ends('direct-3', 'Failed');
    played.cluster('prod-1').refused.clear();
    expect(failed.status?.rollback?.reason).toBe('DeployFailed');
    expect(everywhere('direct')).toEqual(['v2.0.0', 'v2.0.0', 'v1.0.0']);
  });

  test('ignores changes and the deletion of the Operator during a rollout', async () => {
    await installed('profile');
    played.cluster('staging-1').ill.add('v2.0.0');
    let isHeld = true;
    played.after = async (cluster, version) => {
      if (cluster === 'staging-1' && version === 'v2.0.0') await eventually(() => !isHeld, patient);
    };
    await objects.rollout('profile-2', { operator: 'profile', version: 'v2.0.0', clusters: three });
    await objects.until('profile-2', (rollout) => states(rollout)['staging-1'] === 'Deploying');
    await objects.editOperator('profile', { health: { pods: { enabled: false } } });
    await objects.removeOperator('profile');
    isHeld = false;
    const failed = await objects.ends('profile-2', 'Failed');
    played.after = async () => {};
    played.cluster('staging-1').ill.clear();
    expect(failed.status?.rollback).toMatchObject({
      reason: 'Unhealthy',
      message: 'cluster staging-1: v2.0.0 crashes',
    });
    expect(states(failed)).toEqual({ 'dev-1': 'RolledBack', 'staging-1': 'RolledBack', 'prod-1': 'RolledBack' });
    expect(everywhere('profile')).toEqual(['v1.0.0', 'v1.0.0', 'v1.0.0']);
  });

  test('rolls back a completed rollout that becomes unhealthy', async () => {
    await installed('later');
    await objects.rollout('later-2', { operator: 'later', version: 'v2.0.0', clusters: three });
    await objects.ends('later-2', 'Completed');
    await objects.degraded('later-2');
    const back = await objects.ends('later-2', 'Failed');
    expect(back.status?.rollback).toMatchObject({ reason: 'RevalidationFailed', message: 'dev-1: it crashes' });
    expect(everywhere('later')).toEqual(['v1.0.0', 'v1.0.0', 'v1.0.0']);
  });

  test('rolls back a rollout in progress before its deletion', async () => {
    await installed('deleted');
    let isHeld = true;
    played.after = async (cluster, version) => {
      if (cluster === 'prod-1' && version === 'v2.0.0') await eventually(() => !isHeld, patient);
    };
    await objects.rollout('deleted-2', { operator: 'deleted', version: 'v2.0.0', clusters: three });
    await objects.until('deleted-2', (rollout) => states(rollout)['dev-1'] === 'Healthy');
    await objects.delete('deleted-2');
    isHeld = false;
    await objects.gone('deleted-2');
    played.after = async () => {};
    expect(everywhere('deleted')).toEqual(['v1.0.0', 'v1.0.0', 'v1.0.0']);
  });

  test('does not wait for a deployed, paused Cluster, and rolls it back with the others', async () => {
    await installed('maintained');
    played.cluster('staging-1').ill.add('v2.0.0');
    const health = { interval: 'PT0.2S', failureThreshold: 100, minimumSoak: 'PT0S' };
    await objects.rollout('maintained-2', { operator: 'maintained', version: 'v2.0.0', clusters: three, health });
    await objects.until('maintained-2', (rollout) => {
      const { 'staging-1': staging, ...others } = states(rollout);
      return staging === 'Validating' && Object.values(others).every((state) => state === 'Healthy');
    });
    await objects.clusterPatch('staging-1', { paused: true });
    const done = await objects.ends('maintained-2', 'Completed');
    expect(states(done)).toEqual({ 'dev-1': 'Healthy', 'staging-1': 'Validating', 'prod-1': 'Healthy' });
    await objects.clusterPatch('staging-1', { paused: null });
    played.cluster('staging-1').ill.clear();
    await objects.edit('maintained-2', { rollback: true });
    await objects.ends('maintained-2', 'Failed');
    expect(everywhere('maintained')).toEqual(['v1.0.0', 'v1.0.0', 'v1.0.0']);
  });

  test('skips a Cluster that is removed during the rollout', async () => {
    await objects.cluster('short-lived');
    await objects.operator('removal', versions, { releaseName: 'removal' });
    let isHeld = true;
    played.before = async (cluster) => {
      if (cluster === 'short-lived') await eventually(() => !isHeld, patient);
    };
    await objects.rollout('removal-1', { operator: 'removal', clusters: ['dev-1', 'short-lived'] });
    await objects.until('removal-1', (rollout) => states(rollout)['dev-1'] === 'Healthy');
    await objects.removeCluster('short-lived');
    isHeld = false;
    const done = await objects.ends('removal-1', 'Completed');
    played.before = async () => {};
    expect(states(done)).toEqual({ 'dev-1': 'Healthy', 'short-lived': 'Skipped' });
  });
});

describe('a restarted manager', () => {
  test.each([
    { reason: 'before Helm has changed anything', when: 'before' },
    { reason: 'after Helm has finished, before the status is written', when: 'after' },
  ] as const)('$reason: the next one continues, and nothing is installed twice', async ({ when }) => {
    const name = `restart-${when}`;
    await installed(name);
    let isHeld = true;
    let reached = false;
    played[when] = async (cluster, version) => {
      if (cluster !== 'dev-1' || version !== 'v2.0.0') return;
      reached = true;
      await eventually(() => !isHeld, patient);
    };
    const ledger = played.cluster('dev-1').ledger.length;
    await objects.rollout(`${name}-2`, { operator: name, version: 'v2.0.0', clusters: three });
    await eventually(() => reached, patient);
    const stopped = running.stop();
    // The aborted step never completes.
    isHeld = false;
    await stopped;
    played[when] = async () => {};
    running = startRollouts(platform.client, played);
    const done = await objects.ends(`${name}-2`, 'Completed');
    expect(states(done)).toEqual({ 'dev-1': 'Healthy', 'staging-1': 'Healthy', 'prod-1': 'Healthy' });
    expect(done.status?.clusters?.every(({ checksPassed = 0 }) => checksPassed > 0)).toBe(true);
    expect(played.cluster('dev-1').ledger.slice(ledger)).toEqual(['install v2.0.0']);
    expect(done.status?.clusters?.[0]?.fromVersion).toBe('v1.0.0');
  });
});
