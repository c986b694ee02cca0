import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ABANDON_CLEANUP_ANNOTATION,
  CLEANUP_FINALIZER,
  deploymentTarget,
  RETRY_ANNOTATION,
  TAKE_OVER_ANNOTATION,
} from '../../src/api/index.ts';
import { connectionName } from '../../src/reconcile/bindings/connection.ts';
import type { Deployable } from '../../src/reconcile/index.ts';
import type { Resource, UnknownObject } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { namespaces, type Platform, startPlatform } from '../admission/support/platform.ts';
import { untilQuotaRefuses } from '../support/quota.ts';
import {
  addBroker,
  addTarget,
  allKinds,
  deployable,
  kindOf,
  type Objects,
  objectsIn,
  obliging,
  patient,
  type Running,
  StageBroker,
  startReconcilers,
  unavailable,
} from './support/stage.ts';

const namespace = 'team-deploy';
const secrets: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
let platform: Platform;
let broker: StageBroker;
let running: Running;
let objects: Objects;

beforeAll(async () => {
  platform = await startPlatform();
  const { client } = platform;
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  await addBroker(client, 'here');
  await addTarget(client, 'target', 'here');
  objects = objectsIn(client, namespace);
  broker = new StageBroker('here');
  await start();
});
afterAll(async () => {
  await running?.stop();
  await platform?.stop();
});

const start = async (options: Parameters<typeof startReconcilers>[2] = {}) => {
  running = await startReconcilers(platform.client, broker, {
    decrypt: async (jwe) => {
      if (jwe !== 'a.b.c.d.e') throw new Error('no key opens it');
      return { username: 'ada', password: 'secret' };
    },
    ...options,
  });
};
const create = (kind: string, name: string, more: object = {}) =>
  platform.client.create(kindOf(kind).resource, deployable(kind, name, namespace, more));
const change = (kind: string, name: string, spec: object) =>
  platform.client.patch(kindOf(kind).resource, { namespace, name }, { type: 'merge', body: { spec } });
const remove = (kind: string, name: string) => platform.client.delete(kindOf(kind).resource, { namespace, name });
const isReady = ({ status, metadata }: Deployable) =>
  status?.phase === 'ready' && status.deployedGeneration === metadata.generation;
const phase = (wanted: string) => (object: Deployable) => object.status?.phase === wanted;
const conditionOf = (object: Deployable, type: string) => object.status?.conditions?.find((each) => each.type === type);

test.each(allKinds)('%s: created, deployed, changed, deleted', async (kind) => {
  const name = `life-${kind.toLowerCase()}`;
  broker.answers = obliging;
  await create(kind, name);
  const ready = await objects.until(kind, name, isReady);
  expect(ready.metadata.finalizers).toContain(CLEANUP_FINALIZER);
  expect(ready.status).toMatchObject({
    deploymentId: `${ready.metadata.uid}/1/1`,
    outputs: { host: `${name}.example.com` },
    targetRef: { name: 'target', broker: 'here' },
    dispatchedGeneration: 1,
    observedGeneration: 1,
    outbox: [],
  });
  expect(conditionOf(ready, 'Ready')).toMatchObject({ status: 'True', reason: 'ResourceReady' });
  for (const type of ['Admitted', 'OwnerResolved', 'TargetResolved', 'Deployed', 'StatusReported']) {
    expect(conditionOf(ready, type), type).toMatchObject({ status: 'True' });
  }
  await change(kind, name, { costTags: { a: 'b' } });
  const changed = await objects.until(kind, name, (object) => isReady(object) && object.metadata.generation === 2);
  expect(changed.status?.deploymentId).toBe(`${ready.metadata.uid}/2/1`);
  await remove(kind, name);
  await objects.gone(kind, name);
  const actions = broker.of(name).map(({ data }) => data.action);
  expect(actions).toEqual(['Deploy', 'Deploy', 'Delete']);
  expect(broker.of(name).at(-1)?.data.deploymentId).toBe(`${ready.metadata.uid}/3/1`);
  const object = `${kindOf(kind).plural}/${namespace}/${name}`;
  // The report follows a moment after the work is done.
  await eventually(() => {
    const lines = running.audit.filter((line) => line.object === object && line.result === 'applied');
    expect(lines.map((line) => line.phase)).toEqual(expect.arrayContaining(['ready', 'deleted']));
    expect(lines.find((line) => line.phase === 'ready')).toMatchObject({ broker: 'here', after: 'ready' });
  }, patient);
  await eventually(
    () =>
      running.events.some(({ regarding, reason }) => regarding.metadata.name === name && reason === 'ResourceReady'),
    patient,
  );
});

