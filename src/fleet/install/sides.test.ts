import { beforeEach, describe, expect, test } from 'vitest';
import { type Loose, type MemoryCluster, memoryCluster } from '../../../test/support/memory-cluster.ts';
import type { Resource, UnknownObject } from '../../runtime/index.ts';
import type { Snapshot } from '../contract.ts';
import { releaseOwnership } from './ownership.ts';
import {
  applyNeeds,
  applyRoutes,
  outsideLabel,
  removeSide,
  removeStaleObjects,
  removeStaleRoutes,
  shareNeeds,
  sideOf,
} from './sides.ts';

const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', namespaced: false };
const admission = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false };
const roles: Resource = { ...rbac, plural: 'clusterroles', kind: 'ClusterRole' };
const bindings: Resource = { ...rbac, plural: 'clusterrolebindings', kind: 'ClusterRoleBinding' };
const webhooks: Resource = {
  ...admission,
  plural: 'validatingwebhookconfigurations',
  kind: 'ValidatingWebhookConfiguration',
};
const classes: Resource = {
  group: 'scheduling.k8s.io',
  version: 'v1',
  plural: 'priorityclasses',
  kind: 'PriorityClass',
  namespaced: false,
};

const services: Resource = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  plural: 'apiservices',
  kind: 'APIService',
  namespaced: false,
};
const roleBindings: Resource = { ...rbac, namespaced: true, plural: 'rolebindings', kind: 'RoleBinding' };

const objectOf = ({ group, version, kind }: Resource, more: object = {}): UnknownObject => ({
  apiVersion: `${group}/${version}`,
  kind,
  metadata: { name: 'shop' },
  ...more,
});

const snapshotOf = (...manifests: readonly UnknownObject[]): Snapshot => ({
  name: 'shop-1',
  digest: '',
  operator: 'shop',
  version: '1.0.0',
  chartDigest: '',
  valuesDigest: '',
  environment: 'Dev',
  kubernetesVersion: 'v1.34.0',
  namespace: 'shop-green',
  releaseName: 'shop-release',
  definitions: [],
  manifests,
});

let cluster: MemoryCluster;
beforeEach(() => {
  cluster = memoryCluster([roles, bindings, webhooks, classes, services, roleBindings]);
});

const writes = () => cluster.calls.filter((call) => /^(?:apply|delete|patch|create|update) /.test(call));
const roleRef = (name: string) => ({ roleRef: { kind: 'ClusterRole', name } });

const cases = [
  { resource: roles, object: objectOf(roles, { rules: [] }), steps: [shareNeeds, applyNeeds] },
  { resource: bindings, object: objectOf(bindings, roleRef('shop')), steps: [shareNeeds, applyNeeds] },
  { resource: classes, object: objectOf(classes, { value: 1 }), steps: [shareNeeds, applyNeeds] },
  { resource: webhooks, object: objectOf(webhooks, { webhooks: [] }), steps: [applyRoutes] },
];

test.each(
  cases.flatMap((place) => [
    { ...place, reason: 'nobody’s', metadata: {} },
    { ...place, reason: 'of another Operator', metadata: { labels: { [outsideLabel]: 'bank' } } },
    { ...place, reason: 'of another release', metadata: { annotations: { 'meta.helm.sh/release-name': 'bank' } } },
  ]),
)('a $resource.kind that is $reason is left alone', async ({ resource, object, steps, metadata }) => {
  const live = cluster.put(resource, { metadata: { name: 'shop', ...metadata }, ...roleRef('other') });
  const side = await sideOf(cluster.client, snapshotOf(object));
  for (const step of steps) {
    await expect(step(cluster.client, side)).rejects.toMatchObject({
      code: 'helm/failed',
      message: `${resource.kind} shop already exists and does not belong to shop`,
    });
  }
  expect(writes()).toEqual([]);
  expect(cluster.get(resource, { name: 'shop' })).toEqual(live);
});

test.each(
  cases.flatMap((place) => [
    { ...place, reason: 'that does not exist', metadata: undefined },
    { ...place, reason: 'of this Operator', metadata: { labels: { [outsideLabel]: 'shop' } } },
    { ...place, reason: 'of this release', metadata: { annotations: { 'meta.helm.sh/release-name': 'shop-release' } } },
  ]),
)('a $resource.kind $reason is written', async ({ resource, object, steps, metadata }) => {
  if (metadata !== undefined) cluster.put(resource, { metadata: { name: 'shop', ...metadata }, ...roleRef('other') });
  const side = await sideOf(cluster.client, snapshotOf(object));
  for (const step of steps) await step(cluster.client, side);
  expect(cluster.get(resource, { name: 'shop' })).toMatchObject(object);
  expect(cluster.get(resource, { name: 'shop' })?.metadata.labels).toEqual({ [outsideLabel]: 'shop' });
});

test('objects left by a release can be written by a later side', async () => {
  const annotations = {
    'meta.helm.sh/release-name': 'shop-release',
    'meta.helm.sh/release-namespace': 'shop',
    'helm.sh/resource-policy': 'keep',
  };
  cluster.put(classes, { metadata: { name: 'shop', annotations } });
  await releaseOwnership(
    cluster.client,
    classes,
    { name: 'shop', namespace: 'shop' },
    { name: 'shop-release', namespace: 'shop', operator: 'shop' },
  );
  expect(cluster.get(classes, { name: 'shop' })?.metadata.annotations).toEqual({});
  await applyNeeds(cluster.client, await sideOf(cluster.client, snapshotOf(objectOf(classes, { value: 2 }))));
  expect(cluster.get(classes, { name: 'shop' })).toMatchObject({ value: 2 });
});

