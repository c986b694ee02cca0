/** Evaluates the CEL rules of the CRDs on a real API server: immutable fields and combinations of fields. */
import { beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../src/api/index.ts';
import { ApiError, type Client, keyOf } from '../../src/runtime/index.ts';
import type { Cluster } from '../support/cluster.ts';
import { installKinds, type Manifest, moved, resourceOf } from './support/installed.ts';

let cluster: Cluster;
let client: Client;
let namespace: string;
beforeAll(async () => {
  ({ cluster, client } = await installKinds());
  namespace = await cluster.uniqueNamespace('rules');
  return () => client.close();
});

const team = { kind: 'Team', name: 'backend-team' };
const otherTeam = { kind: 'Team', name: 'other-team' };
let counter = 0;
const manifest = (kind: string, spec: object): Manifest => {
  counter += 1;
  const object = {
    apiVersion: 'platform.company.com/v1',
    kind,
    metadata: { name: `rule-${counter}` },
    spec: { ...spec },
  };
  return moved(object, namespace);
};

/** Returns the message of the cause for the field. It fails if the request was admitted. */
async function denialOf(request: Promise<unknown>, field: string): Promise<string> {
  const error = await request.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ApiError)) throw error ?? new Error('the request was admitted');
  const cause = error.details.causes?.find((candidate) => candidate.field === field);
  if (!cause) throw new Error(`no cause names ${field}: ${JSON.stringify(error.details.causes)}`);
  return cause.message ?? '';
}

describe('the owner cannot be changed, with any kubectl command', () => {
  const changes = [
    { reason: 'changed', before: { owner: team }, after: { owner: otherTeam } },
    { reason: 'given a namespace', before: { owner: team }, after: { owner: { ...team, namespace: 'team-backend' } } },
    { reason: 'removed', before: { owner: team }, after: {} },
    { reason: 'added', before: {}, after: { owner: team } },
  ];
  const ways: {
    way: string;
    ask: (before: Manifest, after: Manifest) => { flags: string[]; input?: Manifest };
  }[] = [
    { way: 'apply', ask: (_, after) => ({ flags: ['apply', '-f', '-'], input: after }) },
    {
      way: 'server-side apply',
      ask: (_, after) => ({
        flags: ['apply', '--server-side', '--force-conflicts', '--field-manager=kubectl-create', '-f', '-'],
        input: after,
      }),
    },
    { way: 'replace', ask: (_, after) => ({ flags: ['replace', '-f', '-'], input: after }) },
    {
      way: 'a merge patch',
      ask: ({ metadata }, { spec }) => ({
        flags: [
          ...patchOf(metadata.name),
          '--type=merge',
          '-p',
          JSON.stringify({ spec: { owner: spec.owner ?? null } }),
        ],
      }),
    },
    {
      way: 'a JSON patch',
      ask: ({ metadata }, { spec }) => {
        const operation = spec.owner
          ? { op: 'add', path: '/spec/owner', value: spec.owner }
          : { op: 'remove', path: '/spec/owner' };
        return { flags: [...patchOf(metadata.name), '--type=json', '-p', JSON.stringify([operation])] };
      },
    },
  ];
  const patchOf = (name: string) => ['patch', 'databases.platform.company.com', name, '-n', namespace];

  const table = ways.flatMap((way) => changes.map((change) => ({ ...way, ...change })));
  test.each(table)('$reason by $way', async ({ before, after, ask, way }) => {
    const old = manifest('Database', before);
    // Only apply remembers what was applied before, so only there the beginning must be an apply as well.
    if (way.includes('apply'))
      expect(await cluster.kubectl(ask(old, old).flags, { input: old })).toMatchObject({ code: 0 });
    else await client.create(resourceOf(old), old);
    const live = await client.get<Manifest>(resourceOf(old), keyOf(old));

    // Only replace needs the live object; the other commands take a manifest as a user would write it.
    const changed = { ...old, spec: after };
    const { flags, input } = ask(old, way === 'replace' ? { ...live, spec: after } : changed);
    const answer = await cluster.kubectl(flags, input ? { input } : {});
    expect(answer.code).not.toBe(0);
    expect(answer.stderr).toContain('spec.owner: Forbidden: spec.owner is fixed at creation');
    expect((await client.get<Manifest>(resourceOf(old), keyOf(old))).spec).toEqual(live.spec);
  });

  const owned = kinds.filter((kind) => kind.spec.openapi.properties?.owner).map((kind) => kind.kind);
  test.each(owned.flatMap((kind) => changes.map((change) => ({ kind, ...change }))))('$reason on a $kind', async ({
    kind,
    before,
    after,
  }) => {
    const live = await client.create(resourceOf({ kind } as Manifest), manifest(kind, before));
    const { owner: _, ...rest } = live.spec;
    const update = client.update(resourceOf(live), { ...live, spec: { ...rest, ...after } });
    expect(await denialOf(update, 'spec.owner')).toContain('create the object again under the new owner');
  });

  test('other fields can be changed, and a status update does not touch the owner', async () => {
    const live = await client.create<Manifest>(
      resourceOf({ kind: 'Database' } as Manifest),
      manifest('Database', { owner: team }),
    );
    const changed = await client.update(resourceOf(live), { ...live, spec: { ...live.spec, size: 'large' } });
    expect(changed.spec.size).toBe('large');
    const owner = { kind: 'Team', name: 'other-team' };
    await client.patch(
      resourceOf(live),
      keyOf(live),
      { type: 'merge', body: { spec: { owner }, status: { phase: 'ready' } } },
      { subresource: 'status' },
    );
    expect((await client.get<Manifest>(resourceOf(live), keyOf(live))).spec.owner).toEqual(team);
  });
});

