/** Releases with the temporary credentials that an installer gets: they are enough for every path, and for no more than that. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ClusterConnection, type Fleet, openFleet, type Snapshot } from '../../src/fleet/index.ts';
import {
  addCluster,
  type Management,
  startManagement,
  systemNamespace,
  testKeys,
} from '../fleet-access/support/setup.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';
import type { OperatorChart } from '../support/operator-charts.ts';
import { applying, type HelmPlane, openHelmPlane, resources } from './support/setup.ts';

let plane: HelmPlane;
let management: Management;
let fleet: Fleet;
const cluster = 'shared';
beforeAll(async () => {
  [plane, management] = await Promise.all([openHelmPlane('helm-rights'), startManagement()]);
  const keys = await testKeys();
  await addCluster(management, keys, cluster, readFileSync(sharedCluster().kubeconfig, 'utf8'));
  fleet = openFleet({ client: management.client, systemNamespace, keys });
});
afterAll(async () => {
  await fleet?.stop();
  await Promise.all([plane?.stop(), management?.stop()]);
});

const connect = (...snapshots: readonly Snapshot[]): Promise<ClusterConnection> =>
  fleet.connect(cluster, { kind: 'install', snapshots }, { operator: snapshots[0]?.operator ?? '' });

const versionThere = async (name: string, namespace: string) =>
  ((await plane.read(resources.configMaps, name, namespace))?.data as { version?: string } | undefined)?.version;

test('a release: there, forward, back, and away', async () => {
  const name = uniqueName('least');
  const chart: OperatorChart = { name, version: '1.0.0', hook: true, webhook: {} };
  const one = await plane.snapshot(chart, name);
  const two = await plane.snapshot({ ...chart, version: '2.0.0', maximum: 30 }, name);
  await plane.installer.apply(await connect(one), one, applying('a-1'));
  await plane.installer.apply(await connect(two, one), two, applying('a-2'));
  expect(await versionThere(name, name)).toBe('2.0.0');
  await plane.installer.restore(await connect(two, one), one, applying('b-1'));
  expect(await versionThere(name, name)).toBe('1.0.0');
  const connection = await connect(one);
  await plane.installer.remove(connection, { name, namespace: name }, applying('c-1'));
  expect(await versionThere(name, name)).toBeUndefined();
  await expect(
    connection.client.delete(resources.definitions, { name: `widgets.${name}.example.com` }),
  ).rejects.toMatchObject({ status: 403 });
});

test('two sides: switched and given up', async () => {
  const name = uniqueName('sides');
  const [blue, green] = [`${name}-blue`, `${name}-green`];
  const chart: OperatorChart = { name, version: '1.0.0', webhook: {}, conversion: true, definitionIn: 'templates' };
  const one = await plane.snapshot(chart, blue);
  const two = await plane.snapshot({ ...chart, version: '2.0.0' }, green);
  await plane.installer.apply(await connect(one), one, applying('a-1'));
  const connection = await connect(two, one);
  await plane.installer.apply(connection, two, applying('a-2', { only: 'namespaced', atZero: true }));
  await plane.switcher.switchOver(connection, { from: one, to: two, coexist: false }, {});
  await plane.switcher.retire(connection, one, two, {});
  expect([await versionThere(name, blue), await versionThere(name, green)]).toEqual([undefined, '2.0.0']);
});
