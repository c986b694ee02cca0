import { expect, test, vi } from 'vitest';
import { type Loose, memoryCluster } from '../../test/support/memory-cluster.ts';
import { resourceMapping } from '../runtime/index.ts';
import { configurationName, installerAnnotation, managedByLabel, phases } from './configuration.ts';
import { webhookConfigurations } from './configurations.ts';

const key = { name: configurationName };

function install() {
  const cluster = memoryCluster(phases.map(({ resource }) => resource));
  const configurations = webhookConfigurations({
    client: cluster.client,
    installer: { id: 'this-run', sharesCertificates: true },
    target: { url: 'https://127.0.0.1:1' },
    bundle: () => ({ pem: 'pem', generation: 1 }),
    failurePolicy: 'Fail',
    platformNamespace: 'kidp-system',
    mapping: () => resourceMapping([]),
  });
  return { cluster, configurations };
}

const rows: { reason: string; metadata: Record<string, unknown>; isPutBack: boolean }[] = [
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
];

test.each(rows)('configurations are put back where it is right to: $reason', async ({ metadata, isPutBack }) => {
  const { cluster, configurations } = install();
  await configurations.apply([]);
  const changed = vi.fn();
  const end = configurations.watch(changed);
  await vi.waitFor(() => expect(cluster.watching()).toHaveLength(phases.length), 60_000);
  const stored = phases.map(({ resource }) => cluster.get(resource, key)?.webhooks);
  for (const { resource } of phases)
    cluster.put(resource, { metadata: { ...key, ...metadata }, webhooks: [] } as Loose);
  if (isPutBack)
    await vi.waitFor(() => expect(changed.mock.calls.length).toBeGreaterThanOrEqual(phases.length), 60_000);
  await configurations.apply([]);
  const after = phases.map(({ resource }) => cluster.get(resource, key)?.webhooks);
  expect(after).toEqual(isPutBack ? stored : [[], []]);
  await end();
  expect(changed.mock.calls.length > 0).toBe(isPutBack);
});

test('what somebody else has made under that name is left alone from the beginning', async () => {
  const { cluster, configurations } = install();
  const [, validating] = phases;
  if (validating === undefined) throw new Error('there are two phases');
  cluster.put(validating.resource, { metadata: key });
  await expect(configurations.apply([])).rejects.toThrow(/kidp has not made/);
  expect(phases.map(({ resource }) => cluster.get(resource, key)?.webhooks)).toEqual([undefined, undefined]);
});