describe('other immutable fields', () => {
  const target = { targetRef: { name: 'azure-westus2-prod' } };
  const otherTarget = { targetRef: { name: 'aws-east1-staging' } };
  test.each([
    {
      kind: 'Team',
      field: 'namespace',
      before: { namespace: 'team-a' },
      after: { namespace: 'team-b' },
      says: 'another Team',
    },
    { kind: 'Database', field: 'engine', before: { engine: 'mysql' }, after: { engine: 'mongodb' }, says: 'migrate' },
    {
      kind: 'Database',
      field: 'engine',
      before: { engine: 'mysql' },
      after: {},
      says: 'migrate',
      reason: 'an omitted field gets its default',
    },
    {
      kind: 'Database',
      field: 'version',
      before: { version: '16.2' },
      after: { version: '15.9' },
      says: 'restore a backup',
    },
    {
      kind: 'Database',
      field: 'version',
      before: { version: '16' },
      after: {},
      says: 'keep it',
      reason: 'a removed version could be set again to a lower one',
    },
    { kind: 'Cache', field: 'engine', before: {}, after: { engine: 'valkey' }, says: 'another Cache' },
    {
      kind: 'Topic',
      field: 'partitions',
      before: { partitions: 6 },
      after: { partitions: 5 },
      says: 'only be increased',
    },
    { kind: 'Topic', field: 'partitions', before: { partitions: 6 }, after: {}, says: 'only be increased' },
    { kind: 'Topic', field: 'type', before: {}, after: { type: 'queue' }, says: 'another Topic' },
    { kind: 'Topic', field: 'topicName', before: { topicName: 'a' }, after: { topicName: 'b' }, says: 'another Topic' },
    { kind: 'Topic', field: 'topicName', before: {}, after: { topicName: 'b' }, says: 'another Topic' },
    { kind: 'Service', field: 'targetRef', before: target, after: otherTarget, says: 'other target' },
    { kind: 'Secret', field: 'targetRef', before: target, after: {}, says: 'other target' },
    {
      kind: 'DeploymentTarget',
      field: 'region',
      before: { provider: 'aws', region: 'east1' },
      after: { provider: 'aws', region: 'west1' },
      says: 'another DeploymentTarget',
    },
    {
      kind: 'DeploymentTarget',
      field: 'provider',
      before: { provider: 'aws' },
      after: { provider: 'azure' },
      says: 'another DeploymentTarget',
    },
  ])('spec.$field of a $kind: $before → $after', async ({ kind, field, before, after, says }) => {
    const live = await client.create(resourceOf({ kind } as Manifest), manifest(kind, before));
    const update = client.update(resourceOf(live), { ...live, spec: after });
    expect(await denialOf(update, `spec.${field}`)).toContain(says);
  });

  test.each([
    { kind: 'Topic', before: { partitions: 6 }, after: { partitions: 7 }, reason: 'partitions can be increased' },
    { kind: 'Database', before: { version: '15.9' }, after: { version: '16' }, reason: 'a version can be increased' },
    { kind: 'Database', before: { version: '9.6' }, after: { version: '10.1' }, reason: 'versions compare as numbers' },
    { kind: 'Service', before: {}, after: target, reason: 'a target can be set later' },
    { kind: 'Service', before: {}, after: { image: 'registry.company.com/a:1' }, reason: 'an image can be set later' },
  ])('$reason: the spec of a $kind changes from $before to $after', async ({ kind, before, after }) => {
    const live = await client.create(resourceOf({ kind } as Manifest), manifest(kind, before));
    const updated = await client.update(resourceOf(live), { ...live, spec: { ...live.spec, ...after } });
    expect(updated.spec).toMatchObject(after);
  });
});

