/** Conditions by server-side apply: each manager owns its own, and what is the same already is not written. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  applyConditions,
  type Client,
  type Condition,
  connect,
  isConflict,
  type KubernetesObject,
  loadKubeconfig,
  type UnknownObject,
} from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';

interface Widget extends KubernetesObject {
  status?: { conditions?: Condition[] };
}

const cluster = sharedCluster();
const group = `${uniqueName('conditions')}.kidp.test`;
const widgets = { group, version: 'v1', plural: 'widgets', kind: 'Widget', namespaced: true };
const definitions = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
let client: Client;
let namespace: string;

beforeAll(async () => {
  client = connect(loadKubeconfig({ file: cluster.kubeconfig }));
  namespace = await cluster.uniqueNamespace('conditions');
  const text = { type: 'string' };
  const condition = {
    type: 'object',
    required: ['type', 'status'],
    properties: {
      type: text,
      status: text,
      reason: text,
      message: text,
      lastTransitionTime: text,
      observedGeneration: { type: 'integer' },
    },
  };
  const conditions = {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
    items: condition,
  };
  const status = { type: 'object', properties: { conditions } };
  const definition: UnknownObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { status } } },
        },
      ],
    },
  };
  await client.create(definitions, definition);
  await eventually(async () => (await client.list(widgets, { namespace })).items.length === 0);
});
afterAll(async () => {
  await client.delete(definitions, { name: `widgets.${group}` });
  await client.close();
});

function create(name: string): Promise<Widget> {
  return client.create<Widget>(widgets, { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name, namespace } });
}

test('two managers keep a condition each, and a transition time moves only with the status', async () => {
  const widget = await create('shared');
  const long = new Date('2026-01-01T00:00:00Z');
  const ready = { type: 'Ready', status: 'False', reason: 'Pending' } as const;
  const admitted = { type: 'Admitted', status: 'True', reason: 'Passed' } as const;
  const first = await applyConditions(client, widgets, widget, [ready], { fieldManager: 'one', now: long });
  const second = await applyConditions(client, widgets, first.object, [admitted], { fieldManager: 'two', now: long });
  expect(second.object.status?.conditions?.map(({ type }) => type).sort()).toEqual(['Admitted', 'Ready']);

  const again = await applyConditions(client, widgets, second.object, [ready], { fieldManager: 'one' });
  expect(again.changed).toBe(false);
  expect(again.object).toBe(second.object);

  const reworded = { ...ready, message: 'still waiting' };
  const third = await applyConditions(client, widgets, second.object, [reworded], { fieldManager: 'one' });
  const timeOf = (object: Widget) =>
    object.status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
  expect(timeOf(third.object)).toBe('2026-01-01T00:00:00Z');
  const turned = { ...ready, status: 'True' } as const;
  const fourth = await applyConditions(client, widgets, third.object, [turned], { fieldManager: 'one' });
  expect(timeOf(fourth.object)).not.toBe('2026-01-01T00:00:00Z');
  expect(fourth.object.status?.conditions).toHaveLength(2);
});

test('the status of an object that is gone is not put on its successor', async () => {
  const gone = await create('reborn');
  await client.delete(widgets, { namespace, name: 'reborn' });
  await create('reborn');
  const ready = { type: 'Ready', status: 'True', reason: 'ResourceReady' } as const;
  await expect(applyConditions(client, widgets, gone, [ready], { fieldManager: 'one' })).rejects.toSatisfy(isConflict);
  expect((await client.get<Widget>(widgets, { namespace, name: 'reborn' })).status).toBeUndefined();
});

for (const from of ['the server', 'a cache']) {
  test(`a condition that is no longer desired is removed though the others stay, of an object from ${from}`, async () => {
    const widget = await create(`fewer-${from.replaceAll(' ', '-')}`);
    const a = { type: 'A', status: 'True', reason: 'Set' } as const;
    const b = { type: 'B', status: 'True', reason: 'Set' } as const;
    const others = { type: 'Others', status: 'True', reason: 'Set' } as const;
    const read = (object: Widget): Widget => {
      if (from === 'the server') return object;
      const { managedFields: _stripped, ...metadata } = object.metadata;
      return { ...object, metadata };
    };
    const typesOf = (object: Widget) => object.status?.conditions?.map(({ type }) => type).sort();
    const both = await applyConditions(client, widgets, read(widget), [a, b], { fieldManager: 'one' });
    const all = await applyConditions(client, widgets, read(both.object), [others], { fieldManager: 'two' });
    expect(typesOf(all.object)).toEqual(['A', 'B', 'Others']);

    const fewer = await applyConditions(client, widgets, read(all.object), [a], { fieldManager: 'one' });
    expect(fewer.changed).toBe(true);
    expect(typesOf(fewer.object)).toEqual(['A', 'Others']);

    const again = await applyConditions(client, widgets, read(fewer.object), [a], { fieldManager: 'one' });
    expect(again.changed).toBe(false);
    expect(again.object.metadata.resourceVersion).toBe(fewer.object.metadata.resourceVersion);

    const none = await applyConditions(client, widgets, read(again.object), [], { fieldManager: 'one' });
    expect(typesOf(none.object)).toEqual(['Others']);
  });
}
