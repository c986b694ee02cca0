import { beforeEach, describe, expect, test } from 'vitest';
import { type Loose, type MemoryCluster, memoryCluster } from '../../../test/support/memory-cluster.ts';
import type { Resource } from '../../runtime/index.ts';
import type { Snapshot } from '../contract.ts';
import {
  conversionActionFor,
  conversionsThrough,
  needsConversion,
  requireConversions,
  switchConversions,
} from './conversions.ts';
import { type Conversion, type Definition, definitionResource } from './definitions.ts';

const name = 'widgets.shop.example.com';
const [blue, green] = ['shop-blue', 'shop-green'];

const to = (namespace: string): Conversion => ({
  strategy: 'Webhook',
  webhook: { conversionReviewVersions: ['v1'], clientConfig: { service: { name: 'shop', namespace } } },
});
const none: Conversion = { strategy: 'None' };

interface Given {
  readonly conversion?: Conversion;
  /** `v1`, or `v1:another` for one with another schema; the last one is stored. */
  readonly versions?: readonly string[];
  readonly stored?: readonly string[];
  /** The version of the operator that applied it. */
  readonly by?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

function definition({ conversion, versions = ['v1'], stored, by, annotations = {} }: Given): Definition {
  const parsed = versions.map((each) => each.split(':') as [string, string?]);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name,
      annotations: { ...annotations, ...(by === undefined ? {} : { 'platform.company.com/operator-version': by }) },
    },
    spec: {
      group: 'shop.example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: parsed.map(([version, schema = 'same'], index) => ({
        name: version,
        served: true,
        storage: index === parsed.length - 1,
        schema: { openAPIV3Schema: { type: 'object', description: version, title: schema } },
      })),
      ...(conversion === undefined ? {} : { conversion }),
    },
    status: {
      conditions: [{ type: 'Established', status: 'True' }],
      storedVersions: stored ?? [parsed.at(-1)?.[0] ?? ''],
    },
  };
}

const differ = ['v1', 'v2:another'];

describe('the conversion through green when blue takes over', () => {
  test.each([
    { reason: 'blue converts', live: {}, wanted: { conversion: to(blue) }, action: 'apply' },
    { reason: 'there is one version', live: {}, wanted: {}, action: 'none' },
    { reason: 'there is one version, and blue says so', live: {}, wanted: { conversion: none }, action: 'none' },
    { reason: 'two versions differ in words only', live: { versions: ['v1', 'v2'] }, wanted: {}, action: 'none' },
    { reason: 'two versions differ', live: { versions: differ }, wanted: {}, action: 'hold' },
    {
      reason: 'two differ, and blue says none',
      live: { versions: differ },
      wanted: { conversion: none },
      action: 'hold',
    },
    {
      reason: 'two differ on blue as well, which says nothing: its controllers do',
      live: { versions: differ },
      wanted: { versions: differ },
      action: 'leave',
    },
    {
      reason: 'it is as blue brings it, and blue says none',
      live: { versions: differ, by: '1.0.0' },
      wanted: { versions: differ, conversion: none },
      action: 'none',
    },
    { reason: 'blue does not know it, and there is one version', live: {}, wanted: undefined, action: 'none' },
    { reason: 'blue does not know it', live: { versions: differ }, wanted: undefined, action: 'hold' },
    { reason: 'nobody converts', live: { conversion: none, versions: differ }, wanted: {}, action: 'leave' },
    { reason: 'it leads elsewhere', live: { conversion: to('other'), versions: differ }, wanted: {}, action: 'leave' },
  ])('$reason: $action', ({ live, wanted, action }) => {
    const there = definition({ conversion: to(green), by: '2.0.0', ...live });
    const sides = { to: { version: '1.0.0', namespace: blue }, from: green };
    expect(conversionActionFor(there, wanted === undefined ? undefined : definition(wanted), sides)).toBe(action);
  });

  test('an in-place upgrade removes no converter', () => {
    const sides = { to: { version: '1.0.0', namespace: green }, from: green };
    expect(conversionActionFor(definition({ conversion: to(green), versions: differ }), definition({}), sides)).toBe(
      'leave',
    );
  });
});

test.each([
  { reason: 'it knows the version that is stored, and no other', live: { versions: ['v2', 'v1'] }, expected: false },
  { reason: 'another is stored from now on', live: { versions: differ }, expected: true },
  { reason: 'another was stored once', live: { versions: ['v2', 'v1'], stored: ['v2', 'v1'] }, expected: true },
])('a reader of v1 needs conversion if $reason: $expected', ({ live, expected }) => {
  expect(needsConversion(definition(live), definition({}))).toBe(expected);
});

