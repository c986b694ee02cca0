/** The policy controllers together, on a cluster in memory: what is written when. */
import { afterEach, describe, expect, test } from 'vitest';
import {
  configMaps,
  leaseResource,
  namespaces,
  type PolicyCluster,
  policyCluster,
} from '../../../test/support/live-policies.ts';
import { type Policy, type PolicyException, policy, policyException, replicaLease } from '../../api/index.ts';
import {
  type CompiledPolicy,
  compilePolicy,
  kubernetesSchemas,
  type PolicySet,
  policySet,
  readPolicy,
} from '../../policy/index.ts';
import type { PolicyState } from '../../policy/internal.ts';
import { type Condition, getCondition, Manager, type Resource, silentLogger } from '../../runtime/index.ts';
import { discover, resourceMapping } from '../../runtime/internal.ts';
import { eventually } from '../../runtime/testing/index.ts';
import { addPolicyReconcilers, type PolicyReconcilers } from './index.ts';
import { clusterReports, reports } from './reports.ts';
import type { PolicyView } from './view.ts';

const registration = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false };
const validating: Resource = {
  ...registration,
  plural: 'validatingwebhookconfigurations',
  kind: 'ValidatingWebhookConfiguration',
};
const others: Resource[] = [
  validating,
  { ...registration, plural: 'mutatingwebhookconfigurations', kind: 'MutatingWebhookConfiguration' },
  { ...registration, plural: 'validatingadmissionpolicies', kind: 'ValidatingAdmissionPolicy' },
  { ...registration, plural: 'validatingadmissionpolicybindings', kind: 'ValidatingAdmissionPolicyBinding' },
];

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A view that compiles the policies of the cluster on demand. */
async function startView(cluster: PolicyCluster) {
  const mapping = resourceMapping((await discover(cluster.client)).resources);
  const listeners = new Set<Parameters<PolicyView['subscribe']>[0]>();
  let states = new Map<string, PolicyState>();
  let set: PolicySet = policySet({ policies: [] });
  const world = () => ({
    now: Date.now(),
    namespace: (name: string) => cluster.get(namespaces, { name }),
    find: () => undefined,
  });
  const view: PolicyView = {
    current: () => ({ set, world: world() }),
    worldFor: async () => world(),
    state: (name) => states.get(name),
    mapping,
    schemaVersion: 1,
    schemas: kubernetesSchemas,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    followObjects: () => () => {},
  };
  const refresh = async () => {
    const { items } = await cluster.client.list<Policy>(policy.resource);
    const compiled: CompiledPolicy[] = [];
    states = new Map(
      items.map((object) => {
        const { model, issues } = readPolicy(object as never);
        const made = model === undefined ? { issues } : compilePolicy(model);
        if (made.policy !== undefined) compiled.push(made.policy);
        const { name, uid = '', generation = 0, resourceVersion = '' } = object.metadata;
        const state = {
          name,
          uid,
          generation,
          resourceVersion,
          waitsFor: [],
          inForce: true,
          issues: [...issues, ...made.issues],
        };
        return [
          name,
          {
            ...state,
            ...(model === undefined ? {} : { model }),
            ...(made.policy === undefined ? {} : { policy: made.policy }),
          },
        ];
      }),
    );
    set = policySet({ policies: compiled });
    for (const listener of listeners) listener({ what: 'set' });
  };
  return { view, refresh };
}

async function start(cluster: PolicyCluster, options: { settleMilliseconds?: number } = {}) {
  const { view, refresh } = await startView(cluster);
  await refresh();
  const manager = new Manager({ client: cluster.client, log: silentLogger });
  const reconcilers: PolicyReconcilers = addPolicyReconcilers(manager, {
    view,
    platformNamespace: 'kidp-system',
    exceptionNamespaces: ['policy-exceptions'],
    configurationName: 'kidp-admission',
    authenticates: true,
    scan: { settleMilliseconds: 10, ...options },
  });
  const stop = new AbortController();
  const running = manager.start(stop.signal);
  stops.push(async () => {
    stop.abort();
    await running;
  });
  const status = (name: string) => cluster.get(policy.resource, { name })?.status as Policy['status'];
  const condition = (name: string, type: string) => getCondition(status(name)?.conditions as Condition[], type);
  return { reconcilers, refresh, status, condition };
}

