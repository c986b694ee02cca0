/** The two sides of a blue-green deployment on a real cluster: which one works, what leads to it, and what is left of the other. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Snapshot } from '../../src/fleet/index.ts';
import { uniqueName } from '../support/cluster.ts';
import type { OperatorChart } from '../support/operator-charts.ts';
import { applying, type HelmPlane, openHelmPlane, resources, widgetsOf } from './support/setup.ts';

let plane: HelmPlane;
beforeAll(async () => {
  plane = await openHelmPlane('helm-switch');
});
afterAll(() => plane?.stop());

interface Parts {
  spec?: { replicas?: number; conversion?: { webhook?: { clientConfig?: { service?: { namespace?: string } } } } };
  webhooks?: { clientConfig: { service?: { namespace?: string } } }[];
  subjects?: { namespace?: string }[];
}

/** The differences between the sides. */
async function picture(name: string, sides: readonly string[]) {
  const read = async (...place: Parameters<HelmPlane['read']>) => (await plane.read(...place)) as Parts | undefined;
  const replicas = await Promise.all(
    sides.map(async (namespace) => (await read(resources.deployments, name, namespace))?.spec?.replicas),
  );
  const definition = await read(resources.definitions, `widgets.${name}.example.com`);
  const webhooks = await read(resources.webhooks, name);
  const binding = await read(resources.clusterRoleBindings, name);
  return {
    replicas,
    webhook: webhooks?.webhooks?.[0]?.clientConfig.service?.namespace,
    conversion: definition?.spec?.conversion?.webhook?.clientConfig?.service?.namespace,
    rights: binding?.subjects?.map(({ namespace }) => namespace),
  };
}

describe('between two sides', () => {
  const name = uniqueName('sides');
  const [blue, green] = [`${name}-blue`, `${name}-green`];
  const chart: OperatorChart = { name, version: '1.0.0', definitionIn: 'templates', webhook: {}, conversion: true };
  const widgets = widgetsOf(name);
  const allWidgets = async () => (await plane.client.list(widgets)).items;
  let one: Snapshot;
  let two: Snapshot;

  test('the first side: in its namespace by Helm, the rest outside of the release', async () => {
    one = await plane.snapshot(chart, blue);
    await plane.installer.apply(plane.connection, one, applying('a-1', { only: 'namespaced' }));
    await plane.switcher.switchOver(plane.connection, { to: one, coexist: false }, {});
    expect(await picture(name, [blue, green])).toEqual({
      replicas: [1, undefined],
      webhook: blue,
      conversion: blue,
      rights: [blue],
    });
    const release = await plane.installer.current(plane.connection, { name, namespace: blue }, {});
    expect(release?.manifests.map(({ kind }) => kind).sort()).toEqual([
      'ConfigMap',
      'Deployment',
      'Secret',
      'Service',
      'ServiceAccount',
    ]);
    await plane.client.create(widgets, {
      apiVersion: `${name}.example.com/v1`,
      kind: 'Widget',
      metadata: { name: 'one', namespace: 'default' },
      spec: { size: 1 },
    });
  });

  test('the other side is there at 0, and nothing leads to it yet', async () => {
    two = await plane.snapshot({ ...chart, version: '2.0.0', maximum: 30 }, green);
    const options = applying('a-2', { only: 'namespaced', atZero: true });
    expect(await plane.installer.apply(plane.connection, two, options)).toEqual({ revision: 1 });
    expect(await plane.installer.apply(plane.connection, two, options)).toEqual({ revision: 1 });
    expect(await picture(name, [blue, green])).toEqual({
      replicas: [1, 0],
      webhook: blue,
      conversion: blue,
      rights: [blue, green],
    });
  });

  test('the switch, and the same again; the switch back, and forth again', async () => {
    const before = await allWidgets();
    const [toGreen, toBlue] = [
      { from: one, to: two, coexist: false },
      { from: two, to: one, coexist: true },
    ];
    for (const [sides, expected] of [
      [toGreen, [0, 1]],
      [toGreen, [0, 1]],
      [toBlue, [1, 0]],
      [toGreen, [0, 1]],
    ] as const) {
      await plane.switcher.switchOver(plane.connection, sides, {});
      const { namespace } = sides.to;
      expect(await picture(name, [blue, green])).toEqual({
        replicas: expected,
        webhook: namespace,
        conversion: namespace,
        rights: [blue, green],
      });
    }
    expect(await allWidgets()).toEqual(before);
  });

  test('the side that was kept goes, with its rights; asked for again, nothing happens', async () => {
    const before = await allWidgets();
    for (const _ of ['at first', 'again']) {
      await plane.switcher.retire(plane.connection, one, two, {});
      expect(await picture(name, [blue, green])).toEqual({
        replicas: [undefined, 1],
        webhook: green,
        conversion: green,
        rights: [green],
      });
    }
    expect(await allWidgets()).toEqual(before);
  });
});

