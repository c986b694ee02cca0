/** Who converts custom resources when only one of two versions does, on a real API server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Snapshot } from '../../src/fleet/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { definitionOf, type OperatorChart } from '../support/operator-charts.ts';
import { applying, type HelmPlane, openHelmPlane, resources, widgetsOf } from './support/setup.ts';

let plane: HelmPlane;
beforeAll(async () => {
  plane = await openHelmPlane('helm-conversion');
});
afterAll(() => plane?.stop());

interface Spec {
  versions: { name: string; storage: boolean; schema: { openAPIV3Schema: { properties: object } } }[];
  conversion?: { strategy: string; webhook?: { clientConfig?: { service?: { namespace?: string } } } };
}

/** A chart whose definition was changed before it was packed. */
function chartOf(chart: OperatorChart, change: (spec: Spec) => void = () => {}): OperatorChart {
  const definition = structuredClone(definitionOf(chart, '{{ .Release.Namespace }}')) as { spec: Spec };
  change(definition.spec);
  return { ...chart, definitionIn: 'nowhere', files: { 'templates/definition.yaml': stringify(definition) } };
}

/** One more version, with a field that the first does not have. */
const another =
  (storage: boolean) =>
  ({ versions }: Spec): void => {
    const [first] = versions;
    if (first === undefined) throw new Error('there is no version');
    const second = structuredClone(first);
    second.name = 'v2';
    second.schema.openAPIV3Schema.properties = { height: { type: 'integer' } };
    second.storage = storage;
    first.storage = !storage;
    versions.push(second);
  };

async function conversion(name: string): Promise<Spec['conversion']> {
  const live = await plane.read(resources.definitions, `widgets.${name}.example.com`);
  return (live?.spec as Spec | undefined)?.conversion;
}

const convertedIn = async (name: string) => (await conversion(name))?.webhook?.clientConfig?.service?.namespace;

async function replicasIn({ operator, namespace }: Snapshot): Promise<number | undefined> {
  const live = await plane.read(resources.deployments, operator, namespace);
  return (live?.spec as { replicas?: number } | undefined)?.replicas;
}

/** The first in use, and the second beside it. */
async function besideEachOther(
  one: OperatorChart,
  two: OperatorChart,
  coexist: boolean,
): Promise<[Snapshot, Snapshot]> {
  const old = await plane.snapshot(one, `${one.name}-blue`);
  const now = await plane.snapshot(two, `${one.name}-green`);
  await plane.installer.apply(plane.connection, old, applying('a-1', { only: 'namespaced' }));
  await plane.switcher.switchOver(plane.connection, { to: old, coexist }, {});
  const zero = coexist ? {} : { atZero: true };
  await plane.installer.apply(plane.connection, now, applying('a-2', { only: 'namespaced', ...zero }));
  return [old, now];
}

/** The second in use, and the first kept. */
async function bothSides(one: OperatorChart, two: OperatorChart, coexist: boolean): Promise<[Snapshot, Snapshot]> {
  const [old, now] = await besideEachOther(one, two, coexist);
  await plane.switcher.switchOver(plane.connection, { from: old, to: now, coexist }, {});
  return [old, now];
}

test.each([
  { reason: 'says nothing of conversion', change: () => {} },
  {
    reason: 'says that nobody converts',
    change: (spec: Spec) => {
      spec.conversion = { strategy: 'None' };
    },
  },
])('back to a side that $reason: nobody is asked who is gone', async ({ change }) => {
  const name = uniqueName('converts');
  const chart = chartOf({ name, version: '1.0.0' }, change);
  const [one, two] = await bothSides(chart, chartOf({ name, version: '2.0.0', conversion: true }), false);
  expect(await convertedIn(name)).toBe(two.namespace);
  await plane.switcher.switchOver(plane.connection, { from: two, to: one, coexist: false }, {});
  expect(await conversion(name)).toEqual({ strategy: 'None' });
  expect(await plane.switcher.retire(plane.connection, two, one, {})).toBeUndefined();
  expect(await replicasIn(two)).toBeUndefined();
  await plane.client.create(widgetsOf(name), {
    apiVersion: `${name}.example.com/v1`,
    kind: 'Widget',
    metadata: { name: 'one', namespace: 'default' },
  });
});

test('forth and back between a side that converts and one that does not, as often as one likes', async () => {
  const name = uniqueName('turns');
  const converting = chartOf({ name, version: '1.0.0', conversion: true });
  const plain = chartOf({ name, version: '2.0.0' }, (spec) => {
    spec.conversion = { strategy: 'None' };
  });
  const [one, two] = await bothSides(converting, plain, true);
  expect(await conversion(name)).toEqual({ strategy: 'None' });
  await plane.switcher.switchOver(plane.connection, { from: two, to: one, coexist: true }, {});
  expect(await convertedIn(name)).toBe(one.namespace);
  await plane.switcher.switchOver(plane.connection, { from: one, to: two, coexist: true }, {});
  expect(await conversion(name)).toEqual({ strategy: 'None' });
  expect(await plane.switcher.retire(plane.connection, one, two, {})).toBeUndefined();
});

/** Nobody is asked any more; other tests share the cluster. */
const askNobody = (name: string) => {
  const body = { spec: { conversion: { strategy: 'None', webhook: null } } };
  return plane.client.patch(resources.definitions, definitionKey(name), { type: 'merge', body });
};

