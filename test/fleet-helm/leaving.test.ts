/** A release that was being removed when whoever did it was killed: some of it is gone, and Helm still knows it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { openInstaller } from '../../src/fleet/index.ts';
import { systemClock, type UnknownObject } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { uniqueName } from '../support/cluster.ts';
import type { OperatorChart } from '../support/operator-charts.ts';
import { byHand, installByHand } from './support/by-hand.ts';
import { applying, type HelmPlane, openHelmPlane, resources, widgetsOf } from './support/setup.ts';

let plane: HelmPlane;
beforeAll(async () => {
  plane = await openHelmPlane('helm-leaving');
});
afterAll(() => plane?.stop());

const nodes = { group: '', version: 'v1', plural: 'nodes', kind: 'Node', namespaced: false } as const;
const nodeHas = (label: string, value: 'true' | null) =>
  plane.client.patch(nodes, { name: 'node-0' }, { type: 'merge', body: { metadata: { labels: { [label]: value } } } });

/** Before it is removed it waits for a node with a label of its name. */
const waitingHook = (name: string): string =>
  stringify({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: `${name}-last`,
      annotations: { 'helm.sh/hook': 'pre-delete', 'helm.sh/hook-delete-policy': 'before-hook-creation' },
    },
    spec: {
      template: {
        spec: {
          restartPolicy: 'Never',
          nodeSelector: { [name]: 'true' },
          containers: [{ name: 'last', image: 'example.com/last:1' }],
        },
      },
    },
  });

const statusesThere = async (name: string) =>
  (await plane.client.list(resources.secrets, { namespace: name, labelSelector: `owner=helm,name=${name}` })).items.map(
    ({ metadata }) => `${metadata.labels?.version} ${metadata.labels?.status}`,
  );

/** Installed as a user has it, removed as a user does, and cut off when half of it was gone. */
async function leave(chart: OperatorChart): Promise<void> {
  const { name } = chart;
  const withHook = { ...chart, files: { 'templates/last.yaml': waitingHook(name) } };
  await installByHand(plane.program, withHook, name);
  const cutOff = new AbortController();
  const removed = byHand(plane.program, ['uninstall', name, '--namespace', name], cutOff.signal);
  removed.catch(() => {});
  await eventually(async () => (await statusesThere(name)).includes('1 uninstalling'));
  cutOff.abort();
  await expect(removed).rejects.toThrow();
  await plane.client.delete(resources.deployments, { namespace: name, name });
  await nodeHas(name, 'true');
}

/** Whoever may still be at it has had the time for it. */
const later = { ...systemClock, now: () => Date.now() + 120_000 };

test('it counts as absent, and is installed again on request', async () => {
  const name = uniqueName('leaving');
  await leave({ name, version: '1.0.0' });
  expect(await plane.installer.current(plane.connection, { name, namespace: name }, {})).toBeUndefined();
  const snapshot = await plane.snapshot({ name, version: '1.0.0' }, name);
  const installer = openInstaller({ helm: { program: plane.program }, clock: later });
  const options = applying('b-1', { only: 'namespaced' });
  expect(await installer.restore(plane.connection, snapshot, options)).toEqual({ revision: 1 });
  expect(await statusesThere(name)).toEqual(['1 deployed']);
  expect((await plane.read(resources.deployments, name, name))?.status).toMatchObject({ availableReplicas: 1 });
  await nodeHas(name, null);
});

test('what must stay was in it and stays, also where it is removed to its end', async () => {
  const name = uniqueName('staying');
  const chart: OperatorChart = { name, version: '1.0.0', definitionIn: 'templates' };
  await leave(chart);
  const object = {
    apiVersion: `${name}.example.com/v1`,
    kind: 'Widget',
    metadata: { name: 'one', namespace: 'default' },
  };
  const { metadata } = await plane.client.create<UnknownObject>(widgetsOf(name), object);
  await plane.installer.remove(plane.connection, { name, namespace: name }, applying('c-1'));
  expect(await statusesThere(name)).toEqual([]);
  expect(await plane.read(resources.configMaps, name, name)).toBeUndefined();
  expect((await plane.read(widgetsOf(name), 'one', 'default'))?.metadata.uid).toBe(metadata.uid);
  await nodeHas(name, null);
});