describe('objects of only one side', () => {
  const [blue, green] = ['shop-blue', 'shop-green'];
  const at = (namespace: string) => ({ name: 'shop', namespace });
  const webhooksTo = (namespace: string, name = 'shop') => ({
    ...objectOf(webhooks, { webhooks: [{ name: 'a', clientConfig: { service: at(namespace) } }] }),
    metadata: { name },
  });
  const apiTo = (namespace: string) => objectOf(services, { spec: { service: at(namespace) } });
  const bindingOf = (...namespaces: readonly string[]) => {
    const subjects = namespaces.map((namespace) => ({ kind: 'ServiceAccount', name: 'shop', namespace }));
    return objectOf(bindings, { ...roleRef('shop'), subjects });
  };
  const role = (...verbs: readonly string[]) => objectOf(roles, { rules: [{ verbs }] });
  const own = (object: UnknownObject): Loose => ({
    ...object,
    metadata: { name: object.metadata.name, labels: { [outsideLabel]: 'shop' } },
  });
  const sideIn = (namespace: string, ...objects: readonly UnknownObject[]) =>
    sideOf(cluster.client, { ...snapshotOf(...objects), namespace });
  const there = (resource: Resource, name = 'shop') => cluster.get(resource, { name });

  test.each([
    { resource: webhooks, object: webhooksTo(blue) },
    { resource: services, object: apiTo(blue) },
  ])('a $resource.kind that routes to the old side is deleted at the switch', async ({ resource, object }) => {
    cluster.put(resource, own(object));
    cluster.put(classes, own(objectOf(classes)));
    const [from, to] = [await sideIn(blue, object, objectOf(classes)), await sideIn(green)];
    await removeStaleRoutes(cluster.client, from, to);
    expect(there(resource)).toBeUndefined();
    // For an instant rollback.
    expect(there(classes)).toBeDefined();
    await removeStaleObjects(cluster.client, from, to);
    expect(there(classes)).toBeUndefined();
  });

  const ofHelm = (namespace: string) => ({
    'meta.helm.sh/release-name': 'shop-release',
    'meta.helm.sh/release-namespace': namespace,
  });
  test.each([
    { reason: 'of its release', metadata: { annotations: ofHelm(blue) }, goes: true },
    { reason: 'of a release elsewhere', metadata: { annotations: ofHelm('other') }, goes: false },
    { reason: 'of another Operator', metadata: { labels: { [outsideLabel]: 'bank' } }, goes: false },
    { reason: 'nobody’s', metadata: {}, goes: false },
    {
      reason: 'annotated keep',
      metadata: { labels: { [outsideLabel]: 'shop' }, annotations: { 'helm.sh/resource-policy': 'keep' } },
      goes: false,
    },
  ])('an object $reason is deleted: $goes', async ({ metadata, goes }) => {
    cluster.put(webhooks, { ...webhooksTo(blue), metadata: { name: 'shop', ...metadata } });
    await removeStaleRoutes(cluster.client, await sideIn(blue, webhooksTo(blue)), await sideIn(green));
    expect(there(webhooks) === undefined).toBe(goes);
  });

  test('removing a side keeps what the other one needs, even if little shows that', async () => {
    // The other side has its permissions through a RoleBinding in its own namespace.
    const bound = { ...objectOf(roleBindings, roleRef('shop')), metadata: { name: 'shop' } };
    for (const object of [role('get'), objectOf(classes)])
      cluster.put(object.kind === 'ClusterRole' ? roles : classes, own(object));
    cluster.put(webhooks, own(webhooksTo(green, 'new')));
    cluster.put(services, own(apiTo(green)));
    const given = await sideIn(green, role('get'), objectOf(classes), webhooksTo(green, 'new'), apiTo(green));
    await removeSide(cluster.client, given, await sideIn(blue, role('get'), objectOf(classes), bound));
    expect([there(roles), there(classes)]).toEqual([expect.anything(), expect.anything()]);
    expect([there(webhooks, 'new'), there(services)]).toEqual([undefined, undefined]);
  });

  test('shared objects lose the permissions of the removed side and route to the other', async () => {
    cluster.put(bindings, own(bindingOf(blue, green)));
    cluster.put(roles, own(objectOf(roles, { rules: [{ verbs: ['get'] }, { verbs: ['delete'] }] })));
    cluster.put(webhooks, own(webhooksTo(green)));
    cluster.put(services, own(apiTo(green)));
    const given = await sideIn(green, bindingOf(green), role('delete'), webhooksTo(green), apiTo(green));
    const stays = await sideIn(blue, bindingOf(blue), role('get'), webhooksTo(blue), apiTo(blue));
    await removeSide(cluster.client, given, stays);
    expect(there(bindings)).toMatchObject({ subjects: [{ namespace: blue }] });
    expect(there(roles)).toMatchObject({ rules: [{ verbs: ['get'] }] });
    expect(there(webhooks)).toMatchObject({ webhooks: [{ clientConfig: { service: { namespace: blue } } }] });
    expect(there(services)).toMatchObject({ spec: { service: { namespace: blue } } });
    const asked = writes().length;
    await removeSide(cluster.client, given, stays);
    expect(writes()).toHaveLength(asked);
  });

  test('without a remaining side everything is deleted', async () => {
    const objects = [bindingOf(green), role('get'), webhooksTo(green), apiTo(green)];
    for (const [index, resource] of [bindings, roles, webhooks, services].entries())
      cluster.put(resource, own(objects[index] as UnknownObject));
    await removeSide(cluster.client, await sideIn(green, ...objects), undefined);
    expect([bindings, roles, webhooks, services].map((each) => there(each))).toEqual(objects.map(() => undefined));
  });
});
