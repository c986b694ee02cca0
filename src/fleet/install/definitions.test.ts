import { beforeEach, describe, expect, test } from 'vitest';
import { type Loose, type MemoryCluster, memoryCluster } from '../../../test/support/memory-cluster.ts';
import { systemClock } from '../../runtime/index.ts';
import type { Snapshot } from '../contract.ts';
import {
  applyDefinitions,
  type Conversion,
  type Definition,
  definitionResource,
  settleStorage,
} from './definitions.ts';
import { deadlineIn } from './wait.ts';

const name = 'widgets.shop.example.com';
const to = (namespace: string): Conversion => ({
  strategy: 'Webhook',
  webhook: { conversionReviewVersions: ['v1'], clientConfig: { service: { name: 'shop', namespace } } },
});
const none: Conversion = { strategy: 'None' };
const injected = (from: string) => ({ 'cert-manager.io/inject-ca-from': from });

/** The last version is stored; with a colon comes how its schema differs. */
const definition = (
  versions: readonly string[],
  conversion?: Conversion,
  annotations: Readonly<Record<string, string>> = {},
): Definition => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name, annotations },
  spec: {
    group: 'shop.example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: versions.map((each, index) => ({
      name: each.split(':')[0] ?? '',
      served: true,
      storage: index === versions.length - 1,
      schema: { openAPIV3Schema: { type: 'object', title: each.split(':')[1] ?? '' } },
    })),
    ...(conversion === undefined ? {} : { conversion }),
  },
  status: { conditions: [{ type: 'Established', status: 'True' }] },
});

const snapshot = (wanted: Definition): Snapshot => ({
  name: 'two',
  digest: '',
  operator: 'shop',
  version: '2.0.0',
  chartDigest: '',
  valuesDigest: '',
  environment: 'Dev',
  kubernetesVersion: 'v1.36.0',
  namespace: 'shop-green',
  releaseName: 'shop',
  definitions: [wanted],
  manifests: [],
});

let cluster: MemoryCluster;
beforeEach(() => {
  const widgets = { group: 'shop.example.com', plural: 'widgets', kind: 'Widget', namespaced: true };
  cluster = memoryCluster([definitionResource, ...['v1', 'v2'].map((version) => ({ ...widgets, version }))]);
});
const put = (live: Definition) => cluster.put(definitionResource, live as unknown as Loose);
const live = () => cluster.get(definitionResource, { name }) as Definition | undefined;
const stored = () => live()?.spec.versions?.find(({ storage }) => storage)?.name;
const apply = (wanted: Definition, beside = true) =>
  applyDefinitions(cluster.client, snapshot(wanted), { ...deadlineIn(systemClock, 10_000), beside });

describe('beside another side', () => {
  test.each([
    {
      reason: 'who converts goes on',
      there: definition(['v1', 'v2:a'], to('shop-blue'), injected('shop-blue/shop')),
      wanted: definition(['v1', 'v2:a'], to('shop-green'), injected('shop-green/shop')),
      expected: to('shop-blue'),
      annotations: injected('shop-blue/shop'),
    },
    {
      reason: 'where nobody does, and nothing would be lost, nobody is asked before the switch',
      there: definition(['v1'], none),
      wanted: definition(['v1', 'v2'], to('shop-green')),
      expected: none,
      annotations: {},
    },
    {
      reason: 'where nobody does, and something would be lost, who is not there yet is asked',
      there: definition(['v1'], none),
      wanted: definition(['v1', 'v2:a'], to('shop-green'), injected('shop-green/shop')),
      expected: to('shop-green'),
      annotations: injected('shop-green/shop'),
    },
  ])('$reason', async ({ there, wanted, expected, annotations }) => {
    put(there);
    await apply(wanted);
    expect(live()?.spec.conversion).toEqual(expected);
    expect(live()?.metadata.annotations).toEqual({ ...annotations, 'platform.company.com/operator-version': '2.0.0' });
  });

  test('objects are stored as they were until the other side is gone', async () => {
    put(definition(['v1'], none));
    const wanted = definition(['v1', 'v2:a'], to('shop-green'));
    await apply(wanted);
    expect(stored()).toBe('v1');
    await settleStorage(cluster.client, snapshot(wanted));
    expect(stored()).toBe('v2');
    const asked = cluster.calls.filter((call) => call.startsWith('patch')).length;
    await settleStorage(cluster.client, snapshot(wanted));
    expect(cluster.calls.filter((call) => call.startsWith('patch'))).toHaveLength(asked);
  });

  test('an older version does not settle the storage of a newer one', async () => {
    put(definition(['v1', 'v2'], none, { 'platform.company.com/operator-version': '3.0.0' }));
    await settleStorage(cluster.client, snapshot(definition(['v2', 'v1'])));
    expect(stored()).toBe('v2');
  });

  test('a removed version is no longer stored', async () => {
    put(definition(['v1'], none));
    await apply(definition(['v2']));
    expect(stored()).toBe('v2');
  });
});

test('without another side the definition is applied as in the chart', async () => {
  put(definition(['v1'], none));
  await apply(definition(['v1', 'v2:a'], to('shop-green')), false);
  expect([stored(), live()?.spec.conversion]).toEqual(['v2', to('shop-green')]);
});