test('a removed finalizer is restored at the next reconcile, without another change and without another deployment', async () => {
  broker.answers = obliging;
  await create('Database', 'stripped');
  const { metadata } = await objects.until('Database', 'stripped', isReady);
  const { resource } = kindOf('Database');
  const key = { namespace, name: 'stripped' };
  const body = { metadata: { finalizers: null } };
  const stripped = await platform.client.patch(resource, key, { type: 'merge', body });
  expect(stripped.metadata.finalizers).toBeUndefined();
  const restored = await objects.until(
    'Database',
    'stripped',
    (object) => object.metadata.finalizers?.includes(CLEANUP_FINALIZER) === true,
  );
  expect(restored.metadata.generation).toBe(metadata.generation);
  expect(broker.of('stripped')).toHaveLength(1);
  await remove('Database', 'stripped');
  await objects.gone('Database', 'stripped');
  expect(broker.of('stripped').map(({ data }) => data.action)).toEqual(['Deploy', 'Delete']);
});

test('many at once are all dispatched once and all ready', async () => {
  broker.answers = obliging;
  const names = Array.from({ length: 30 }, (_, index) => `many-${index}`);
  await Promise.all(names.map((name) => create('Cache', name)));
  for (const name of names) await objects.until('Cache', name, isReady);
  for (const name of names) expect(broker.of(name).map(({ data }) => data.action)).toEqual(['Deploy']);
  await Promise.all(names.map((name) => remove('Cache', name)));
  for (const name of names) await objects.gone('Cache', name);
});

describe('what keeps something from being deployed is a condition that says what to do', () => {
  test.each([
    {
      reason: 'a target that is not there',
      kind: 'Cache',
      spec: { targetRef: { name: 'nowhere' } },
      wanted: 'TargetMissing',
    },
    { reason: 'a Service without an image', kind: 'Service', spec: { image: undefined }, wanted: 'NoImage' },
    {
      reason: 'an owner that is not there',
      kind: 'Topic',
      spec: { owner: { kind: 'Team', name: 'nobody' } },
      wanted: 'OwnerMissing',
    },
  ])('$reason', async ({ kind, spec, wanted }) => {
    const name = `held-${wanted.toLowerCase()}`;
    await create(kind, name, spec);
    const held = await objects.until(kind, name, phase('pending'));
    expect(conditionOf(held, 'Ready')).toMatchObject({ status: 'False', reason: wanted });
    expect(broker.of(name)).toEqual([]);
    await remove(kind, name);
    await objects.gone(kind, name);
  });

  test('a target without a broker, until it has one; a paused broker; a capability that is missing', async () => {
    const { client } = platform;
    broker.answers = obliging;
    await addTarget(client, 'bare');
    await create('Cache', 'waits', { targetRef: { name: 'bare' } });
    const reason = (wanted: string) => (object: Deployable) => conditionOf(object, 'TargetResolved')?.reason === wanted;
    await objects.until('Cache', 'waits', reason('NoBroker'));
    await addTarget(client, 'bare', 'elsewhere');
    await objects.until('Cache', 'waits', reason('BrokerMissing'));
    await addBroker(client, 'elsewhere', { capabilities: ['Database'] });
    await objects.until('Cache', 'waits', reason('CapabilityMissing'));
    await addBroker(client, 'elsewhere', { capabilities: ['Cache/redis'], paused: true });
    await objects.until('Cache', 'waits', reason('BrokerPaused'));
    expect(broker.of('waits')).toEqual([]);
    await addBroker(client, 'elsewhere', { capabilities: ['Cache/redis'] });
    await objects.until('Cache', 'waits', phase('deploying'));
    expect((await broker.newestOf(await objects.get('Cache', 'waits'))).data.broker).toBe('elsewhere');
  });
});

test('a message that is not acknowledged stays in the outbox, over a restart too, and is then one deployment', async () => {
  broker.answers = obliging;
  broker.down = unavailable();
  await create('Database', 'outbox');
  const waiting = await objects.until('Database', 'outbox', ({ status }) => (status?.outbox?.[0]?.attempts ?? 0) > 1);
  expect(conditionOf(waiting, 'StatusReported')).toMatchObject({ status: 'False', reason: 'PendingWebhookRetry' });
  expect(conditionOf(waiting, 'StatusReported')?.message).toContain('ECONNREFUSED');
  await running.stop();
  broker.down = undefined;
  await start();
  const ready = await objects.until('Database', 'outbox', isReady);
  expect(ready.status?.deploymentId).toBe(waiting.status?.deploymentId);
  expect(broker.of('outbox')).toHaveLength(1);
});

