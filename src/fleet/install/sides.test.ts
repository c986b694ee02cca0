import { beforeEach, expect, test } from 'vitest';
import { type MemoryCluster, memoryCluster } from '../../../test/support/memory-cluster.ts';
import type { Resource, UnknownObject } from '../../runtime/index.ts';
import type { Snapshot } from '../contract.ts';
import { disown } from './ownership.ts';
import { lead, outsideLabel, share, sideOf, supply } from './sides.ts';

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

const objectOf = ({ group, version, kind }: Resource, more: object = {}): UnknownObject => ({
  apiVersion: `${group}/${version}`,
  kind,
  metadata: { name: 'shop' },
  ...more,
});

const snapshotOf = (object: UnknownObject): Snapshot => ({
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
  manifests: [object],
});

let cluster: MemoryCluster;
beforeEach(() => {
  cluster = memoryCluster([roles, bindings, webhooks, classes]);
});

const writes = () => cluster.calls.filter((call) => /^(?:apply|delete|patch|create|update) /.test(call));
const roleRef = (name: string) => ({ roleRef: { kind: 'ClusterRole', name } });

const places = [
  { resource: roles, object: objectOf(roles, { rules: [] }), steps: [share, supply] },
  { resource: bindings, object: objectOf(bindings, roleRef('shop')), steps: [share, supply] },
  { resource: classes, object: objectOf(classes, { value: 1 }), steps: [share, supply] },
  { resource: webhooks, object: objectOf(webhooks, { webhooks: [] }), steps: [lead] },
];

test.each(
  places.flatMap((place) => [
    { ...place, reason: 'nobody’s', metadata: {} },
    { ...place, reason: 'of another Operator', metadata: { labels: { [outsideLabel]: 'bank' } } },
    { ...place, reason: 'of another release', metadata: { annotations: { 'meta.helm.sh/release-name': 'bank' } } },
  ]),
)('a $resource.kind that is $reason stays as it is', async ({ resource, object, steps, metadata }) => {
  const live = cluster.put(resource, { metadata: { name: 'shop', ...metadata }, ...roleRef('other') });
  const side = await sideOf(cluster.client, snapshotOf(object));
  for (const step of steps) {
    await expect(step(cluster.client, side)).rejects.toMatchObject({
      code: 'helm/failed',
      message: `${resource.kind} shop is there already, and not of shop`,
    });
  }
  expect(writes()).toEqual([]);
  expect(cluster.get(resource, { name: 'shop' })).toEqual(live);
});

test.each(
  places.flatMap((place) => [
    { ...place, reason: 'that is not there', metadata: undefined },
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

test('what a release has left behind may be written by a later side', async () => {
  const annotations = {
    'meta.helm.sh/release-name': 'shop-release',
    'meta.helm.sh/release-namespace': 'shop',
    'helm.sh/resource-policy': 'keep',
  };
  cluster.put(classes, { metadata: { name: 'shop', annotations } });
  await disown(
    cluster.client,
    classes,
    { name: 'shop', namespace: 'shop' },
    { name: 'shop-release', namespace: 'shop', operator: 'shop' },
  );
  expect(cluster.get(classes, { name: 'shop' })?.metadata.annotations).toEqual({});
  await supply(cluster.client, await sideOf(cluster.client, snapshotOf(objectOf(classes, { value: 2 }))));
  expect(cluster.get(classes, { name: 'shop' })).toMatchObject({ value: 2 });
});