describe('on a cluster', () => {
  const widgets: Resource = {
    group: 'shop.example.com',
    version: 'v2',
    plural: 'widgets',
    kind: 'Widget',
    namespaced: true,
  };
  const side = (namespace: string, version: string, given: Given | undefined): Snapshot => ({
    name: version,
    digest: '',
    operator: 'shop',
    version,
    chartDigest: '',
    valuesDigest: '',
    environment: 'Dev',
    kubernetesVersion: 'v1.36.0',
    namespace,
    releaseName: 'shop',
    definitions: given === undefined ? [] : [definition(given)],
    manifests: [],
  });
  let cluster: MemoryCluster;
  beforeEach(() => {
    cluster = memoryCluster([definitionResource, widgets]);
  });
  const put = (given: Given) =>
    cluster.put(definitionResource, definition({ conversion: to(green), by: '2.0.0', ...given }) as unknown as Loose);
  const live = () => cluster.get(definitionResource, { name }) as Definition | undefined;
  const sides = (wanted: Given | undefined, brought: Given = { versions: differ }) => ({
    from: side(green, '2.0.0', brought),
    to: side(blue, '1.0.0', wanted),
  });

  test('without a conversion there is no webhook, which the API server would refuse', async () => {
    put({});
    expect(await switchConversions(cluster.client, sides({ conversion: none }))).toEqual([]);
    expect(live()?.spec.conversion).toEqual({ strategy: 'None' });
  });

  test('the conversion is replaced whole, except for an injected CA bundle', async () => {
    const { webhook } = to(green);
    put({
      conversion: {
        strategy: 'Webhook',
        webhook: { ...webhook, clientConfig: { url: 'https://example.com', caBundle: 'YQ==' } },
      },
      annotations: { 'cert-manager.io/inject-ca-from': 'shop-green/shop' },
    });
    const annotations = { 'cert-manager.io/inject-ca-from': 'shop-blue/shop' };
    await switchConversions(cluster.client, sides({ conversion: to(blue), annotations }));
    expect(live()?.spec.conversion?.webhook?.clientConfig).toEqual({
      caBundle: 'YQ==',
      service: { name: 'shop', namespace: blue },
    });
    expect(live()?.metadata.annotations).toMatchObject(annotations);
  });

  test('before the new side runs, only conversions through the old side are switched', async () => {
    const { client } = cluster;
    put({ conversion: none });
    await switchConversions(client, sides({ conversion: to(blue) }), { shared: true });
    expect(live()?.spec.conversion).toEqual(none);
    put({});
    await switchConversions(client, sides({ conversion: to(blue) }), { shared: true });
    expect(live()?.spec.conversion).toMatchObject(to(blue));
  });

  test('the only converter is reported and kept', async () => {
    put({ versions: differ });
    expect(await switchConversions(cluster.client, sides({}))).toEqual([{ name, isNeeded: true }]);
    expect(live()?.spec.conversion).toEqual(to(green));
  });

  test.each([
    { reason: 'they may run side by side', coexist: true, given: { versions: differ }, refused: false },
    {
      reason: 'what is stored is what the other reads',
      coexist: false,
      given: { versions: ['v2:a', 'v1'] },
      refused: false,
    },
    { reason: 'the other cannot read what is stored', coexist: false, given: { versions: differ }, refused: true },
  ])('the switch is rejected if $reason: $refused', async ({ coexist, given, refused }) => {
    put(given);
    const asked = requireConversions(cluster.client, { ...sides({}), coexist });
    if (!refused) return expect(await asked).toBeUndefined();
    const message = expect.stringContaining(`objects of ${name} are stored in a version that 1.0.0 does not know`);
    await expect(asked).rejects.toMatchObject({ code: 'helm/failed', temporary: false, message });
    expect(live()?.spec.conversion).toEqual(to(green));
  });

  test.each([
    { reason: 'there is nothing to convert', objects: 0, held: [] },
    { reason: 'there is', objects: 1, held: [{ name, isNeeded: false }] },
  ])('without a remaining side, $reason', async ({ objects, held }) => {
    put({ versions: differ });
    for (let index = 0; index < objects; index += 1)
      cluster.put(widgets, { metadata: { namespace: 'default', name: `widget-${index}` } });
    const gone = { from: side(green, '2.0.0', { versions: differ }), to: undefined };
    expect(await conversionsThrough(cluster.client, gone)).toEqual(held);
  });

  test('objects are assumed if they cannot be listed', async () => {
    put({ versions: differ });
    cluster.refuse('widgets', new Error('no'));
    const gone = { from: side(green, '2.0.0', { versions: differ }), to: undefined };
    expect(await conversionsThrough(cluster.client, gone)).toEqual([{ name, isNeeded: false }]);
  });
});
