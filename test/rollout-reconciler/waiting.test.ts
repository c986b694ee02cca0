/** What a rollout waits for before it starts (a plan, Approvals, a slot), and the retention of finished rollouts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FleetError } from '../../src/fleet/index.ts';
import { defaultRolloutSettings } from '../../src/reconcile/index.ts';
import { isNotFound, type UnknownObject } from '../../src/runtime/index.ts';
import { leases } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type Platform, startPlatform } from '../admission/support/platform.ts';
import { Objects, Played, patient, type Running, reasonOf, startRollouts, states } from './support/testbed.ts';

let platform: Platform;
let objects: Objects;
let running: Running;
const played = new Played();
const versions = ['v1.0.0', 'v2.0.0', 'v3.0.0'];

beforeAll(async () => {
  platform = await startPlatform();
  objects = new Objects(platform.client);
  for (const name of ['dev-1', 'dev-2', 'dev-3']) await objects.cluster(name);
  await objects.cluster('prod-1', 'Production');
  const settings = { ...defaultRolloutSettings, maxConcurrent: 2 };
  running = startRollouts(platform.client, played, { settings, tidyMilliseconds: 500 });
});
afterAll(async () => {
  await running?.stop();
  await platform?.stop();
});

const versionOn = (cluster: string, name: string) => played.cluster(cluster).release('operators', name)?.version;
const own = (name: string, spec: object = {}) => objects.operator(name, versions, { releaseName: name, ...spec });

describe('planning', () => {
  test.each([
    { reason: 'OperatorNotFound', spec: { operator: 'nobody' }, says: 'Operator nobody not found' },
    { reason: 'VersionNotFound', spec: { version: 'v9.0.0' }, says: 'has no version v9.0.0' },
    { reason: 'ClusterNotFound', spec: { clusters: ['nowhere'] }, says: 'Cluster not found: nowhere' },
    {
      reason: 'NoClustersSelected',
      spec: { clusters: ['dev-1'], environments: ['Staging'] },
      says: 'no Cluster is selected',
    },
    { reason: 'ChartRenderFailed', spec: { version: 'v3.0.0' }, says: 'chart/does-not-render' },
    { reason: 'ValuesInvalid', spec: { valuesSecret: 'none' }, says: 'Secret none with values' },
  ])('reports the problem and changes nothing: $reason', async ({ reason, spec, says }) => {
    const name = `plan-${reason.toLowerCase()}`;
    await own(name);
    played.unrendered.add('v3.0.0');
    await objects.rollout(name, { operator: name, clusters: ['dev-1'], ...spec });
    const blocked = await objects.reason(name, reason);
    played.unrendered.clear();
    expect(blocked.status).toMatchObject({ phase: 'Planning' });
    expect(blocked.status?.plan).toBeUndefined();
    expect(blocked.status?.conditions?.find(({ type }) => type === 'Planned')?.message).toContain(says);
    expect(versionOn('dev-1', name)).toBeUndefined();
    await objects.delete(name);
    await objects.gone(name);
  });

  test('continues as soon as the problem is fixed', async () => {
    await objects.rollout('late-1', { operator: 'late', clusters: ['dev-1'] });
    await objects.reason('late-1', 'OperatorNotFound');
    await own('late');
    await objects.ends('late-1', 'Completed');
    expect(versionOn('dev-1', 'late')).toBe('v1.0.0');
  });

  test('values of a Secret take precedence and are not in the status', async () => {
    await own('valued');
    const encoded = (text: string) => Buffer.from(text).toString('base64');
    await platform.client.create({ group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true }, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: 'valued',
        namespace: 'kidp-system',
        labels: { 'platform.company.com/values-for': 'valued' },
      },
      data: { 'values.yaml': encoded('token: hidden-in-all'), 'Dev.yaml': encoded('token: hidden-in-dev') },
    } as UnknownObject);
    await objects.rollout('valued-1', {
      operator: 'valued',
      clusters: ['dev-1'],
      values: { token: 'open', size: 1 },
      environmentValues: { Dev: { size: 2 } },
      valuesSecret: 'valued',
    });
    const done = await objects.ends('valued-1', 'Completed');
    const [values] = played.cluster('dev-1').release('operators', 'valued')?.manifests ?? [];
    expect(values?.data).toEqual({ token: 'hidden-in-dev', size: 2 });
    expect(JSON.stringify(done)).not.toContain('hidden-in');
  });
});

describe('Approvals', () => {
  const named = (uid: string | undefined, what: string) => `rollout-${uid}-${what}-production`;

  test('starts in Production only after the approval', async () => {
    await own('agreed');
    const { metadata } = await objects.rollout('agreed-1', { operator: 'agreed', clusters: ['dev-1', 'prod-1'] });
    const name = named(metadata.uid, 'deployment');
    const waiting = await objects.approval(name);
    await objects.reason('agreed-1', 'AwaitingApproval');
    const { status } = await objects.get('agreed-1');
    expect(waiting.spec).toMatchObject({
      type: 'ProductionDeployment',
      environment: 'Production',
      requester: 'ada',
      levels: [{ role: 'EnvironmentOwner', approvals: 1 }],
      subject: { kind: 'OperatorDeployment', name: 'agreed-1', uid: metadata.uid, digest: status?.plan?.digest },
    });
    expect(versionOn('dev-1', 'agreed')).toBeUndefined();
    await objects.decide(name, 'Approve', ['EnvironmentOwner']);
    await objects.ends('agreed-1', 'Completed');
    expect(versionOn('prod-1', 'agreed')).toBe('v1.0.0');
    const upgrade = await objects.rollout('agreed-2', { operator: 'agreed', version: 'v2.0.0', clusters: ['prod-1'] });
    await objects.decide(named(upgrade.metadata.uid, 'version-upgrade'), 'Approve');
    await objects.decide(named(upgrade.metadata.uid, 'deployment'), 'Reject', ['EnvironmentOwner']);
    const refused = await objects.ends('agreed-2', 'Failed');
    expect(reasonOf(refused.status)).toBe('ApprovalRejected');
    expect(versionOn('prod-1', 'agreed')).toBe('v1.0.0');
  });

  test('breaking CRD changes need an Admin in Production, and allowBreaking elsewhere', async () => {
    await own('breaking');
    played.definitions = (version) => [definition(version === 'v1.0.0' ? 'string' : 'integer')];
    await objects.rollout('breaking-1', { operator: 'breaking', clusters: ['dev-1', 'dev-2'] });
    await objects.ends('breaking-1', 'Completed');
    played.cluster('prod-1').definitions.set('tools.example.com', definition('string'));
    const both = { operator: 'breaking', version: 'v2.0.0', clusters: ['dev-1', 'prod-1'], allowBreaking: true };
    const { metadata } = await objects.rollout('breaking-2', both);
    const asked = await objects.approval(named(metadata.uid, 'breaking-crd-change'));
    expect(asked.spec.reason).toContain('tools.example.com');
    const { status } = await objects.until('breaking-2', (rollout) => rollout.status?.plan !== undefined);
    expect(status?.plan?.definitions).toMatchObject([
      { name: 'tools.example.com', verdict: 'breaking', environments: ['Dev', 'Production'] },
    ]);
    await objects.edit('breaking-2', { abort: true });
    await objects.ends('breaking-2', 'Failed');
    const dev = { operator: 'breaking', version: 'v2.0.0', clusters: ['dev-1'] };
    await objects.rollout('breaking-3', dev);
    const unmeant = await objects.reason('breaking-3', 'BreakingCRDChange');
    expect([unmeant.status?.phase, versionOn('dev-1', 'breaking')]).toEqual(['Planning', 'v1.0.0']);
    await objects.edit('breaking-3', { abort: true });
    await objects.ends('breaking-3', 'Failed');
    await objects.rollout('breaking-4', { ...dev, allowBreaking: true });
    await objects.ends('breaking-4', 'Completed');
    played.definitions = () => [];
  });
});

describe('slots and Leases', () => {
  test('allows one rollout per operator and cluster', async () => {
    await own('turns');
    let isHeld = true;
    played.after = async (_, version) => {
      if (version === 'v1.0.0') await eventually(() => !isHeld, patient);
    };
    await objects.rollout('turns-1', { operator: 'turns', clusters: ['dev-1', 'dev-2'] });
    await objects.until('turns-1', ({ status }) => status?.startedAt !== undefined);
    await objects.rollout('turns-2', { operator: 'turns', version: 'v2.0.0', clusters: ['dev-2', 'dev-3'] });
    await objects.reason('turns-2', 'Waiting');
    expect((await objects.get('turns-2')).status?.startedAt).toBeUndefined();
    isHeld = false;
    await objects.ends('turns-1', 'Completed');
    await objects.ends('turns-2', 'Completed');
    played.after = async () => {};
    expect(['dev-1', 'dev-2', 'dev-3'].map((name) => versionOn(name, 'turns'))).toEqual(['v1.0.0', 'v2.0.0', 'v2.0.0']);
    const second = (await objects.get('turns-2')).status?.clusters?.find(({ name }) => name === 'dev-2');
    expect(second?.fromVersion).toBe('v1.0.0');
  });

  test('limits the number of concurrent rollouts', async () => {
    let isHeld = true;
    played.after = async () => void (await eventually(() => !isHeld, patient));
    for (const name of ['crowd-1', 'crowd-2', 'crowd-3']) {
      await own(name);
      await objects.rollout(name, { operator: name, clusters: ['dev-1'] });
    }
    const all = ['crowd-1', 'crowd-2', 'crowd-3'];
    const begun = async () => {
      const found = await Promise.all(all.map((name) => objects.get(name)));
      return found.filter(({ status }) => status?.startedAt !== undefined && status.finishedAt === undefined).length;
    };
    await eventually(async () => (await begun()) === 2, patient);
    await Promise.all(all.map((name) => objects.until(name, ({ status }) => status?.plan !== undefined)));
    expect(await begun()).toBe(2);
    isHeld = false;
    for (const name of all) await objects.ends(name, 'Completed');
    played.after = async () => {};
  });

  test('a rollback holds other rollouts of the operator', async () => {
    await own('held');
    await objects.rollout('held-1', { operator: 'held', clusters: ['dev-1', 'dev-2', 'dev-3'] });
    await objects.ends('held-1', 'Completed');
    let isHeld = true;
    played.cluster('dev-1').ill.add('v2.0.0');
    played.before = async (cluster, version) => {
      if (cluster === 'dev-1' && version === 'v1.0.0') await eventually(() => !isHeld, patient);
    };
    await objects.rollout('held-2', { operator: 'held', version: 'v2.0.0', clusters: ['dev-1'] });
    await objects.until('held-2', ({ status }) => status?.phase === 'RollingBack');
    await objects.rollout('held-3', { operator: 'held', version: 'v2.0.0', clusters: ['dev-2'] });
    await objects.reason('held-3', 'BlockedByRollback');
    expect((await objects.get('held-3')).status?.startedAt).toBeUndefined();
    isHeld = false;
    await objects.ends('held-2', 'Failed');
    await objects.ends('held-3', 'Completed');
    played.before = async () => {};
    played.cluster('dev-1').ill.clear();
    expect(['dev-1', 'dev-2'].map((name) => versionOn(name, 'held'))).toEqual(['v1.0.0', 'v2.0.0']);
  });

  test('a rollout to an unresponsive cluster ends at the progress deadline', async () => {
    await own('stuck');
    await objects.rollout('stuck-1', { operator: 'stuck', clusters: ['dev-1', 'dev-2'] });
    await objects.ends('stuck-1', 'Completed');
    played.before = async (cluster, version) => {
      if (cluster !== 'dev-2' || version !== 'v2.0.0') return;
      throw new FleetError('cluster/unreachable', 'no answer', { temporary: true });
    };
    const spec = { operator: 'stuck', version: 'v2.0.0', clusters: ['dev-1', 'dev-2'], progressDeadline: 'PT6S' };
    await objects.rollout('stuck-2', spec);
    const failed = await objects.ends('stuck-2', 'Failed');
    played.before = async () => {};
    expect(failed.status?.rollback).toMatchObject({ reason: 'ProgressDeadline' });
    expect(states(failed)).toEqual({ 'dev-1': 'RolledBack', 'dev-2': 'RolledBack' });
    expect(['dev-1', 'dev-2'].map((name) => versionOn(name, 'stuck'))).toEqual(['v1.0.0', 'v1.0.0']);
  });
});

test('keeps finished rollouts up to the history limit, and those whose version is installed', async () => {
  await own('kept', { historyLimit: 1 });
  for (const [name, version] of [
    ['kept-1', 'v1.0.0'],
    ['kept-2', 'v2.0.0'],
    ['kept-3', 'v3.0.0'],
  ] as const) {
    const clusters = name === 'kept-1' ? ['dev-1', 'dev-2'] : ['dev-1'];
    await objects.rollout(name, { operator: 'kept', version, clusters });
    await objects.ends(name, 'Completed');
  }
  await objects.gone('kept-2');
  const { status } = await objects.get('kept-1');
  const names = (status?.clusters ?? []).map(({ snapshot }) => snapshot ?? '');
  await eventually(() => names.every((name) => played.retained.at(-1)?.has(name) === true), patient);
  const left = async () => {
    const { items } = await platform.client.list(leases, { namespace: 'kidp-system' });
    return items.every(({ spec }) => !JSON.stringify(spec).includes('kept-'));
  };
  await eventually(left, patient);
  await objects.get('kept-3').catch((error: unknown) => expect(isNotFound(error)).toBe(false));
});

const definition = (type: string): UnknownObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'tools.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'tools', kind: 'Tool', singular: 'tool', listKind: 'ToolList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { size: { type } } } },
          },
        },
      },
    ],
  },
});
