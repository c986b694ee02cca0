/** Releases on a real cluster, by the real Helm: forward, back, and away again; what others have made there stays as it was. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Snapshot } from '../../src/fleet/index.ts';
import type { UnknownObject } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { uniqueName } from '../support/cluster.ts';
import type { OperatorChart } from '../support/operator-charts.ts';
import { installByHand } from './support/by-hand.ts';
import { applying, type HelmPlane, openHelmPlane, resources, widgetsOf } from './support/setup.ts';

let plane: HelmPlane;
beforeAll(async () => {
  plane = await openHelmPlane('helm-install');
});
afterAll(() => plane?.stop());

async function makeWidgets(name: string, count: number): Promise<readonly UnknownObject[]> {
  for (let index = 0; index < count; index += 1) {
    await eventually(() =>
      plane.client.create(widgetsOf(name), {
        apiVersion: `${name}.example.com/v1`,
        kind: 'Widget',
        metadata: { name: `widget-${index}`, namespace: 'default' },
        spec: { size: index },
      }),
    );
  }
  return allWidgets(name);
}

const allWidgets = async (name: string) => (await plane.client.list(widgetsOf(name), { namespace: 'default' })).items;

const versionThere = async (name: string, namespace: string) =>
  ((await plane.read(resources.configMaps, name, namespace))?.data as { version?: string } | undefined)?.version;

const maximumOf = async (name: string) =>
  /"maximum":(\d+)/.exec(JSON.stringify(await plane.read(resources.definitions, `widgets.${name}.example.com`)))?.[1];

const releaseNow = (snapshot: Snapshot) =>
  plane.installer.current(plane.connection, { name: snapshot.releaseName, namespace: snapshot.namespace }, {});

describe('forward and back', () => {
  const name = uniqueName('forth');
  const namespace = `${name}-system`;
  let one: Snapshot;
  let two: Snapshot;

  test('an install puts definitions first, then exactly the snapshot, and waits until it is ready', async () => {
    one = await plane.snapshot({ name, version: '1.0.0', maximum: 20 }, namespace, { password: 'opensesame' });
    const lines: string[] = [];
    const options = applying('a-1', { onOutput: (line) => void lines.push(line) });
    expect(await plane.installer.apply(plane.connection, one, options)).toEqual({ revision: 1 });
    expect(await versionThere(name, namespace)).toBe('1.0.0');
    expect(await maximumOf(name)).toBe('20');
    expect((await plane.read(resources.deployments, name, namespace))?.status).toMatchObject({ availableReplicas: 1 });
    expect(await releaseNow(one)).toMatchObject({
      revision: 1,
      status: 'deployed',
      chart: name,
      version: '1.0.0',
      snapshotDigest: one.digest,
      attempt: 'a-1',
    });
    expect((await releaseNow(one))?.manifests.map(({ kind }) => kind).sort()).toEqual(
      one.manifests.map(({ kind }) => kind).sort(),
    );
    expect(lines.join('\n')).toContain('STATUS: deployed');
    expect(lines.join('\n')).not.toContain('opensesame');
  });

  test('asked for again, nothing is done twice', async () => {
    expect(await plane.installer.apply(plane.connection, one, applying('a-1'))).toEqual({ revision: 1 });
  });

  test('an upgrade goes forward, the definition too, and custom resources are as they were', async () => {
    const before = await makeWidgets(name, 5);
    two = await plane.snapshot({ name, version: '2.0.0', maximum: 30 }, namespace);
    expect(await plane.installer.apply(plane.connection, two, applying('a-2'))).toEqual({ revision: 2 });
    expect(await versionThere(name, namespace)).toBe('2.0.0');
    expect(await maximumOf(name)).toBe('30');
    expect(await allWidgets(name)).toEqual(before);
  });

  test('a rollback is a helm rollback; the definition and custom resources are kept', async () => {
    const before = await allWidgets(name);
    expect(await plane.installer.restore(plane.connection, one, applying('b-1'))).toEqual({ revision: 3 });
    expect(await versionThere(name, namespace)).toBe('1.0.0');
    expect(await maximumOf(name)).toBe('30');
    expect(await allWidgets(name)).toEqual(before);
    // The revision of that time, with its chart: nothing was rendered again.
    expect(await releaseNow(one)).toMatchObject({ revision: 3, attempt: 'a-1', snapshotDigest: one.digest });
    expect(await plane.installer.restore(plane.connection, one, applying('b-1'))).toEqual({ revision: 3 });
  });

  test('without its revision, a rollback is an upgrade to the snapshot', async () => {
    await plane.installer.apply(plane.connection, two, applying('a-3'));
    for (const revision of [1, 3]) {
      await plane.client.delete(resources.secrets, { namespace, name: `sh.helm.release.v1.${name}.v${revision}` });
    }
    expect(await plane.installer.restore(plane.connection, one, applying('b-2'))).toEqual({ revision: 5 });
    expect(await versionThere(name, namespace)).toBe('1.0.0');
    expect(await releaseNow(one)).toMatchObject({ snapshotDigest: one.digest, attempt: 'b-2' });
  });

  test('a deployment of an older version does not narrow what a newer one has put there', async () => {
    expect(await plane.installer.apply(plane.connection, one, applying('a-4'))).toEqual({ revision: 6 });
    expect(await maximumOf(name)).toBe('30');
  });

  test('what was never there before goes again; the definition and custom resources stay', async () => {
    const before = await allWidgets(name);
    for (const _ of ['at first', 'asked for again']) {
      await plane.installer.remove(plane.connection, { name, namespace }, applying('c-1'));
      expect(await releaseNow(one)).toBeUndefined();
      expect(await versionThere(name, namespace)).toBeUndefined();
    }
    expect(await allWidgets(name)).toEqual(before);
  });
});

describe('a release made by hand, with the definition among its templates', () => {
  const name = uniqueName('hand');
  const namespace = `${name}-system`;
  const made: OperatorChart = { name, version: '0.9.0', definitionIn: 'templates' };
  let before: readonly UnknownObject[];
  let there: Snapshot;

  test('it is read as it is', async () => {
    await installByHand(plane.program, made, namespace);
    before = await makeWidgets(name, 3);
    const found = await plane.installer.current(plane.connection, { name, namespace }, {});
    expect(found).toMatchObject({ revision: 1, status: 'deployed', chart: name, version: '0.9.0' });
    expect(found?.snapshotDigest).toBeUndefined();
    expect(found?.manifests.map(({ kind }) => kind)).not.toContain('CustomResourceDefinition');
    there = await plane.snapshots.put({
      operator: name,
      version: '0.9.0',
      chartDigest: '',
      valuesDigest: '',
      environment: 'Dev',
      kubernetesVersion: 'v1.36.3',
      namespace,
      releaseName: name,
      definitions: [],
      manifests: found?.manifests ?? [],
    });
  });

  test('an upgrade takes the definition out of the release without taking it away', async () => {
    const next = await plane.snapshot({ name, version: '1.0.0', maximum: 40 }, namespace);
    expect(await plane.installer.apply(plane.connection, next, applying('a-1'))).toEqual({ revision: 2 });
    expect(await maximumOf(name)).toBe('40');
    expect(await allWidgets(name)).toEqual(before);
  });

  test('a rollback does not restore the old definition', async () => {
    expect(await plane.installer.restore(plane.connection, there, applying('b-1'))).toEqual({ revision: 3 });
    expect(await versionThere(name, namespace)).toBe('0.9.0');
    expect(await maximumOf(name)).toBe('40');
    expect(await allWidgets(name)).toEqual(before);
  });

  test('one that still has it can be removed, and leaves it', async () => {
    const other = `${name}-two`;
    await installByHand(plane.program, { ...made, name: other }, `${other}-system`);
    const widgets = await makeWidgets(other, 2);
    await plane.installer.remove(plane.connection, { name: other, namespace: `${other}-system` }, applying('c-1'));
    expect(await versionThere(other, `${other}-system`)).toBeUndefined();
    expect(await allWidgets(other)).toEqual(widgets);
  });
});
