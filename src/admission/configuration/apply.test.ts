import { expect, test, vi } from 'vitest';
import { type Loose, memoryCluster } from '../../../test/support/memory-cluster.ts';
import type { OwnerReference } from '../../runtime/index.ts';
import { resourceMapping } from '../../runtime/internal.ts';
import { webhookConfigurations } from './apply.ts';
import {
  configurationName,
  type Installer,
  installationAnnotation,
  installerAnnotation,
  managedByLabel,
  phases,
} from './build.ts';

const key = { name: configurationName };

const alone: Installer = { id: 'this-run', sharesCertificates: true };
const replica: Installer = { ...alone, installation: 'kidp-system/kidp' };

function install(installer = alone, cluster = memoryCluster(phases.map(({ resource }) => resource))) {
  const configurations = webhookConfigurations({
    client: cluster.client,
    installer,
    target: { url: `https://${installer.id}:1` },
    bundle: () => ({ pem: installer.id, generation: installer === joined ? 7 : 1 }),
    failurePolicy: 'Fail',
    platformNamespace: 'kidp-system',
    breakGlassGroup: 'kidp:break-glass',
    mapping: () => resourceMapping([]),
  });
  return { cluster, configurations };
}

const joined: Installer = { id: 'joined-run', sharesCertificates: false };
const contents = ({ get }: ReturnType<typeof memoryCluster>) =>
  phases.map(({ resource }) => get(resource, key)?.webhooks);

const rows: { reason: string; installer?: Installer; metadata: Record<string, unknown>; isPutBack: boolean }[] = [
  {
    reason: 'somebody has changed what is in them',
    metadata: { labels: { [managedByLabel]: 'kidp' }, annotations: { [installerAnnotation]: 'this-run' } },
    isPutBack: true,
  },
  {
    reason: 'somebody has replaced them by what they had written down, without our annotations',
    metadata: { labels: { [managedByLabel]: 'kidp' } },
    isPutBack: true,
  },
  { reason: 'somebody has taken off our label too', metadata: {}, isPutBack: true },
  {
    reason: 'another run has taken them over',
    metadata: { labels: { [managedByLabel]: 'kidp' }, annotations: { [installerAnnotation]: 'another-run' } },
    isPutBack: false,
  },
  {
    reason: 'a run that is alone has taken over those of an installation',
    installer: replica,
    metadata: { labels: { [managedByLabel]: 'kidp' }, annotations: { [installerAnnotation]: 'another-run' } },
    isPutBack: true,
  },
  {
    reason: 'another replica of the installation leads by now',
    installer: replica,
    metadata: {
      labels: { [managedByLabel]: 'kidp' },
      annotations: { [installerAnnotation]: 'another-run', [installationAnnotation]: 'kidp-system/kidp' },
    },
    isPutBack: false,
  },
  {
    reason: 'another installation has taken them over: two that put back would do so for ever',
    installer: replica,
    metadata: {
      labels: { [managedByLabel]: 'kidp' },
      annotations: { [installerAnnotation]: 'another-run', [installationAnnotation]: 'other/kidp' },
    },
    isPutBack: false,
  },
];

test.each(rows)('configurations are put back where it is right to: $reason', async ({
  installer,
  metadata,
  isPutBack,
}) => {
  const { cluster, configurations } = install(installer);
  await configurations.apply([]);
  const changed = vi.fn();
  const end = configurations.watch(changed);
  await vi.waitFor(() => expect(cluster.watching()).toHaveLength(phases.length), 60_000);
  // Once for each as it was when the watch began.
  await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(phases.length), 60_000);
  changed.mockClear();
  const stored = contents(cluster);
  for (const { resource } of phases)
    cluster.put(resource, { metadata: { ...key, ...metadata }, webhooks: [] } as Loose);
  if (isPutBack)
    await vi.waitFor(() => expect(changed.mock.calls.length).toBeGreaterThanOrEqual(phases.length), 60_000);
  await configurations.apply([]);
  expect(contents(cluster)).toEqual(isPutBack ? stored : [[], []]);
  await end();
  expect(changed.mock.calls.length > 0).toBe(isPutBack);
});