describe('errors', () => {
  const failing = (kind: 'transient' | 'permanent' | 'quota') => [
    { phase: 'failed' as const, error: { class: kind, code: 'Broken', message: 'it broke' } },
  ];

  test('a transient one is retried automatically', async () => {
    broker.answers = (event) => (event.data.deploymentId.endsWith('/3') ? obliging(event) : failing('transient'));
    await create('Database', 'shaky');
    const ready = await objects.until('Database', 'shaky', isReady);
    expect(ready.status?.deploymentId).toBe(`${ready.metadata.uid}/1/3`);
  });

  test.each([
    { kind: 'permanent' as const, reason: 'PermanentError' },
    { kind: 'quota' as const, reason: 'QuotaExceeded' },
  ])('a $kind one waits for somebody, and a deliberate retry is a new attempt', async ({ kind, reason }) => {
    const name = `fails-${kind}`;
    broker.answers = () => failing(kind);
    await create('Topic', name);
    const failed = await objects.until('Topic', name, phase('failed'));
    expect(conditionOf(failed, 'Ready')).toMatchObject({ status: 'False', reason });
    expect(conditionOf(failed, 'Ready')?.message).toContain('Broken: it broke');
    broker.answers = obliging;
    await objects.annotate('Topic', name, { [RETRY_ANNOTATION]: '1' });
    const ready = await objects.until('Topic', name, isReady);
    expect(ready.status?.deploymentId).toBe(`${ready.metadata.uid}/1/2`);
    const { values } = await metricOf('kidp_deployment_failures_total');
    expect(values).toContainEqual(expect.objectContaining({ labels: { type: 'Topic', broker: 'here', reason: kind } }));
  });
});

const metricOf = async (name: string) => {
  const found = running.registry.getSingleMetric(name);
  if (found === undefined) throw new Error(`there is no metric ${name}`);
  return found.get();
};

test('drift is repaired by a new attempt; reports that are late, repeated or somebody else’s change nothing', async () => {
  broker.answers = obliging;
  await create('Database', 'drifts');
  const first = await objects.until('Database', 'drifts', isReady);
  const request = await broker.newestOf(first);
  expect(await broker.report(request, { phase: 'drifted' })).toMatchObject({ result: 'applied' });
  const repaired = await objects.until(
    'Database',
    'drifts',
    (object) => isReady(object) && object.status?.attempt === 2,
  );
  expect(await broker.report(request, { phase: 'failed' })).toMatchObject({ result: 'stale' });
  expect(await broker.report(request, { phase: 'deleted' })).toMatchObject({ result: 'stale' });
  const newest = await broker.newestOf(repaired);
  const { sequence } = repaired.status?.lastReport ?? {};
  expect(await broker.report(newest, { phase: 'failed', sequence: sequence ?? 0 })).toMatchObject({
    result: 'duplicate',
  });
  expect(await broker.report(newest, { phase: 'failed', sequence: 0 })).toMatchObject({ result: 'stale' });
  expect(await broker.report(newest, { phase: 'failed' }, 'elsewhere')).toMatchObject({ code: 'wrong-broker' });
  const never = { ...newest, data: { ...newest.data, deploymentId: `${repaired.metadata.uid}/1/9` } };
  expect(await broker.report(never, { phase: 'ready' })).toMatchObject({ code: 'unknown-deployment' });
  const another = { ...newest.data, resource: { ...newest.data.resource, uid: 'other' }, deploymentId: 'other/1/1' };
  expect(await broker.report({ ...newest, data: another }, { phase: 'ready' })).toMatchObject({
    code: 'unknown-object',
  });
  const after = await objects.get('Database', 'drifts');
  expect(after.metadata.resourceVersion).toBe(repaired.metadata.resourceVersion);
});

test('without an answer in time it is unknown, the broker is asked, and its answer counts', async () => {
  await running.stop();
  await start({ settings: { answerMilliseconds: 300, retryMilliseconds: 50, receiptMilliseconds: 100 } });
  broker.answers = ({ data }) => (data.action === 'Query' ? [] : [{ phase: 'accepted' }]);
  await create('Cache', 'silent');
  const unknown = await objects.until('Cache', 'silent', phase('unknown'));
  expect(conditionOf(unknown, 'Ready')).toMatchObject({ status: 'Unknown', reason: 'NoAnswer' });
  await eventually(() => broker.of('silent').some(({ data }) => data.action === 'Query'), patient);
  broker.answers = obliging;
  const ready = await objects.until('Cache', 'silent', isReady);
  expect(ready.status?.attempt).toBe(1);
  await running.stop();
  await start();
});

