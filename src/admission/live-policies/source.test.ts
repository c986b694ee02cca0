import { afterEach, describe, expect, test, vi } from 'vitest';
import { definitions, namespaces, policyCluster } from '../../../test/support/live-policies.ts';
import { application, policy, team } from '../../api/index.ts';
import { decide } from '../../policy/index.ts';
import { isNotFound } from '../../runtime/index.ts';
import { eventually } from '../../runtime/testing/index.ts';
import { type LivePolicySource, startPolicySource } from './source.ts';

const running: LivePolicySource[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()));
});

async function start(cluster = policyCluster()) {
  const source = startPolicySource({
    client: cluster.client,
    platformNamespace: 'kidp-system',
    exceptionNamespaces: ['policy-exceptions'],
  });
  running.push(source);
  await source.whenSynced();
  return { cluster, source };
}

const names = (source: LivePolicySource) => source.current().set.policies.map(({ model }) => model.name);

function judged(source: LivePolicySource, data: Record<string, string>) {
  const { set, world } = source.current();
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'team-a' }, data };
  return decide(
    set,
    {
      uid: '1',
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      resource: { group: '', version: 'v1', resource: 'configmaps' },
      operation: 'CREATE',
      namespace: 'team-a',
      name: 'x',
      object,
    },
    world,
  );
}

describe('policies', () => {
  test('that are there when it starts, come, change and go are in the set', async () => {
    const cluster = policyCluster();
    cluster.putPolicy('first', "object.data.a == 'x'");
    const { source } = await start(cluster);
    expect(names(source)).toEqual(['first']);
    expect(judged(source, { a: 'y' }).allowed).toBe(false);
    cluster.putPolicy('second', 'true');
    await eventually(() => names(source).includes('second'));
    const kept = source.current().set.policies.find(({ model }) => model.name === 'second');
    cluster.putPolicy('first', "object.data.a == 'y'");
    await eventually(() => judged(source, { a: 'y' }).allowed);
    expect(source.current().set.policies.find(({ model }) => model.name === 'second')).toBe(kept);
    cluster.remove(policy.resource, { name: 'first' });
    await eventually(() => names(source).length === 1);
  });

  test('that change together are built together, and a status is no change', async () => {
    const { cluster, source } = await start();
    let sets = 0;
    source.subscribe(({ what }) => {
      if (what === 'set') sets += 1;
    });
    for (let index = 0; index < 200; index += 1) cluster.putPolicy(`p${index}`, 'true');
    await eventually(() => names(source).length === 200);
    expect(sets).toBeLessThan(20);
    const { set } = source.current();
    const written = cluster.get(policy.resource, { name: 'p0' });
    cluster.put(policy.resource, { ...written, metadata: { name: 'p0' }, status: { phase: 'ready' } });
    await eventually(
      () => source.appliedVersion === cluster.get(policy.resource, { name: 'p0' })?.metadata.resourceVersion,
    );
    expect(source.current().set).toBe(set);
  });

  test('that do not compile are out of force, with what they said before, and say why', async () => {
    const { cluster, source } = await start();
    cluster.putPolicy('p', 'true');
    cluster.putPolicy('other', 'true');
    await eventually(() => names(source).length === 2);
    cluster.putPolicy('p', 'object.data.(');
    await eventually(() => names(source).length === 1);
    const state = source.state('p');
    expect(state).toMatchObject({ inForce: false, generation: 2 });
    expect(state?.issues[0]).toMatchObject({ severity: 'error', path: 'spec.rules[0].expression', line: 1 });
    cluster.putPolicy('p', 'true');
    await eventually(() => names(source).length === 2);
  });
});