describe('from a whole release to sides and back to a whole one', () => {
  const name = uniqueName('whole');
  const [whole, green] = [`${name}-system`, `${name}-green`];
  const chart: OperatorChart = { name, version: '1.0.0', webhook: {} };
  let one: Snapshot;
  let two: Snapshot;

  test('what the whole release owned stays when it is given up', async () => {
    one = await plane.snapshot(chart, whole);
    await plane.installer.apply(plane.connection, one, applying('a-1'));
    two = await plane.snapshot({ ...chart, version: '2.0.0' }, green);
    await plane.installer.apply(plane.connection, two, applying('a-2', { only: 'namespaced', atZero: true }));
    await plane.switcher.switchOver(plane.connection, { from: one, to: two, coexist: false }, {});
    await plane.switcher.retire(plane.connection, one, two, {});
    expect(await picture(name, [whole, green])).toEqual({
      replicas: [undefined, 1],
      webhook: green,
      conversion: undefined,
      rights: [green],
    });
    expect(await plane.read(resources.clusterRoles, name)).toBeDefined();
  });

  test('a whole release regains objects from outside, and removing the other side keeps them', async () => {
    expect(await plane.installer.apply(plane.connection, one, applying('a-3'))).toEqual({ revision: 1 });
    await plane.switcher.retire(plane.connection, two, one, {});
    expect(await picture(name, [whole, green])).toEqual({
      replicas: [1, undefined],
      webhook: whole,
      conversion: undefined,
      rights: [whole],
    });
    expect((await plane.read(resources.clusterRoles, name))?.metadata.annotations).toMatchObject({
      'meta.helm.sh/release-namespace': whole,
    });
  });
});

test('a first side that is given up before it was ever in use leaves nothing that stops anybody', async () => {
  const name = uniqueName('first');
  const snapshot = await plane.snapshot({ name, version: '1.0.0', webhook: {} }, name);
  await plane.installer.apply(plane.connection, snapshot, applying('a-1', { only: 'namespaced', atZero: true }));
  await plane.switcher.switchOver(plane.connection, { to: snapshot, coexist: false }, {});
  for (const _ of ['at first', 'again']) {
    await plane.switcher.retire(plane.connection, snapshot, undefined, {});
    expect(await picture(name, [name])).toEqual({
      replicas: [undefined],
      webhook: undefined,
      conversion: undefined,
      rights: undefined,
    });
    expect(await plane.read(resources.clusterRoles, name)).toBeUndefined();
    expect(await plane.read(resources.definitions, `widgets.${name}.example.com`)).toBeDefined();
  }
});

test('what somebody else has made is not taken into a release', async () => {
  const name = uniqueName('foreign');
  const metadata = { name };
  const foreign = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata, rules: [] };
  await plane.client.create(resources.clusterRoles, foreign);
  const snapshot = await plane.snapshot({ name, version: '1.0.0' }, name);
  await expect(plane.installer.apply(plane.connection, snapshot, applying('a-1'))).rejects.toMatchObject({
    code: 'helm/failed',
    message: expect.stringContaining('invalid ownership metadata'),
  });
});

describe('a DaemonSet', () => {
  const name = uniqueName('daemon');
  const [blue, green] = [`${name}-blue`, `${name}-green`];
  const labels = { daemon: name };
  const daemon = {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'agent', image: 'example.com/agent:1' }] },
      },
    },
  };
  const files = { 'templates/daemon.yaml': stringify(daemon) };
  const runsIn = async (namespace: string) =>
    (await plane.client.list(resources.pods, { namespace, labelSelector: `daemon=${name}` })).items.length > 0;
  const templateIn = async (namespace: string) =>
    ((await plane.read(resources.daemonSets, name, namespace))?.spec as { template: unknown } | undefined)?.template;

  test('of one side runs where that of the other does not: never both', async () => {
    const one = await plane.snapshot({ name, version: '1.0.0', files }, blue);
    const two = await plane.snapshot({ name, version: '2.0.0', files }, green);
    await plane.installer.apply(plane.connection, one, applying('a-1'));
    const template = await templateIn(blue);
    await plane.installer.apply(plane.connection, two, applying('a-2', { only: 'namespaced', atZero: true }));
    expect(await Promise.all([blue, green].map(runsIn))).toEqual([true, false]);
    await plane.switcher.switchOver(plane.connection, { from: one, to: two, coexist: false }, {});
    expect(await Promise.all([blue, green].map(runsIn))).toEqual([false, true]);
    await plane.switcher.switchOver(plane.connection, { from: two, to: one, coexist: false }, {});
    expect(await Promise.all([blue, green].map(runsIn))).toEqual([true, false]);
    expect(await templateIn(blue)).toEqual(template);
  });

  test('that was held is there again where its side comes to run beside the other one', async () => {
    const three = await plane.snapshot({ name, version: '3.0.0', files }, green);
    await plane.installer.apply(plane.connection, three, applying('a-3', { only: 'namespaced' }));
    expect(await runsIn(green)).toBe(true);
  });
});