describe('invalid values', () => {
  const exception = {
    policies: [{ name: 'a' }],
    reason: 'b',
    requester: 'c',
    selector: { resourceTypes: ['Database'] },
  };
  const until = (expiresAt: string) => ({ ...exception, expiresAt });
  test.each([
    {
      reason: 'digits that are not a date',
      kind: 'PolicyException',
      spec: until('2026-99-99'),
      field: 'spec.expiresAt',
    },
    {
      reason: 'an hour out of range',
      kind: 'PolicyException',
      spec: until('2026-01-31T24:00:00Z'),
      field: 'spec.expiresAt',
    },
    {
      reason: 'a leap day in a common year',
      kind: 'PolicyException',
      spec: until('2026-02-29'),
      field: 'spec.expiresAt',
    },
    {
      reason: 'a leap day in a common century year',
      kind: 'PolicyException',
      spec: until('2100-02-29'),
      field: 'spec.expiresAt',
    },
    {
      reason: 'a negative amount as a number',
      kind: 'Service',
      spec: { resources: { requests: { cpu: -1 } } },
      field: 'spec.resources.requests.cpu',
    },
    {
      reason: 'a negative amount as text',
      kind: 'Team',
      spec: { quota: { pods: '-1' } },
      field: 'spec.quota.pods',
    },
  ])('$reason', async ({ kind, spec, field }) => {
    const create = client.create(resourceOf({ kind } as Manifest), manifest(kind, spec), { dryRun: true });
    expect((await denialOf(create, field)).length).toBeGreaterThan(10);
  });

  test.each(['2028-02-29', '2000-02-29T00:00:00Z', '2024-02-29', '2032-02-29'])('%s is a leap day', async (day) => {
    const object = manifest('PolicyException', until(day));
    await client.create(resourceOf(object), object, { dryRun: true });
  });
});