const definitionKey = (name: string) => ({ name: `widgets.${name}.example.com` });

async function storageOf(name: string): Promise<string | undefined> {
  const live = await plane.read(resources.definitions, definitionKey(name).name);
  return (live?.spec as Spec | undefined)?.versions.find(({ storage }) => storage)?.name;
}

test('objects are stored in a version that both sides read until the old one is gone', async () => {
  const name = uniqueName('stored');
  const newer = chartOf({ name, version: '2.0.0', conversion: true }, another(true));
  const [one, two] = await bothSides(chartOf({ name, version: '1.0.0' }), newer, false);
  expect([await storageOf(name), await convertedIn(name)]).toEqual(['v1', two.namespace]);
  expect(await plane.switcher.retire(plane.connection, one, two, {})).toBeUndefined();
  expect([await storageOf(name), await convertedIn(name)]).toEqual(['v2', two.namespace]);
});

test.each([
  { coexist: true },
  { coexist: false },
])('who alone can convert between versions is kept, at 0 where the other one can do without; coexist: $coexist', async ({
  coexist,
}) => {
  const name = uniqueName('alone');
  const newer = chartOf({ name, version: '2.0.0', conversion: true }, another(true));
  const [one, two] = await bothSides(chartOf({ name, version: '1.0.0' }), newer, coexist);
  await plane.switcher.switchOver(plane.connection, { from: two, to: one, coexist }, {});
  expect(await plane.switcher.retire(plane.connection, two, one, {})).toBe(
    `2.0.0 is kept at 0 replicas in ${two.namespace}: it is the only converter between the versions of widgets.${name}.example.com`,
  );
  expect([await replicasIn(one), await replicasIn(two), await convertedIn(name)]).toEqual([1, 0, two.namespace]);
  // The old one reads and writes as it did.
  await plane.client.create(widgetsOf(name), {
    apiVersion: `${name}.example.com/v1`,
    kind: 'Widget',
    metadata: { name: 'one', namespace: 'default' },
    spec: { size: 7 },
  });
  expect((await plane.read(widgetsOf(name), 'one', 'default'))?.spec).toEqual({ size: 7 });
  // Somebody has found another way.
  const body = { spec: { conversion: { strategy: 'None', webhook: null } } };
  await plane.client.patch(resources.definitions, definitionKey(name), { type: 'merge', body });
  expect(await plane.switcher.retire(plane.connection, two, one, {})).toBeUndefined();
  expect(await replicasIn(two)).toBeUndefined();
});

test('before the switch nothing is stored as only the new one knows it, and nothing is lost in between', async () => {
  const name = uniqueName('early');
  const newer = chartOf({ name, version: '2.0.0', conversion: true }, another(true));
  const [one, two] = await besideEachOther(chartOf({ name, version: '1.0.0' }), newer, true);
  const object = {
    apiVersion: `${name}.example.com/v1`,
    kind: 'Widget',
    metadata: { name: 'one', namespace: 'default' },
    spec: { size: 7 },
  };
  await plane.client.create(widgetsOf(name), object);
  expect((await plane.read(widgetsOf(name), 'one', 'default'))?.spec).toEqual(object.spec);
  // Without who converts, the other version would be read without its spec, and written so.
  await expect(plane.read(widgetsOf(name, 'v2'), 'one', 'default')).rejects.toThrow();
  expect(await plane.switcher.retire(plane.connection, two, one, {})).toContain('is kept at 0');
  expect([await replicasIn(one), await replicasIn(two)]).toEqual([1, 0]);
  expect((await plane.read(widgetsOf(name), 'one', 'default'))?.spec).toEqual(object.spec);
  await askNobody(name);
});

test('where the old one cannot read what is stored: beside it the new one goes on, else nothing is switched', async () => {
  const name = uniqueName('unread');
  const newer = chartOf({ name, version: '2.0.0', conversion: true }, another(true));
  const [one, two] = await bothSides(chartOf({ name, version: '1.0.0' }), newer, true);
  const live = await plane.client.get(resources.definitions, definitionKey(name));
  const versions = (live.spec as Spec).versions.map((each) => ({ ...each, storage: each.name === 'v2' }));
  await plane.client.patch(resources.definitions, definitionKey(name), { type: 'merge', body: { spec: { versions } } });
  const back = { from: two, to: one };
  const message = expect.stringContaining('are stored in a version that 1.0.0 does not know');
  await expect(plane.switcher.switchOver(plane.connection, { ...back, coexist: false }, {})).rejects.toMatchObject({
    code: 'helm/failed',
    message,
  });
  expect([await replicasIn(one), await replicasIn(two), await convertedIn(name)]).toEqual([0, 1, two.namespace]);
  await plane.switcher.switchOver(plane.connection, { ...back, coexist: true }, {});
  expect([await replicasIn(one), await replicasIn(two), await convertedIn(name)]).toEqual([1, 1, two.namespace]);
  expect(await plane.switcher.retire(plane.connection, two, one, {})).toBe(
    `2.0.0 keeps running in ${two.namespace}: it is the only converter of the stored objects of widgets.${name}.example.com`,
  );
  expect(await replicasIn(two)).toBe(1);
  await askNobody(name);
});