test('configurations belong to an object, whose new UID they follow; without it they belong to nothing', async () => {
  const cluster = memoryCluster(phases.map(({ resource }) => resource));
  let owner: OwnerReference | undefined = { apiVersion: 'rbac/v1', kind: 'ClusterRole', name: 'kidp', uid: 'one' };
  const configurations = webhookConfigurations({
    client: cluster.client,
    installer: replica,
    target: { url: 'https://127.0.0.1:1' },
    bundle: () => ({ pem: '', generation: 1 }),
    failurePolicy: 'Fail',
    platformNamespace: 'kidp-system',
    breakGlassGroup: 'kidp:break-glass',
    mapping: () => resourceMapping([]),
    owner: async () => owner,
  });
  const owners = async () => {
    await configurations.apply([]);
    return phases.map(({ resource }) => cluster.get(resource, key)?.metadata.ownerReferences);
  };
  expect(await owners()).toEqual([[owner], [owner]]);
  owner = { ...owner, uid: 'two' };
  expect(await owners()).toEqual([[owner], [owner]]);
  owner = undefined;
  expect(await owners()).toEqual([undefined, undefined]);
});

test('what somebody else has made under that name is left alone from the beginning', async () => {
  const { cluster, configurations } = install();
  const [, validating] = phases;
  if (validating === undefined) throw new Error('there are two phases');
  cluster.put(validating.resource, { metadata: key });
  await expect(configurations.apply([])).rejects.toThrow(/kidp did not create/);
  expect(phases.map(({ resource }) => cluster.get(resource, key)?.webhooks)).toEqual([undefined, undefined]);
});

test('an installation puts back, with its own bundle, what a run that is alone has written over it and what that has removed; they do not fight', async () => {
  const { cluster, configurations } = install(replica);
  await configurations.apply([]);
  const stored = contents(cluster);
  const changed = vi.fn(() => void configurations.apply([]));
  const end = configurations.watch(changed);
  const { configurations: guest } = install(joined, cluster);
  await guest.apply([]);
  await vi.waitFor(() => expect(contents(cluster)).toEqual(stored), 60_000);
  // The guest has taken over once, and gives way from then on; what it removes in the end is not there any more.
  await guest.apply([]);
  await guest.remove();
  expect(contents(cluster)).toEqual(stored);
  await end();
});

test.each([
  { reason: 'an installation, which goes on', installer: replica, isPutBack: true },
  {
    reason: 'not a run that is alone: whoever has taken over from it may be about to end too',
    installer: alone,
    isPutBack: false,
  },
])('what another has taken over and then removed is put back by $reason', async ({ installer, isPutBack }) => {
  const { cluster, configurations } = install(installer);
  await configurations.apply([]);
  const changed = vi.fn();
  const end = configurations.watch(changed);
  await vi.waitFor(() => expect(cluster.watching()).toHaveLength(phases.length), 60_000);
  await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(phases.length), 60_000);
  await install({ ...alone, id: 'other', installation: 'other/kidp' }, cluster).configurations.apply([]);
  for (const { resource } of phases) cluster.remove(resource, key);
  // The watch delivers events in order.
  for (const { resource } of phases) {
    cluster.put(resource, { metadata: { ...key, annotations: { [installerAnnotation]: installer.id } } });
    cluster.put(resource, { metadata: { ...key, annotations: { [installerAnnotation]: installer.id, a: 'b' } } });
  }
  const expected = phases.length * (isPutBack ? 3 : 2);
  await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(expected), 60_000);
  await end();
});

test('a run that is alone does not claim to be the installation whose configurations it takes over', async () => {
  const { cluster, configurations } = install(replica);
  await configurations.apply([]);
  await install(joined, cluster).configurations.apply([]);
  for (const { resource } of phases)
    expect(cluster.get(resource, key)?.metadata.annotations).toMatchObject({ [installerAnnotation]: joined.id });
  for (const { resource } of phases)
    expect(cluster.get(resource, key)?.metadata.annotations).not.toHaveProperty([installationAnnotation]);
});
