/** What admission would deny is never dispatched, however it got in; and who may abandon a cleanup, asked of the webhook itself. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Admission,
  type LivePolicySource,
  type StoredGate,
  startAdmission,
  startPolicySource,
  storedGate,
} from '../../src/admission/index.ts';
import { ABANDON_CLEANUP_ANNOTATION, RETRY_ANNOTATION } from '../../src/api/index.ts';
import type { Deployable } from '../../src/reconcile/index.ts';
import type { Resource, UnknownObject } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import {
  applyPolicy,
  deletePolicy,
  type Platform,
  platformNamespace,
  policy,
  startPlatform,
} from '../admission/support/platform.ts';
import {
  addBroker,
  addTarget,
  deployable,
  kindOf,
  objectsIn,
  obliging,
  patient,
  type Running,
  StageBroker,
  startReconcilers,
} from './support/stage.ts';

const namespace = 'team-backend';
let platform: Platform;
let source: LivePolicySource;
let gate: StoredGate;
let admission: Admission | undefined;
let broker: StageBroker;
let running: Running;

beforeAll(async () => {
  platform = await startPlatform();
  const { client } = platform;
  await addBroker(client, 'here');
  await addTarget(client, 'target', 'here');
  source = startPolicySource({ client, platformNamespace, exceptionNamespaces: [] });
  gate = storedGate(source);
  broker = new StageBroker('here');
  broker.answers = obliging;
  running = await startReconcilers(client, broker, {
    gate: (kind, object) => gate.ask(kind, object),
    gateChanges: (listener) => gate.subscribe(listener),
  });
});
afterAll(async () => {
  await running?.stop();
  await admission?.stop();
  gate?.stop();
  await source?.stop();
  await platform?.stop();
});

const resource = kindOf('Database').resource;
const create = (name: string, spec: object = {}) =>
  platform.client.create(resource, deployable('Database', name, namespace, spec));
const change = (name: string, spec: object) =>
  platform.client.patch(resource, { namespace, name }, { type: 'merge', body: { spec } });
const conditionOf = (object: Deployable, type: string) => object.status?.conditions?.find((each) => each.type === type);
const is = (type: string, status: string) => (object: Deployable) => conditionOf(object, type)?.status === status;

test('an object that got in around the webhook is never dispatched while a policy would deny it', async () => {
  const { client } = platform;
  const objects = objectsIn(client, namespace);
  await applyPolicy(
    client,
    policy('backups', ['Database'], 'has(object.spec.backup)', { rule: { message: 'no backup' } }),
  );
  await eventually(() => source.current().set.policies.length === 1, patient);
  await create('around');
  const held = await objects.until('Database', 'around', is('Admitted', 'False'));
  expect(conditionOf(held, 'Admitted')?.message).toContain('no backup');
  expect(held.status).toMatchObject({ phase: 'failed' });
  await objects.annotate('Database', 'around', { [RETRY_ANNOTATION]: '1' });
  await create('proper', { backup: { enabled: true } });
  await objects.until('Database', 'proper', is('Ready', 'True'));
  expect(broker.of('around')).toEqual([]);
  await change('around', { backup: { enabled: true } });
  await objects.until('Database', 'around', is('Ready', 'True'));
  expect(broker.of('around')).toHaveLength(1);
});

test('what was ready before a policy came is kept and repaired, and its next generation is not deployed', async () => {
  const { client } = platform;
  const objects = objectsIn(client, namespace);
  await create('elder', { backup: { enabled: true } });
  const ready = await objects.until('Database', 'elder', is('Ready', 'True'));
  await applyPolicy(client, policy('sizes', ['Database'], 'has(object.spec.size)'));
  const denied = await objects.until('Database', 'elder', is('Admitted', 'False'));
  expect(denied.status?.phase).toBe('ready');
  await broker.report(await broker.newestOf(ready), { phase: 'drifted' });
  const repaired = await objects.until(
    'Database',
    'elder',
    ({ status }) => status?.attempt === 2 && status.phase === 'ready',
  );
  expect(repaired.status?.deploymentId).toBe(`${ready.metadata.uid}/1/2`);
  await change('elder', { costTags: { a: 'b' } });
  await objects.until('Database', 'elder', ({ status }) => status?.observedGeneration === 2);
  expect(broker.of('elder').map(({ data }) => data.deploymentId.split('/').slice(1).join('/'))).toEqual(['1/1', '1/2']);
  await deletePolicy(client, 'sizes');
  await objects.until('Database', 'elder', ({ status }) => status?.deployedGeneration === 2);
  await applyPolicy(client, policy('sizes', ['Database'], 'has(object.spec.size)'));
  await objects.until('Database', 'elder', is('Admitted', 'False'));
  await client.delete(resource, { namespace, name: 'elder' });
  await objects.gone('Database', 'elder');
  await deletePolicy(client, 'sizes');
});

test('only who holds the verb abandons a cleanup', async () => {
  const { client } = platform;
  const objects = objectsIn(client, namespace);
  const rbac = (kind: string, plural: string): Resource => ({
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    kind,
    plural,
    namespaced: true,
  });
  const grant = async (user: string, verbs: readonly string[]) => {
    const apiVersion = 'rbac.authorization.k8s.io/v1';
    const metadata = { name: user, namespace };
    const rules = [{ apiGroups: ['platform.company.com'], resources: ['databases'], verbs }];
    await client.create(rbac('Role', 'roles'), { apiVersion, kind: 'Role', metadata, rules } as UnknownObject);
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user };
    const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }];
    const binding = { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects };
    await client.create(rbac('RoleBinding', 'rolebindings'), binding as UnknownObject);
  };
  await grant('ada', ['get', 'patch']);
  await grant('grace', ['get', 'patch', 'abandon-cleanup']);
  admission = await startAdmission({ client, policies: source, owners: source.owners, mapping: () => source.mapping });
  await create('kept', { backup: { enabled: true } });
  const { metadata } = await objects.until('Database', 'kept', is('Ready', 'True'));
  const abandon = (user: string, value: string) =>
    client
      .impersonate({ user })
      .patch(
        resource,
        { namespace, name: 'kept' },
        { type: 'merge', body: { metadata: { annotations: { [ABANDON_CLEANUP_ANNOTATION]: value } } } },
      );
  broker.answers = () => [];
  await client.delete(resource, { namespace, name: 'kept' });
  await eventually(
    () =>
      expect(abandon('ada', metadata.uid ?? ''))
        .rejects.toThrow(/does not hold the verb abandon-cleanup/)
        .then(() => true),
    patient,
  );
  // Her rights were granted after his.
  await eventually(() => expect(abandon('grace', 'yes')).rejects.toThrow(/must be the metadata.uid/), patient);
  expect((await objects.get('Database', 'kept')).metadata.annotations?.[ABANDON_CLEANUP_ANNOTATION]).toBeUndefined();
  await eventually(() => abandon('grace', metadata.uid ?? '').then(() => true), patient);
  await objects.gone('Database', 'kept');
});