describe('what policies read', () => {
  const params = { params: { apiVersion: 'v1', kind: 'ConfigMap', name: 'limits', namespace: 'default' } };

  test('is there before they come into force, and followed from then on', async () => {
    const { cluster, source } = await start();
    cluster.putConfigMap('limits', 'default', { wanted: 'x' });
    cluster.putPolicy('p', 'object.data.a == params.data.wanted', params);
    await eventually(() => names(source).includes('p'));
    expect(judged(source, { a: 'x' }).allowed).toBe(true);
    const changed: string[] = [];
    source.followObjects((apiVersion, kind) => void changed.push(`${apiVersion}/${kind}`));
    cluster.putConfigMap('limits', 'default', { wanted: 'y' });
    await eventually(() => judged(source, { a: 'y' }).allowed);
    expect(changed).toContain('v1/ConfigMap');
    cluster.remove(policy.resource, { name: 'p' });
    await eventually(() => !cluster.watching().includes('configmaps'));
  });

  test('and cannot be had at all does not keep them back: they fail as their failurePolicy says', async () => {
    const { cluster, source } = await start();
    cluster.putPolicy('p', 'params.spec.x == 1', { params: { apiVersion: 'x.dev/v1', kind: 'Limit', name: 'l' } });
    await eventually(() => names(source).includes('p'));
    expect(judged(source, {}).allowed).toBe(false);
  });

  test('is read once for policies that are not in force', async () => {
    const { cluster, source } = await start();
    cluster.putConfigMap('limits', 'default', { wanted: 'x' });
    cluster.putPolicy('p', 'object.data.a == params.data.wanted', params);
    await eventually(() => names(source).includes('p'));
    const models = source.current().set.policies.map(({ model }) => model);
    cluster.remove(policy.resource, { name: 'p' });
    await eventually(
      () =>
        source.current().world.find({ apiVersion: 'v1', kind: 'ConfigMap' }) === undefined &&
        names(source).length === 0,
    );
    const world = await source.worldFor(models);
    const query = { apiVersion: 'v1', kind: 'ConfigMap', name: 'limits', namespace: 'default' };
    expect(world.find(query)).toHaveLength(1);
    expect(world.find({ ...query, name: 'other' })).toEqual([]);
  });
});

test('exceptions count in the configured namespaces only', async () => {
  const { cluster, source } = await start();
  cluster.putPolicy('p', 'false');
  const spec = { policies: [{ name: 'p' }], selector: {}, reason: 'tried out', requester: 'ada@company.com' };
  cluster.putException('elsewhere', 'default', spec);
  await eventually(() => names(source).includes('p'));
  expect(judged(source, {}).allowed).toBe(false);
  cluster.putException('here', 'policy-exceptions', spec);
  await eventually(() => judged(source, {}).allowed);
});

test('a namespace that the cache does not know is read', async () => {
  const { cluster, source } = await start();
  expect(source.current().world.namespace('team-a')).toMatchObject({ metadata: { labels: { team: 'team-a' } } });
  expect(source.current().world.namespace('nowhere')).toBeUndefined();
  await source.knowNamespace('nowhere');
  expect(source.current().world.namespace('nowhere')).toBeUndefined();
  cluster.put(namespaces, { metadata: { name: 'just-made' } });
  await source.knowNamespace('just-made');
  expect(source.current().world.namespace('just-made')).toMatchObject({ metadata: { name: 'just-made' } });
});

test('a namespace that was read is no longer known once it is gone and the cache must know', async () => {
  const { cluster, source } = await start();
  const { namespace } = source.current().world;
  cluster.put(namespaces, { metadata: { name: 'short-lived' } });
  await source.knowNamespace('short-lived');
  cluster.remove(namespaces, { name: 'short-lived' });
  const later = Date.now() + 60_000;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => later);
  try {
    await eventually(() => namespace('short-lived') === undefined);
  } finally {
    clock.mockRestore();
  }
});