function register(cluster: PolicyCluster) {
  const rules = [{ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*'] }];
  cluster.put(validating, {
    metadata: { name: 'kidp-admission' },
    webhooks: [{ clientConfig: { caBundle: 'x' }, rules }],
  });
}

function report(cluster: PolicyCluster, appliedVersion: string, renewed = 1) {
  const lease = replicaLease(
    'kidp-system',
    { identity: 'one', appliedVersion, revision: 'r', absent: [] },
    30,
    renewed,
  );
  cluster.put(leaseResource, lease as never);
}

describe('the status of a Policy', () => {
  test('becomes Ready when the webhook is registered and every replica has it, and is not written again', async () => {
    const cluster = policyCluster(others);
    cluster.putPolicy('p', "object.data.a == 'x'");
    const { condition, status } = await start(cluster);
    await eventually(() => condition('p', 'Ready')?.reason === 'WebhookNotRegistered');
    register(cluster);
    await eventually(() => condition('p', 'Ready')?.reason === 'NoReplicas');
    report(cluster, '1');
    await eventually(() => condition('p', 'Ready')?.reason === 'ReplicasBehind');
    report(cluster, '100000', 2);
    await eventually(() => condition('p', 'Ready')?.status === 'True');
    await eventually(() => status('p')?.scannedObjects !== undefined);
    expect(status('p')).toMatchObject({ phase: 'ready', replicas: { one: status('p')?.revision } });
    const version = cluster.get(policy.resource, { name: 'p' })?.metadata.resourceVersion;
    report(cluster, '100001', 3);
    register(cluster);
    cluster.putConfigMap('later', 'team-a', {});
    await eventually(() => cluster.calls.filter((call) => call.startsWith('watch')).length > 0);
    expect(cluster.get(policy.resource, { name: 'p' })?.metadata.resourceVersion).toBe(version);
  });

  test('reports the error of a broken policy, and blocks no other', async () => {
    const cluster = policyCluster(others);
    register(cluster);
    report(cluster, '100000');
    cluster.putPolicy('broken', '(');
    cluster.putPolicy('fine', 'true');
    const { condition } = await start(cluster);
    await eventually(() => condition('broken', 'Ready')?.reason === 'Invalid');
    await eventually(() => condition('fine', 'Ready')?.status === 'True');
    expect(condition('fine', 'ReportsAvailable')).toMatchObject({ status: 'False', reason: 'OpenReportsNotInstalled' });
  });
});

test('the status of an exception follows the policies that it names', async () => {
  const cluster = policyCluster(others);
  const spec = { policies: [{ name: 'p' }], selector: {}, reason: 'for now', requester: 'ada' };
  cluster.putException('e', 'policy-exceptions', spec);
  const { refresh } = await start(cluster);
  const reason = () => {
    const object = cluster.get(policyException.resource, { namespace: 'policy-exceptions', name: 'e' });
    return (object?.status as PolicyException['status'])?.conditions?.[0]?.reason;
  };
  await eventually(() => reason() === 'PolicyNotFound');
  cluster.putPolicy('p', 'true');
  await refresh();
  await eventually(() => reason() === 'Honoured');
});

describe('the scan', () => {
  test('counts violations page by page and reports them', async () => {
    const cluster = policyCluster([...others, reports, clusterReports]);
    for (let index = 0; index < 1_200; index += 1) {
      cluster.putConfigMap(`c${index}`, index % 2 === 0 ? 'team-a' : 'default', { a: index < 3 ? 'y' : 'x' });
    }
    cluster.putPolicy('p', "object.data.a == 'x'");
    cluster.putPolicy('who', "request.userInfo.username == 'ada'");
    const { status } = await start(cluster);
    await eventually(
      () => status('p')?.violations === 3 && cluster.get(reports, { namespace: 'default', name: 'kidp' }),
    );
    expect(status('p')).toMatchObject({ scannedObjects: 1_200, p99Microseconds: expect.any(Number) });
    await eventually(() => status('who')?.violations === 0);
    expect(cluster.get(reports, { namespace: 'team-a', name: 'kidp' })).toMatchObject({
      summary: { pass: 598, fail: 2, skip: 600 },
      results: [
        { policy: 'p', rule: 'rule', result: 'fail', resources: [{ name: 'c0' }] },
        { resources: [{ name: 'c2' }] },
      ],
    });
    expect(cluster.calls.filter((call) => call === 'list configmaps').length).toBe(3);
  });

  test('evaluates only changed policies again, and drops deleted ones', async () => {
    const cluster = policyCluster([...others, reports, clusterReports]);
    cluster.putConfigMap('c', 'team-a', { a: 'y' });
    cluster.putPolicy('p', "object.data.a == 'x'");
    cluster.putPolicy('n', 'object.metadata.name.size() > 20', { selector: { resourceTypes: ['core/v1/Namespace'] } });
    const { status, refresh, reconcilers } = await start(cluster);
    await eventually(() => status('p')?.violations === 1 && status('n')?.violations === 2);
    cluster.calls.length = 0;
    cluster.putPolicy('p', "object.data.a == 'y'");
    await refresh();
    await eventually(() => status('p')?.violations === 0);
    expect(cluster.calls).toContain('list configmaps');
    expect(cluster.calls).not.toContain('list namespaces');
    await eventually(
      () => (cluster.get(reports, { namespace: 'team-a', name: 'kidp' })?.results as unknown[])?.length === 0,
    );
    cluster.remove(policy.resource, { name: 'p' });
    await refresh();
    await eventually(() => cluster.get(reports, { namespace: 'team-a', name: 'kidp' }) === undefined);
    expect(cluster.get(clusterReports, { name: 'kidp' })).toMatchObject({ summary: { fail: 2 } });
    cluster.put(configMaps, { metadata: { name: 'x', namespace: 'team-a' } });
    reconcilers.rescan();
    await eventually(() => cluster.calls.includes('list namespaces'));
  });

  test('keeps earlier results of objects that cannot be read', async () => {
    const cluster = policyCluster([...others, reports, clusterReports]);
    cluster.putConfigMap('c', 'team-a', { a: 'y' });
    cluster.putPolicy('p', "object.data.a == 'x'");
    const { status, reconcilers } = await start(cluster);
    await eventually(() => status('p')?.violations === 1);
    cluster.refuse('configmaps', new Error('unavailable'));
    cluster.calls.length = 0;
    reconcilers.rescan();
    await eventually(() => cluster.calls.includes('list configmaps'));
    await eventually(() => reconcilers.scanOf('p')?.violations === 1);
  });
});