test('credentials become a Kubernetes Secret of the object, and nobody else’s is touched', async () => {
  const { client } = platform;
  const credentials = { revision: 'r1', jwe: 'a.b.c.d.e' };
  broker.answers = (event) => (event.data.action === 'Delete' ? obliging(event) : [{ phase: 'ready', credentials }]);
  await create('Database', 'secretive');
  const ready = await objects.until('Database', 'secretive', isReady);
  expect(ready.status?.connectionSecret).toEqual({ name: 'secretive-connection', revision: 'r1' });
  const secret = await client.get<UnknownObject>(secrets, { namespace, name: 'secretive-connection' });
  expect(secret.data).toEqual({ username: 'YWRh', password: 'c2VjcmV0' });
  expect(secret.metadata.ownerReferences).toMatchObject([{ uid: ready.metadata.uid }]);
  await client.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'mine', namespace },
    stringData: { a: 'b' },
  } as UnknownObject);
  broker.answers = () => [];
  await create('Database', 'greedy', { connectionSecret: { name: 'mine' } });
  const waiting = await objects.until('Database', 'greedy', phase('deploying'));
  const refusal = await broker.report(await broker.newestOf(waiting), { phase: 'ready', credentials });
  expect(refusal).toMatchObject({ result: 'refused', code: 'invalid' });
  expect((await client.get<UnknownObject>(secrets, { namespace, name: 'mine' })).data).toEqual({ a: 'Yg==' });
  expect(running.events.some(({ reason }) => reason === 'ConnectionSecretTaken')).toBe(true);
  const failed = await objects.until('Database', 'greedy', phase('failed'));
  expect(conditionOf(failed, 'Ready')).toMatchObject({ status: 'False', reason: 'PermanentError' });
  expect(conditionOf(failed, 'Ready')?.message).toContain(`Secret ${namespace}/mine exists and is not managed by kidp`);
  // Once the name is free, somebody has it tried again.
  await client.delete(secrets, { namespace, name: 'mine' });
  broker.answers = (event) => (event.data.action === 'Delete' ? obliging(event) : [{ phase: 'ready', credentials }]);
  await objects.annotate('Database', 'greedy', { [RETRY_ANNOTATION]: '1' });
  await objects.until('Database', 'greedy', isReady);
});

test('a connection Secret that the quota of the namespace keeps out is surfaced to the user', async () => {
  const { client } = platform;
  const full = 'team-full';
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: full } });
  const quotas: Resource = { ...secrets, plural: 'resourcequotas', kind: 'ResourceQuota' };
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none', namespace: full } };
  await client.create(quotas, { ...quota, spec: { hard: { secrets: '0' } } } as UnknownObject);
  // Nobody counts here.
  const counted = { status: { hard: { secrets: '0' }, used: { secrets: '0' } } };
  const patch = { type: 'merge', body: counted } as const;
  await client.patch(quotas, { namespace: full, name: 'none' }, patch, { subresource: 'status' });
  const metadata = { name: 'probe', namespace: full };
  await untilQuotaRefuses(client, secrets, { apiVersion: 'v1', kind: 'Secret', metadata });
  const credentials = { revision: 'r1', jwe: 'a.b.c.d.e' };
  broker.answers = () => [{ phase: 'ready', credentials }];
  await client.create(kindOf('Cache').resource, deployable('Cache', 'crowded', full));
  const failed = await objectsIn(client, full).until('Cache', 'crowded', phase('failed'));
  expect(failed.status?.lastReport?.error).toMatchObject({ class: 'quota', code: 'connection-secret' });
  expect(conditionOf(failed, 'Ready')).toMatchObject({ status: 'False', reason: 'QuotaExceeded' });
  expect(conditionOf(failed, 'Ready')?.message).toContain('raise the quota');
});

