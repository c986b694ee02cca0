/** Webhooks that only one of two versions has, on a real API server: from the switch on nobody is led to a side that is not there. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Snapshot } from '../../src/fleet/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { uniqueName } from '../support/cluster.ts';
import type { OperatorChart } from '../support/operator-charts.ts';
import { applying, type HelmPlane, openHelmPlane, resources, widgetsOf } from './support/setup.ts';

let plane: HelmPlane;
beforeAll(async () => {
  plane = await openHelmPlane('helm-leads');
});
afterAll(() => plane?.stop());

/** Nothing here runs a container: whoever is led to it is refused. */
const webhook = { failurePolicy: 'Fail', timeoutSeconds: 1 } as const;
const patient = { within: 60_000, every: 100 };

/** The API server hears of a configuration a moment after it was written. */
async function expectWritable(name: string, expected: boolean): Promise<void> {
  const create = async () => {
    const object = {
      apiVersion: `${name}.example.com/v1`,
      kind: 'Widget',
      metadata: { name: uniqueName('widget'), namespace: 'default' },
    };
    return plane.client.create(widgetsOf(name), object).then(
      () => true,
      (error: Error) => {
        if (!error.message.includes('failed calling webhook')) throw error;
        return false;
      },
    );
  };
  await eventually(async () => expect(await create()).toBe(expected), patient);
}

describe.each([
  { reason: 'the new version brings one', one: {}, two: { webhook }, whole: true },
  { reason: 'the new version leaves it out of a release', one: { webhook }, two: {}, whole: true },
  { reason: 'the new version leaves it out', one: { webhook }, two: {}, whole: false },
])('$reason', ({ one: before, two: after, whole }) => {
  const name = uniqueName('leads');
  const [blue, green] = [`${name}-blue`, `${name}-green`];
  const isOpen = (chart: Partial<OperatorChart>) => chart.webhook === undefined;
  let one: Snapshot;
  let two: Snapshot;
  const putTwo = (attempt: string) =>
    plane.installer.apply(plane.connection, two, applying(attempt, { only: 'namespaced', atZero: true }));
  const switchOver = (from: Snapshot, to: Snapshot) =>
    plane.switcher.switchOver(plane.connection, { from, to, coexist: false }, {});

  test('custom resources can be written as the side says that is in use, on the way there and back', async () => {
    one = await plane.snapshot({ name, version: '1.0.0', ...before }, blue);
    two = await plane.snapshot({ name, version: '2.0.0', ...after }, green);
    await plane.installer.apply(plane.connection, one, applying('a-1', whole ? {} : { only: 'namespaced' }));
    if (!whole) await plane.switcher.switchOver(plane.connection, { to: one, coexist: false }, {});
    await putTwo('a-2');
    await expectWritable(name, isOpen(before));
    await switchOver(one, two);
    await expectWritable(name, isOpen(after));
    await switchOver(two, one);
    await expectWritable(name, isOpen(before));
    expect(await plane.switcher.retire(plane.connection, two, one, {})).toBeUndefined();
    await expectWritable(name, isOpen(before));
  });

  test('and when the old side goes, what only that one had is gone', async () => {
    await putTwo('a-3');
    await switchOver(one, two);
    expect(await plane.switcher.retire(plane.connection, one, two, {})).toBeUndefined();
    await expectWritable(name, isOpen(after));
    expect((await plane.read(resources.webhooks, name)) === undefined).toBe(isOpen(after));
    expect(await plane.read(resources.clusterRoles, name)).toBeDefined();
  });
});

test('an in-place upgrade removes stale objects outside of the release, and a rollback restores them', async () => {
  const name = uniqueName('inplace');
  const role = stringify({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: `${name}-more` },
    rules: [],
  });
  const one = await plane.snapshot({ name, version: '1.0.0', webhook, files: { 'templates/role.yaml': role } }, name);
  const two = await plane.snapshot({ name, version: '2.0.0' }, name);
  const put = async (attempt: string, to: Snapshot, from?: Snapshot) => {
    await plane.installer.apply(plane.connection, to, applying(attempt, { only: 'namespaced' }));
    const sides = { to, coexist: true, ...(from === undefined ? {} : { from }) };
    await plane.switcher.switchOver(plane.connection, sides, {});
  };
  const more = async () => (await plane.read(resources.clusterRoles, `${name}-more`)) !== undefined;
  await put('a-1', one);
  await expectWritable(name, false);
  expect(await more()).toBe(true);
  await put('a-2', two, one);
  await expectWritable(name, true);
  expect(await more()).toBe(false);
  await put('a-3', one, two);
  await expectWritable(name, false);
  expect(await more()).toBe(true);
});

test('one webhook of a configuration that Helm has written, and the new version does not have, is gone with the switch', async () => {
  const name = uniqueName('entries');
  const configuration = (...entries: readonly string[]) =>
    stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name },
      webhooks: entries.map((entry) => ({
        name: `${entry}.${name}.example.com`,
        clientConfig: { service: { name, namespace: '{{ .Release.Namespace }}', path: `/${entry}` } },
        rules: [
          { apiGroups: [`${name}.example.com`], apiVersions: ['v1'], operations: ['CREATE'], resources: ['widgets'] },
        ],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        failurePolicy: 'Fail',
      })),
    });
  const chart = (version: string, ...entries: readonly string[]): OperatorChart => ({
    name,
    version,
    files: { 'templates/webhooks.yaml': configuration(...entries) },
  });
  const one = await plane.snapshot(chart('1.0.0', 'first', 'second'), `${name}-system`);
  const two = await plane.snapshot(chart('2.0.0', 'second'), `${name}-green`);
  await plane.installer.apply(plane.connection, one, applying('a-1'));
  await plane.installer.apply(plane.connection, two, applying('a-2', { only: 'namespaced', atZero: true }));
  const entries = async () => {
    const live = (await plane.read(resources.webhooks, name)) as { webhooks?: { name: string }[] } | undefined;
    return live?.webhooks?.map((each) => each.name.split('.')[0]);
  };
  expect(await entries()).toEqual(['first', 'second']);
  await plane.switcher.switchOver(plane.connection, { from: one, to: two, coexist: false }, {});
  expect(await entries()).toEqual(['second']);
  await plane.switcher.switchOver(plane.connection, { from: two, to: one, coexist: false }, {});
  expect((await entries())?.sort()).toEqual(['first', 'second']);
  await plane.switcher.retire(plane.connection, two, one, {});
  // The release has all of it back, and what a later version leaves out goes.
  const three = await plane.snapshot(chart('3.0.0', 'first'), `${name}-system`);
  expect(await plane.installer.apply(plane.connection, three, applying('a-3'))).toEqual({ revision: 2 });
  expect(await entries()).toEqual(['first']);
});