describe('invalid combinations of fields', () => {
  const rules = [{ name: 'a', expression: 'true' }];
  const selector = { resourceTypes: ['Database'] };
  const exception = { policies: [{ name: 'a' }], reason: 'b', requester: 'c' };
  test.each([
    {
      reason: 'In without values',
      kind: 'Application',
      spec: { dependencies: { cacheSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } } },
      field: 'spec.dependencies.cacheSelector.matchExpressions[0].values',
    },
    {
      reason: 'Exists with values',
      kind: 'Application',
      spec: {
        dependencies: { cacheSelector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] } },
      },
      field: 'spec.dependencies.cacheSelector.matchExpressions[0].values',
    },
    {
      reason: 'an eviction policy that memcached does not support',
      kind: 'Cache',
      spec: { engine: 'memcached', eviction: 'volatile-ttl' },
      field: 'spec.eviction',
    },
    { reason: 'queue settings on a topic', kind: 'Topic', spec: { queue: {} }, field: 'spec.queue' },
    { reason: 'a value without a source', kind: 'Secret', spec: { keys: [{ name: 'a' }] }, field: 'spec.keys[0]' },
    {
      reason: 'a value with two sources',
      kind: 'Secret',
      spec: { keys: [{ name: 'a', generate: {}, remoteRef: { path: 'b' } }] },
      field: 'spec.keys[0]',
    },
    {
      reason: 'a variable with two values',
      kind: 'Service',
      spec: { env: [{ name: 'A', value: '', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }] },
      field: 'spec.env[0].valueFrom',
    },
    {
      reason: 'a variable without a source',
      kind: 'Service',
      spec: { env: [{ name: 'A', valueFrom: {} }] },
      field: 'spec.env[0].valueFrom',
    },
    {
      reason: 'the same port twice, once with an explicit protocol',
      kind: 'Service',
      spec: { ports: [{ port: 80 }, { port: 80, protocol: 'TCP' }] },
      field: 'spec.ports',
    },
    {
      reason: 'a minimum above the maximum',
      kind: 'Service',
      spec: { autoscaling: { minReplicas: 3, maxReplicas: 2 } },
      field: 'spec.autoscaling.minReplicas',
    },
    { reason: 'HTTP without an endpoint', kind: 'Broker', spec: { channel: 'Both' }, field: 'spec.endpoint' },
    {
      reason: 'a heartbeat timeout below the interval',
      kind: 'Broker',
      spec: { channel: 'Kafka', heartbeat: { intervalSeconds: 90 } },
      field: 'spec.heartbeat.timeoutSeconds',
    },
    { reason: 'a policy without rules and mutations', kind: 'Policy', spec: { selector }, field: 'spec.rules' },
    {
      reason: 'a patch that does not match its type',
      kind: 'Policy',
      spec: { selector, mutations: [{ patchType: 'JSONPatch', applyConfiguration: { expression: 'a' } }] },
      field: 'spec.mutations[0]',
    },
    {
      reason: 'params by name and by selector',
      kind: 'Policy',
      spec: { selector, rules, params: { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', selector: {} } },
      field: 'spec.params',
    },
    {
      reason: 'two rules with the same name',
      kind: 'Policy',
      spec: { selector, rules: [...rules, ...rules] },
      field: 'spec.rules[1]',
    },
    { reason: 'an exception without a selector', kind: 'PolicyException', spec: exception, field: 'spec.selector' },
    {
      reason: 'a resource type with too few segments',
      kind: 'Policy',
      spec: { selector: { resourceTypes: ['apps/Deployment'] }, rules },
      field: 'spec.selector.resourceTypes[0]',
    },
  ])('$reason', async ({ kind, spec, field }) => {
    const create = client.create(resourceOf({ kind } as Manifest), manifest(kind, spec), { dryRun: true });
    expect((await denialOf(create, field)).length).toBeGreaterThan(10);
  });

  const rollout = (stages: readonly number[]) =>
    manifest('OperatorDeployment', {
      operator: 'cert-manager',
      version: 'v1.14.0',
      clusters: ['dev'],
      strategy: 'Canary',
      canaryConfig: { stages },
    });
  test.each([
    { reason: 'decreasing stages', stages: [50, 10] },
    { reason: 'equal stages', stages: [10, 10] },
    { reason: 'stages that increase and then decrease', stages: [10, 50, 20] },
  ])('canary stages must be strictly increasing: $reason', async ({ stages }) => {
    const object = rollout(stages);
    const create = client.create(resourceOf(object), object, { dryRun: true });
    expect(await denialOf(create, 'spec.canaryConfig.stages')).toContain('must be strictly increasing');
  });

  test.each([
    { reason: 'increasing stages', stages: [10, 50, 100] },
    { reason: 'a single stage', stages: [25] },
  ])('canary stages are admitted: $reason', async ({ stages }) => {
    const object = rollout(stages);
    await client.create(resourceOf(object), object, { dryRun: true });
  });

  test.each([
    'Database',
    'core/v1/Pod',
    'core/v1/Pod/exec',
    'apps/v1/Deployment',
    'apps/*/Deployment',
    'networking.k8s.io/v1/Ingress/status',
    'argoproj.io/v1alpha1/Rollout',
    '*/*/*',
    '*',
  ])('%s is a resource type', async (type) => {
    const object = manifest('Policy', { selector: { resourceTypes: [type] }, rules });
    await client.create(resourceOf(object), object, { dryRun: true });
  });

  test('a name longer than a label value is rejected for kinds whose names become labels', async () => {
    const object = { ...manifest('Service', {}), metadata: { name: 'a'.repeat(64), namespace } };
    expect(await denialOf(client.create(resourceOf(object), object), 'metadata.name')).toContain('63');
  });
});