test('what is bound is handed over, and something else that is bound is a new attempt', async () => {
  const { client } = platform;
  broker.answers = obliging;
  await create('Service', 'binds', { dependencies: { cacheSelector: { matchLabels: { a: 'b' } } } });
  const waits = await objects.until('Service', 'binds', phase('pending'));
  expect(conditionOf(waits, 'Ready')).toMatchObject({ reason: 'DependenciesPending' });
  const secret = connectionName(
    { kind: 'Service', metadata: { namespace, name: 'binds' } },
    { kind: 'Cache', metadata: { namespace, name: 'c' } },
  );
  const bind = (revision: string) =>
    client.apply(
      kindOf('Service').resource,
      {
        apiVersion: 'platform.company.com/v1',
        kind: 'Service',
        metadata: { name: 'binds', namespace },
        status: {
          bindings: [{ kind: 'Cache', namespace, name: 'c', connectionSecret: secret, revision }],
          conditions: [
            {
              type: 'DependenciesBound',
              status: 'True',
              reason: 'Bound',
              message: '',
              observedGeneration: 1,
              lastTransitionTime: '2026-01-01T00:00:00Z',
            },
          ],
        },
      } as UnknownObject,
      { subresource: 'status', fieldManager: 'kidp-bindings', force: true },
    );
  await bind('1');
  const ready = await objects.until('Service', 'binds', isReady);
  expect((await broker.newestOf(ready)).data.bindings).toEqual([
    { kind: 'Cache', namespace, name: 'c', secret: { namespace, name: secret, revision: '1' } },
  ]);
  await bind('2');
  const again = await objects.until('Service', 'binds', (object) => isReady(object) && object.status?.attempt === 2);
  expect(again.status?.bindings).toMatchObject([{ revision: '2' }]);
  expect(conditionOf(again, 'DependenciesBound')).toMatchObject({ status: 'True' });
});

test('the broker that has it keeps it when the target names another, until that one takes over', async () => {
  const { client } = platform;
  broker.answers = obliging;
  await addBroker(client, 'old');
  await addBroker(client, 'new');
  await addTarget(client, 'moves', 'old');
  const old = new StageBroker('old');
  await create('Cache', 'stays', { targetRef: { name: 'moves' } });
  const first = await objects.until('Cache', 'stays', phase('deploying'));
  old.sink = running.sink;
  await old.report(await broker.newestOf(first), { phase: 'ready', sequence: 1_000_000 });
  await addTarget(client, 'moves', 'new');
  const reported = await objects.until(
    'Cache',
    'stays',
    (object) => conditionOf(object, 'TargetResolved')?.reason === 'BrokerChanged',
  );
  expect(reported.status).toMatchObject({ phase: 'ready', targetRef: { broker: 'old' } });
  await client.patch(
    deploymentTarget.resource,
    { name: 'moves' },
    { type: 'merge', body: { metadata: { annotations: { [TAKE_OVER_ANNOTATION]: 'old' } } } },
  );
  const taken = await objects.until('Cache', 'stays', (object) => object.status?.targetRef?.broker === 'new');
  expect(taken.status).toMatchObject({ attempt: 2, targetRef: { formerBrokers: ['old'] } });
  await remove('Cache', 'stays');
  // The new broker must know the former one, or it would find nothing and report it as deleted.
  await eventually(async () => {
    const { action, broker: to, formerBrokers } = (await broker.newestOf(taken)).data;
    expect({ action, to, formerBrokers }).toEqual({ action: 'Delete', to: 'new', formerBrokers: ['old'] });
  }, patient);
});

test('a deletion that is not confirmed keeps the object, and goes on when somebody answers for it', async () => {
  broker.answers = obliging;
  await create('Database', 'stuck');
  const ready = await objects.until('Database', 'stuck', isReady);
  broker.answers = () => [{ phase: 'failed', error: { class: 'permanent', code: 'Locked', message: 'it is locked' } }];
  await remove('Database', 'stuck');
  const stuck = await objects.until('Database', 'stuck', phase('failed'));
  expect(conditionOf(stuck, 'Ready')).toMatchObject({ reason: 'DeletionPermanentError' });
  expect(await broker.report(await broker.newestOf(ready), { phase: 'deleted' })).toMatchObject({ result: 'applied' });
  await objects.gone('Database', 'stuck');
  broker.answers = obliging;
  await create('Database', 'abandoned');
  await objects.until('Database', 'abandoned', isReady);
  broker.answers = () => [];
  await remove('Database', 'abandoned');
  const left = await objects.until('Database', 'abandoned', ({ status }) => status?.requested === 'Delete');
  await objects.annotate('Database', 'abandoned', { [ABANDON_CLEANUP_ANNOTATION]: 'something else' });
  expect((await objects.get('Database', 'abandoned')).metadata.finalizers).toContain(CLEANUP_FINALIZER);
  await objects.annotate('Database', 'abandoned', { [ABANDON_CLEANUP_ANNOTATION]: left.metadata.uid ?? '' });
  await objects.gone('Database', 'abandoned');
  await eventually(() => running.events.some(({ reason }) => reason === 'CleanupAbandoned'), patient);
  await eventually(
    () => running.audit.some(({ message }) => String(message).includes('without cleanup confirmation')),
    patient,
  );
});

test('objects are counted by kind and phase', async () => {
  const { values } = await metricOf('kidp_resource_count');
  const ready = values.find(({ labels }) => labels.type === 'Database' && labels.status === 'ready');
  expect(ready?.value).toBeGreaterThan(0);
});