describe('the kinds of the cluster', () => {
  const things = { group: 'x.dev', version: 'v1', plural: 'things', kind: 'Thing', namespaced: true };
  const definition = (type: string) => ({
    metadata: { name: 'things.x.dev' },
    spec: {
      group: 'x.dev',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description: 'prose',
              properties: {
                spec: { type: 'object', properties: { size: { type }, description: { type: 'string' } } },
              },
            },
          },
        },
      ],
    },
    status: { conditions: [{ type: 'Established', status: 'True' }] },
  });

  test('follow their definitions, with schemas for the type checks', async () => {
    const { cluster, source } = await start(policyCluster([things]));
    expect(source.mapping.byKind('', 'ConfigMap')).toMatchObject({ plural: 'configmaps' });
    const groups: string[] = [];
    source.subscribe((change) => {
      if (change.what === 'kinds') groups.push(change.group);
    });
    cluster.put(definitions, definition('integer'));
    const kind = { group: 'x.dev', version: 'v1', kind: 'Thing' };
    await eventually(() => groups.includes('x.dev'));
    expect(source.mapping.byKind('x.dev', 'Thing')).toMatchObject({ plural: 'things', namespaced: true });
    const schema = source.schemas().schema(kind);
    expect(schema).toMatchObject({ properties: { spec: { properties: { size: { type: 'integer' } } } } });
    expect(schema?.properties?.spec?.properties).toHaveProperty('description');
    expect(schema).not.toHaveProperty('description');
    expect(source.schemas().schema(kind)).toBe(schema);
    expect(source.current().world.schema?.(kind)).toBe(schema);
    // Kubernetes' own kinds merge by what is known of them elsewhere.
    expect(source.current().world.schema?.({ group: '', version: 'v1', kind: 'ConfigMap' })).toBeUndefined();
    const before = source.schemaVersion;
    cluster.put(definitions, { ...definition('integer'), spec: { ...definition('integer').spec, preserve: false } });
    cluster.put(definitions, definition('string'));
    await eventually(() => source.schemaVersion > before);
    await eventually(() => source.schemas().schema(kind)?.properties?.spec?.properties?.size?.type === 'string');
  });
});

describe('owners', () => {
  test('come from the caches, and from the API server on a miss', async () => {
    const { cluster, source } = await start();
    const teamOf = (name: string, namespace: string) =>
      cluster.put(team.resource, { metadata: { name }, spec: { namespace } });
    teamOf('backend', 'team-a');
    await expect(source.owners.team('backend')).resolves.toEqual({ namespace: 'team-a' });
    await expect(source.owners.team('nobody')).resolves.toBeUndefined();
    await eventually(async () => (await source.owners.teamOf('team-a')) === 'backend');
    await expect(source.owners.teamOf('default')).resolves.toBeUndefined();
    await expect(source.owners.teamOf('team-a', { live: true })).resolves.toBe('backend');
    const owner = { kind: 'Team', name: 'backend' };
    cluster.put(application.resource, { metadata: { name: 'shop', namespace: 'team-a' }, spec: { owner } });
    await expect(source.owners.application('team-a', 'shop')).resolves.toMatchObject({ owner });
    await expect(source.owners.application('team-a', 'none')).resolves.toBeUndefined();
    cluster.refuse('teams', new Error('away'));
    await expect(source.owners.team('unknown')).rejects.toSatisfy((error) => !isNotFound(error));
  });
});

test.each([
  { reason: 'policies', last: 'policies' },
  { reason: 'definitions', last: 'customresourcedefinitions' },
])('it has synced once it knows all, with $reason coming last', async ({ last }) => {
  const cluster = policyCluster();
  cluster.putPolicy('p', 'true');
  cluster.refuse(last, new Error('not yet'));
  const source = startPolicySource({ client: cluster.client, platformNamespace: 'n', exceptionNamespaces: [] });
  running.push(source);
  await eventually(() => cluster.calls.filter((call) => call === `list ${last}`).length > 1);
  expect(source.synced()).toBe(false);
  cluster.refuse(last, undefined);
  await source.whenSynced();
  expect(names(source)).toEqual(['p']);
});

test('stopping before it has synced ends whoever waits', async () => {
  const cluster = policyCluster();
  cluster.refuse('policies', new Error('away'));
  const source = startPolicySource({ client: cluster.client, platformNamespace: 'n', exceptionNamespaces: [] });
  const waiting = source.whenSynced();
  expect(source.synced()).toBe(false);
  await source.stop();
  await expect(waiting).rejects.toThrow('stopped');
});
