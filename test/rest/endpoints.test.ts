/** Every endpoint of docs/requirements.md, 002 on a real API server: successful and failing requests. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  API_VERSION,
  type Approval,
  approval,
  type Cluster,
  cluster,
  installationLabels,
  installationName,
  type Operator,
  type OperatorDeployment,
  type OperatorInstallation,
  operator,
  operatorDeployment,
  operatorInstallation,
} from '../../src/api/index.ts';
import { openDefinitionStore, openKubeconfig, readSealedSecret } from '../../src/fleet/index.ts';
import type { UnknownObject } from '../../src/runtime/index.ts';
import { coreSecrets } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { type AskOptions, openStage, type Stage } from './support/testbed.ts';

let stage: Stage;
const tokens = new Map<string, string>();

beforeAll(async () => {
  stage = await openStage();
  for (const [user, groups] of [
    ['alice', ['kidp:admin']],
    ['adam', ['kidp:admin']],
    ['oscar', ['kidp:operator']],
    ['vera', ['kidp:viewer']],
    ['paula', ['kidp:environment-owner:Production']],
    ['dora', ['kidp:environment-owner:Dev']],
    ['nobody', []],
  ] as const) {
    tokens.set(user, await stage.token(user, groups));
  }
});
afterAll(() => stage.stop());

const ask = (user: string, path: string, options: AskOptions = {}) =>
  stage.ask(path, { token: tokens.get(user), ...options });
const post = (user: string, path: string, body?: unknown) => ask(user, path, { method: 'POST', body });

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function newOperator(): Promise<string> {
  const name = uniqueName('op');
  const { status } = await post('oscar', '/api/v1/operators', {
    name,
    chart: { repository: stage.repository, name: 'widgets' },
  });
  expect(status).toBe(201);
  return name;
}

describe('operators', () => {
  test('registers, reads, lists page by page and deletes an operator', async () => {
    const name = uniqueName('op');
    const made = await post('oscar', '/api/v1/operators', {
      name,
      labels: { team: 'platform' },
      namespace: 'widgets',
      chart: { repository: stage.repository, name: 'widgets' },
      versions: [{ version: '1.0.0' }, { version: '1.1.0' }],
    });
    expect(made.status).toBe(201);
    expect(made.headers.location).toBe(`/api/v1/operators/${name}`);
    expect(made.body).toMatchObject({ name, namespace: 'widgets', labels: { team: 'platform' }, historyLimit: 20 });
    expect(made.body.id).toMatch(uuid);
    const stored = await stage.admin.get<Operator>(operator.resource, { name });
    expect(made.body.id).toBe(stored.metadata.uid);

    const other = await newOperator();
    const first = await ask('vera', '/api/v1/operators?limit=1');
    expect(first.body.items).toHaveLength(1);
    const names: string[] = first.body.items.map((each: { name: string }) => each.name);
    // Other tests may have created many more.
    for (let { continue: from } = first.body; from !== undefined; ) {
      const { status, body } = await ask('vera', `/api/v1/operators?limit=500&continue=${encodeURIComponent(from)}`);
      expect(status).toBe(200);
      names.push(...body.items.map((each: { name: string }) => each.name));
      from = body.continue;
    }
    expect(names).toEqual(expect.arrayContaining([name, other]));

    expect((await ask('vera', `/api/v1/operators/${name}`)).body.id).toBe(made.body.id);
    expect((await ask('oscar', `/api/v1/operators/${name}`, { method: 'DELETE' })).status).toBe(204);
    expect((await ask('vera', `/api/v1/operators/${name}`)).status).toBe(404);
  });

  test.each([
    {
      reason: 'an unreachable repository',
      change: { chart: { repository: 'http://127.0.0.1:1', name: 'widgets' } },
      path: '/chart',
    },
    { reason: 'an invalid URL', change: { chart: { repository: 'http://[' } }, path: '/chart' },
    { reason: 'an invalid registry', change: { chart: { oci: 'oci://[' } }, path: '/chart' },
    {
      reason: 'a missing chart',
      change: { chart: { repository: 'REPOSITORY', name: 'gadgets' } },
      path: '/chart',
    },
    {
      reason: 'a missing chart version',
      change: { versions: [{ version: '1.0.0' }, { version: '9.9.9' }] },
      path: '/versions/1/version',
    },
    { reason: 'an invalid version', change: { versions: [{ version: 'newest' }] }, path: '/versions/0/version' },
    {
      reason: 'two sources',
      change: { chart: { repository: 'REPOSITORY', oci: 'oci://charts.example.com/widgets' } },
      path: '/chart',
    },
    { reason: 'an unknown field', change: { colour: 'red' }, path: '/colour' },
    {
      reason: 'a negative duration',
      change: { health: { webhook: { maxLatency: '-PT1S' } } },
      path: '/health/webhook/maxLatency',
    },
  ])('$reason is a 400 that names the field, and nothing is stored', async ({ change, path }) => {
    const name = uniqueName('op');
    const body = { name, chart: { repository: stage.repository, name: 'widgets' }, ...change };
    const sent = JSON.parse(JSON.stringify(body).replaceAll('REPOSITORY', stage.repository));
    const { status, body: problem } = await post('oscar', '/api/v1/operators', sent);
    expect(problem.errors?.map((each: { path: string }) => each.path) ?? problem).toContain(path);
    expect(status).toBe(400);
    expect((await ask('vera', `/api/v1/operators/${name}`)).status).toBe(404);
  });

  test('a name in use is a 409', async () => {
    const name = await newOperator();
    const again = await post('alice', '/api/v1/operators', {
      name,
      chart: { repository: stage.repository, name: 'widgets' },
    });
    expect(again).toMatchObject({ status: 409, body: { code: 'exists' } });
  });
});

describe('clusters', () => {
  test('probes a cluster before registering it, and seals its kubeconfig for this cluster only', async () => {
    const name = uniqueName('cluster');
    const made = await post('alice', '/api/v1/clusters', {
      name,
      environment: 'Dev',
      contact: 'dev@example.com',
      kubeconfig: stage.kubeconfig,
    });
    expect(made.status).toBe(201);
    const stored = await stage.admin.get<Cluster>(cluster.resource, { name });
    expect(made.body).toMatchObject({ id: stored.metadata.uid, name, environment: 'Dev' });
    const secret = await readSealedSecret(stage.admin, stage.namespace, stored);
    const ring = await stage.options.sealingKeys.current();
    expect((await openKubeconfig(ring, name, secret.sealed)).kubeconfig).toBe(stage.kubeconfig);
    await expect(openKubeconfig(ring, 'other', secret.sealed)).rejects.toMatchObject({ code: 'cluster/tampered' });

    const listed = await ask('vera', '/api/v1/clusters');
    const one = await ask('vera', `/api/v1/clusters/${name}`);
    const everything = [made.text, listed.text, one.text, JSON.stringify(secret.secret), ...stage.log.lines].join('\n');
    for (const line of secretsIn(stage.kubeconfig)) expect(everything).not.toContain(line);
    expect(one.body.credentials).toBeUndefined();

    expect((await ask('alice', `/api/v1/clusters/${name}`, { method: 'DELETE' })).status).toBe(202);
  });

  test.each([
    {
      reason: 'one that runs a program',
      change: {
        users: [{ name: 'user', user: { exec: { command: 'steal', apiVersion: 'client.authentication.k8s.io/v1' } } }],
      },
    },
    { reason: 'one that reads a file', change: { users: [{ name: 'user', user: { tokenFile: '/etc/passwd' } }] } },
    {
      reason: 'one with an unreachable server',
      change: { clusters: [{ name: 'cluster', cluster: { server: 'https://127.0.0.1:1' } }] },
    },
    {
      reason: 'one with rejected credentials',
      change: { users: [{ name: 'user', user: { token: 'not-a-token' } }] },
    },
  ])('rejects a kubeconfig: $reason', async ({ change }) => {
    const name = uniqueName('cluster');
    const kubeconfig = JSON.stringify({ ...JSON.parse(stage.kubeconfig), ...change });
    // Each row has its own user: the limit is five registrations per minute.
    const token = await stage.token(uniqueName('admin'), ['kidp:admin']);
    const { status, body, text } = await stage.ask('/api/v1/clusters', {
      method: 'POST',
      token,
      body: { name, environment: 'Production', kubeconfig },
    });
    expect(status).toBe(400);
    expect(body.errors[0].path).toBe('/kubeconfig');
    for (const line of secretsIn(kubeconfig)) expect(text).not.toContain(line);
    const { items } = await stage.admin.list(coreSecrets, { namespace: stage.namespace });
    expect(items.filter(({ metadata }) => metadata.name.startsWith(`cluster-${name}`))).toEqual([]);
    expect((await ask('vera', `/api/v1/clusters/${name}`)).status).toBe(404);
  });

  test('reports other errors without connecting to the cluster', async () => {
    const unknown = await post('adam', '/api/v1/clusters', {
      name: 'c',
      environment: 'Test',
      kubeconfig: stage.kubeconfig,
    });
    expect(unknown).toMatchObject({ status: 400, body: { errors: [{ path: '/environment' }] } });
    const reserved = await post('adam', '/api/v1/clusters', {
      name: 'sealing-key',
      environment: 'Dev',
      kubeconfig: stage.kubeconfig,
    });
    expect(reserved).toMatchObject({ status: 400, body: { errors: [{ path: '/name' }] } });
  });

  test('returns the public sealing key only', async () => {
    const { status, body } = await ask('vera', '/api/v1/clusters/sealing-key');
    expect(status).toBe(200);
    expect(body).toMatchObject({ kty: 'OKP', crv: 'X25519' });
    expect(body.d).toBeUndefined();
  });
});

/** Every kind of credential in a kubeconfig. */
function secretsIn(kubeconfig: string): string[] {
  const { user } = JSON.parse(kubeconfig).users[0] as { user: Record<string, unknown> };
  return Object.values(user).filter((value): value is string => typeof value === 'string' && value.length > 8);
}

describe('deployments', () => {
  const canary = {
    strategy: 'Canary',
    canaryConfig: { initialPercentage: 10, incrementPercentage: 20, evaluationPeriod: 'PT5M', successThreshold: 0.95 },
  };
  const ofDeployments = uniqueName('widgets');
  const begin = async (more: object = {}) => {
    const token = await stage.token(uniqueName('operator'), ['kidp:operator']);
    const body = { operator: ofDeployments, version: '1.0.0', clusters: ['dev-1', 'prod-1'], ...canary, ...more };
    return stage.ask('/api/v1/deployments', { method: 'POST', token, body });
  };

  test('starts, reads by id and name, controls and rolls back a deployment', async () => {
    const made = await begin();
    expect(made.status).toBe(202);
    const { id, name } = made.body;
    expect(id).toMatch(uuid);
    expect(made.headers.location).toBe(`/api/v1/deployments/${id}`);
    expect(made.body).toMatchObject({ operator: ofDeployments, maxFailures: 0, status: { phase: 'Planning' } });
    expect((await ask('vera', `/api/v1/deployments/${id}`)).body.name).toBe(name);
    expect((await ask('vera', `/api/v1/deployments/${name}`)).body.id).toBe(id);

    const specOf = async () => (await stage.admin.get<OperatorDeployment>(operatorDeployment.resource, { name })).spec;
    expect((await post('oscar', `/api/v1/deployments/${id}/pause`)).status).toBe(202);
    expect((await specOf()).paused).toBe(true);
    expect((await post('oscar', `/api/v1/deployments/${id}/resume`)).status).toBe(202);
    expect((await specOf()).paused).toBe(false);
    expect(await post('oscar', `/api/v1/deployments/${id}/promote`)).toMatchObject({
      status: 409,
      body: { code: 'not-begun' },
    });
    expect((await post('oscar', `/api/v1/deployments/${id}/promote`, { stage: 2 })).status).toBe(202);
    expect((await specOf()).promote).toBe(2);
    expect((await ask('vera', `/api/v1/deployments/${id}/rollback-status`)).body).toMatchObject({
      deploymentId: id,
      state: 'None',
      clusters: [],
    });
    expect((await post('oscar', `/api/v1/deployments/${id}/rollback`)).status).toBe(403);
    expect((await post('alice', `/api/v1/deployments/${id}/rollback`)).status).toBe(202);
    expect((await post('alice', `/api/v1/deployments/${id}/rollback`)).status).toBe(202);
    expect((await specOf()).rollback).toBe(true);
    expect((await ask('vera', `/api/v1/deployments/${id}/rollback-status`)).body.state).toBe('Requested');

    await report(name, {
      phase: 'Failed',
      rollback: { reason: 'Requested', startedAt: '2026-01-31T12:00:00Z', finishedAt: '2026-01-31T12:01:00Z' },
      clusters: [
        { name: 'dev-1', environment: 'Dev', stage: 1, state: 'RolledBack', fromVersion: '0.9.0' },
        { name: 'prod-1', environment: 'Production', stage: 3, state: 'Pending' },
      ],
    });
    expect((await ask('vera', `/api/v1/deployments/${id}/rollback-status`)).body).toMatchObject({
      state: 'Completed',
      reason: 'Requested',
      clusters: [{ clusterName: 'dev-1', state: 'RolledBack', targetVersion: '0.9.0' }],
    });
    expect(await post('oscar', `/api/v1/deployments/${id}/pause`)).toMatchObject({
      status: 409,
      body: { code: 'finished' },
    });
    const failed = await ask('vera', `/api/v1/deployments?phase=Failed&operator=${ofDeployments}`);
    expect(failed.body.items.map((each: { id: string }) => each.id)).toContain(id);
    expect((await ask('alice', `/api/v1/deployments/${id}`, { method: 'DELETE' })).status).toBe(202);
    expect((await ask('vera', `/api/v1/deployments/${id}`)).status).toBe(404);
  });

  const report = async (name: string, status: object) => {
    await stage.admin.patch(
      operatorDeployment.resource,
      { name },
      { type: 'merge', body: { status } },
      { subresource: 'status' },
    );
  };

  test('an abort is final', async () => {
    const { body } = await begin({ name: uniqueName('abort') });
    expect((await post('oscar', `/api/v1/deployments/${body.id}/abort`)).status).toBe(202);
    expect((await ask('vera', `/api/v1/deployments/${body.name}`)).body.abort).toBe(true);
  });

  test.each([
    { reason: 'an unknown strategy', more: { strategy: 'Hopeful' }, path: '/strategy' },
    { reason: '0 percent', more: { canaryConfig: { initialPercentage: 0 } }, path: '/canaryConfig/initialPercentage' },
    {
      reason: '101 percent',
      more: { canaryConfig: { initialPercentage: 101 } },
      path: '/canaryConfig/initialPercentage',
    },
    {
      reason: 'a negative duration',
      more: { canaryConfig: { evaluationPeriod: '-PT5M' } },
      path: '/canaryConfig/evaluationPeriod',
    },
    { reason: 'a cluster twice', more: { clusters: ['dev-1', 'dev-1'] }, path: '/clusters' },
    { reason: 'an invalid version', more: { version: 'latest' }, path: '/version' },
    { reason: 'the configuration of another strategy', more: { directConfig: {} }, path: '/directConfig' },
    { reason: 'no clusters', more: { clusters: undefined }, path: '/clusters' },
    { reason: 'a rollback on creation', more: { rollback: true }, path: '/rollback' },
  ])('$reason is a 400 that names the field', async ({ more, path }) => {
    const { status, body } = await begin(more);
    expect(body.errors?.map((each: { path: string }) => each.path) ?? body).toContain(path);
    expect(status).toBe(400);
  });

  test('an unknown id is a 404', async () => {
    expect((await ask('vera', '/api/v1/deployments/3f0c9c0e-6b1f-4a53-9d0e-2f6f0b8f6d11')).status).toBe(404);
    expect((await ask('vera', '/api/v1/deployments/no-such-name')).status).toBe(404);
    expect((await post('alice', '/api/v1/deployments/no-such-name/rollback')).status).toBe(404);
  });
});

describe('health', () => {
  test('has the shape of the requirement for an operator, a cluster, and both', async () => {
    const [name, on] = [await newOperator(), uniqueName('prod')];
    await stage.admin.create<Cluster>(cluster.resource, {
      apiVersion: API_VERSION,
      kind: 'Cluster',
      metadata: { name: on },
      spec: { environment: 'Production', credentials: {} },
    });
    await stage.admin.patch(
      cluster.resource,
      { name: on },
      {
        type: 'merge',
        body: {
          status: {
            health: 'Healthy',
            kubernetesVersion: 'v1.36.3',
            lastCheckedTime: '2026-01-31T12:00:30Z',
            operatorsCheckedTime: '2026-01-31T12:01:00Z',
          },
        },
      },
      { subresource: 'status' },
    );
    expect((await ask('vera', `/api/v1/operators/${name}/health`)).body).toEqual({
      operatorName: name,
      overallHealth: 'Unknown',
      clusters: [],
    });
    expect((await ask('vera', `/api/v1/clusters/${on}/operators/${name}/health`)).status).toBe(404);

    const installed = installationName(name, on);
    await stage.admin.create<OperatorInstallation>(operatorInstallation.resource, {
      apiVersion: API_VERSION,
      kind: 'OperatorInstallation',
      metadata: { name: installed, labels: installationLabels(name, on) },
      spec: {
        operator: name,
        cluster: on,
        version: '1.0.0',
        snapshot: 'snapshot-1',
        namespace: 'operators',
        releaseName: name,
        revision: 1,
      },
    });
    const healthIs = (health: object) =>
      stage.admin.patch(
        operatorInstallation.resource,
        { name: installed },
        { type: 'merge', body: { status: health } },
        { subresource: 'status' },
      );
    const well = { state: 'Healthy' };
    await healthIs({ health: 'Healthy', controllerPods: 3, pods: well, webhook: well, reconciliation: well });
    const healthy = {
      health: 'Healthy',
      version: '1.0.0',
      controllerPods: 3,
      webhookStatus: 'Available',
      crdReconciliation: 'Active',
      lastChecked: '2026-01-31T12:01:00Z',
    };
    expect((await ask('vera', `/api/v1/operators/${name}/health`)).body).toEqual({
      operatorName: name,
      overallHealth: 'Healthy',
      clusters: [{ clusterName: on, ...healthy }],
    });
    await healthIs({ health: 'Unhealthy', webhook: { state: 'Unhealthy', message: 'it took 3 s' } });
    const ill = { ...healthy, health: 'Unhealthy', webhookStatus: 'Unavailable', message: 'it took 3 s' };
    expect((await ask('vera', `/api/v1/clusters/${on}/operators/${name}/health`)).body).toEqual({
      operatorName: name,
      clusterName: on,
      ...ill,
    });
    expect((await ask('paula', `/api/v1/clusters/${on}/health`)).body).toEqual({
      clusterName: on,
      health: 'Healthy',
      overallHealth: 'Unhealthy',
      environment: 'Production',
      kubernetesVersion: 'v1.36.3',
      lastChecked: '2026-01-31T12:00:30Z',
      operators: [{ operatorName: name, ...ill }],
    });
  });

  test('of an unknown object is a 404', async () => {
    expect((await ask('vera', '/api/v1/operators/no-such/health')).status).toBe(404);
    expect((await ask('vera', '/api/v1/clusters/no-such/health')).status).toBe(404);
  });
});

describe('approvals', () => {
  const waiting = async (spec: Partial<Approval['spec']>) => {
    const name = uniqueName('approval');
    const digest = `sha256:${'0'.repeat(64)}`;
    return stage.admin.create<Approval>(approval.resource, {
      apiVersion: API_VERSION,
      kind: 'Approval',
      metadata: { name },
      spec: {
        subject: { kind: 'OperatorDeployment', name: 'some', uid: 'u', digest },
        type: 'ProductionDeployment',
        environment: 'Production',
        levels: [{ role: 'EnvironmentOwner', approvals: 1 }],
        requester: 'oscar',
        requiredApprovals: 1,
        decisions: [],
        ...spec,
      },
    });
  };

  test('lists pending approvals, and only the owner of the environment decides', async () => {
    const { metadata } = await waiting({});
    const pending = async () => {
      const names: string[] = [];
      for (let from = ''; ; ) {
        const { body } = await ask('vera', `/api/v1/approvals?limit=500${from === '' ? '' : `&continue=${from}`}`);
        names.push(...body.items.map((each: { id: string }) => each.id));
        if (body.continue === undefined) return names;
        from = encodeURIComponent(body.continue);
      }
    };
    expect(await pending()).toContain(metadata.uid);
    const path = `/api/v1/approvals/${metadata.uid}`;
    for (const user of ['dora', 'oscar', 'vera', 'nobody']) {
      expect((await post(user, `${path}/approve`)).status, user).toBe(403);
    }
    const decided = await post('paula', `${path}/approve`, { reason: 'It went well in Staging.' });
    expect(decided.status).toBe(200);
    expect(decided.body.decisions).toMatchObject([
      { decision: 'Approve', by: 'paula', reason: 'It went well in Staging.' },
    ]);
    expect(await post('paula', `${path}/reject`)).toMatchObject({ status: 409, body: { code: 'decided' } });
    expect((await ask('vera', path)).body.decisions).toHaveLength(1);
  });

  test('an admin can reject in place of an owner, and one rejection is final', async () => {
    const { metadata } = await waiting({});
    const path = `/api/v1/approvals/${metadata.name}`;
    expect((await post('alice', `${path}/reject`, { reason: 'Not on a Friday.' })).status).toBe(200);
    expect(await post('paula', `${path}/approve`)).toMatchObject({ status: 409, body: { code: 'decided' } });
  });

  test('the requester cannot decide, and an owner cannot decide for admins', async () => {
    const own = await waiting({ requester: 'alice' });
    expect(await post('alice', `/api/v1/approvals/${own.metadata.uid}/approve`)).toMatchObject({
      status: 403,
      body: { code: 'own-request' },
    });
    const { metadata } = await waiting({ type: 'VersionUpgrade', levels: [{ role: 'Admin', approvals: 1 }] });
    expect((await post('paula', `/api/v1/approvals/${metadata.uid}/approve`)).status).toBe(403);
    expect((await post('adam', `/api/v1/approvals/${metadata.uid}/approve`)).status).toBe(200);
  });

  test('an admin approves a breaking change by the name of the CRD', async () => {
    const plural = uniqueName('gadgets');
    const definition = `${plural}.example.com`;
    expect(await post('alice', `/api/v1/crds/${definition}/approve`)).toMatchObject({
      status: 404,
      body: { code: 'nothing-waits' },
    });
    const subject = {
      kind: 'CustomResourceDefinition',
      name: definition,
      uid: 'u',
      digest: `sha256:${'1'.repeat(64)}`,
    };
    const { environment: _, ...rest } = (
      await waiting({ subject, type: 'BreakingCRDChange', levels: [{ role: 'Admin', approvals: 2 }] })
    ).spec;
    expect(rest.requester).toBe('oscar');
    expect((await post('paula', `/api/v1/crds/${definition}/approve`)).status).toBe(403);
    const first = await post('alice', `/api/v1/crds/${definition}/approve`, { reason: 'Nobody uses it.' });
    expect(first.body.decisions).toMatchObject([{ by: 'alice', decision: 'Approve' }]);
    const another = await waiting({ subject, type: 'BreakingCRDChange' });
    expect(await post('adam', `/api/v1/crds/${definition}/approve`)).toMatchObject({
      status: 409,
      body: { code: 'several-wait' },
    });
    expect((await post('adam', `/api/v1/crds/${definition}/approve`, { approval: another.metadata.uid })).status).toBe(
      200,
    );
  });
});

describe('definitions', () => {
  const crd = (plural: string, properties: object, required: string[] = []): UnknownObject => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural, kind: 'Gadget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties, required } } },
          },
        },
      ],
    },
  });

  test('lists the CRDs of charts with versions and clusters, and validates changes against them', async () => {
    const [name, plural, on] = [await newOperator(), uniqueName('gadgets'), uniqueName('dev')];
    const definition = `${plural}.example.com`;
    const stored = crd(plural, { colour: { type: 'string' }, size: { type: 'integer' } });
    const store = openDefinitionStore({ client: stage.admin, namespace: stage.namespace });
    const version = {
      version: '1.0.0',
      chartVersion: '1.0.0',
      state: 'Available',
      definitions: [{ name: definition, digest: `sha256:${'2'.repeat(64)}`, versions: ['v1'] }],
      definitionsRef: await store.put([stored]),
    };
    await stage.admin.patch(
      operator.resource,
      { name },
      { type: 'merge', body: { status: { versions: [version] } } },
      { subresource: 'status' },
    );
    await stage.admin.create<OperatorInstallation>(operatorInstallation.resource, {
      apiVersion: API_VERSION,
      kind: 'OperatorInstallation',
      metadata: { name: installationName(name, on), labels: installationLabels(name, on) },
      spec: {
        operator: name,
        cluster: on,
        version: '1.0.0',
        snapshot: 's',
        namespace: 'operators',
        releaseName: name,
        revision: 1,
      },
    });
    const there = { name: definition, digest: `sha256:${'2'.repeat(64)}`, storedVersions: ['v1'] };
    await stage.admin.patch(
      operatorInstallation.resource,
      { name: installationName(name, on) },
      { type: 'merge', body: { status: { definitions: [there] } } },
      { subresource: 'status' },
    );
    const one = await ask('vera', `/api/v1/crds/${definition}`);
    expect(one.body).toMatchObject({
      name: definition,
      versions: [{ operator: name, version: '1.0.0', served: ['v1'], registered: false }],
      clusters: [{ clusterName: on, operatorVersion: '1.0.0', storedVersions: ['v1'] }],
    });
    const listed = await ask('vera', '/api/v1/crds?limit=500');
    expect(listed.body.items.map((each: { name: string }) => each.name)).toContain(definition);

    const path = `/api/v1/crds/${definition}/validate`;
    const same = await post('vera', path, { definition: stored });
    expect(same.body).toMatchObject({
      verdict: 'safe',
      compatible: true,
      comparedWith: { operator: name, version: '1.0.0' },
    });
    for (const [reason, after] of [
      ['an existing field is removed', crd(plural, { size: { type: 'integer' } })],
      ['a type changes', crd(plural, { colour: { type: 'integer' }, size: { type: 'integer' } })],
      [
        'a required field is added',
        crd(plural, { colour: { type: 'string' }, size: { type: 'integer' }, owner: { type: 'string' } }, ['owner']),
      ],
      [
        'a constraint is tightened',
        crd(plural, { colour: { type: 'string', maxLength: 3 }, size: { type: 'integer' } }),
      ],
    ] as const) {
      const { body } = await post('vera', path, { definition: after });
      expect(body, reason).toMatchObject({ verdict: 'breaking', compatible: false });
      expect(body.changes.length, reason).toBeGreaterThan(0);
    }
    expect((await post('vera', path, { definition: stored, operator: 'no-such' })).status).toBe(404);
    expect(await post('vera', path, { definition: crd('others', {}) })).toMatchObject({
      status: 400,
      body: { errors: [{ path: '/definition/metadata/name' }] },
    });
    expect(await post('vera', path, { definition: {} })).toMatchObject({ status: 400, body: { code: 'invalid' } });
  });

  test('registers a CRD that is not in a chart, and validates later ones against it', async () => {
    const [name, plural] = [await newOperator(), uniqueName('gizmos')];
    const definition = `${plural}.example.com`;
    const first = await post('oscar', '/api/v1/crds', {
      operator: name,
      version: '1.0.0',
      definition: crd(plural, { colour: { type: 'string' } }),
    });
    expect(first).toMatchObject({ status: 201, body: { name: definition, verdict: 'created', compatible: true } });
    const second = await post('oscar', '/api/v1/crds', {
      operator: name,
      version: '1.1.0',
      definition: crd(plural, {}),
    });
    expect(second).toMatchObject({
      status: 201,
      body: { verdict: 'breaking', comparedWith: { operator: name, version: '1.0.0' } },
    });
    expect((await ask('vera', `/api/v1/crds/${definition}`)).body.versions).toMatchObject([
      { version: '1.1.0', registered: true },
      { version: '1.0.0', registered: true },
    ]);
    expect(
      (await post('vera', '/api/v1/crds', { operator: name, version: '1.2.0', definition: crd(plural, {}) })).status,
    ).toBe(403);
    const nobodys = await post('oscar', '/api/v1/crds', {
      operator: 'no-such',
      version: '1.2.0',
      definition: crd(plural, {}),
    });
    expect(nobodys).toMatchObject({ status: 400, body: { errors: [{ path: '/operator' }] } });
  });

  test('the newest CRD is chosen by version, from a chart or registered', async () => {
    const [name, plural] = [await newOperator(), uniqueName('gears')];
    const definition = `${plural}.example.com`;
    const store = openDefinitionStore({ client: stage.admin, namespace: stage.namespace });
    const versions = await Promise.all(
      ['1.10.0', '1.9.0'].map(async (version) => ({
        version,
        chartVersion: version,
        state: 'Available',
        definitions: [{ name: definition, digest: `sha256:${'3'.repeat(64)}`, versions: ['v1'] }],
        definitionsRef: await store.put([crd(plural, { teeth: { type: 'integer' } })]),
      })),
    );
    await stage.admin.patch(
      operator.resource,
      { name },
      { type: 'merge', body: { status: { versions } } },
      { subresource: 'status' },
    );
    const register = async (version: string, after: UnknownObject) =>
      (await post('oscar', '/api/v1/crds', { operator: name, version, definition: after })).body;
    const round = crd(plural, { teeth: { type: 'integer' }, round: { type: 'boolean' } });
    // Registered after the chart has a newer version.
    expect((await register('1.9.1', round)).comparedWith).toEqual({ operator: name, version: '1.10.0' });
    const path = `/api/v1/crds/${definition}/validate`;
    const validate = async (more: object = {}) => (await post('vera', path, { definition: round, ...more })).body;
    expect((await validate()).comparedWith.version).toBe('1.10.0');
    expect((await validate({ version: 'v1.9.1' })).comparedWith.version).toBe('1.9.1');
    expect((await register('2.0.0', round)).comparedWith.version).toBe('1.10.0');
    expect((await validate()).comparedWith.version).toBe('2.0.0');
    const { body } = await ask('vera', `/api/v1/crds/${definition}`);
    expect(body.versions.map((each: { version: string }) => each.version)).toEqual([
      '2.0.0',
      '1.10.0',
      '1.9.1',
      '1.9.0',
    ]);
    for (const change of [{ version: 'newest' }, { targetVersion: 'latest' }]) {
      const [field] = Object.keys(change);
      expect(await post('vera', path, { definition: round, ...change })).toMatchObject({
        status: 400,
        body: { errors: [{ path: `/${field}` }] },
      });
    }
    expect(await post('oscar', '/api/v1/crds', { operator: name, version: 'newest', definition: round })).toMatchObject(
      {
        status: 400,
        body: { errors: [{ path: '/version' }] },
      },
    );
  });

  test('returns the migration guide of the target version', async () => {
    const [name, plural] = [uniqueName('op'), uniqueName('cogs')];
    const chart = { repository: stage.repository, name: 'widgets' };
    const versions = [
      { version: '1.0.0', migrationGuide: 'Come to 1.0.0.' },
      { version: '1.1.0', migrationGuide: 'Come to 1.1.0.' },
    ];
    expect((await post('oscar', '/api/v1/operators', { name, chart, versions })).status).toBe(201);
    const first = crd(plural, { teeth: { type: 'integer' } });
    const register = (version: string, after: UnknownObject) =>
      post('oscar', '/api/v1/crds', { operator: name, version, definition: after });
    expect((await register('1.0.0', first)).body.migrationGuide).toBeUndefined();

    const path = `/api/v1/crds/${plural}.example.com/validate`;
    const validate = async (after: UnknownObject, more: object) =>
      (await post('vera', path, { definition: after, ...more })).body;
    const narrowed = crd(plural, {});
    const guideOf = async (after: UnknownObject, more: object = {}) => (await validate(after, more)).migrationGuide;
    expect(await guideOf(narrowed, { targetVersion: 'v1.1.0' })).toBe('Come to 1.1.0.');
    expect(await guideOf(narrowed), 'of no version in particular').toBeUndefined();
    expect(await guideOf(narrowed, { targetVersion: '1.2.0' }), 'that has none').toBeUndefined();
    expect(await guideOf(first, { targetVersion: '1.1.0' }), 'where nothing breaks').toBeUndefined();

    expect((await register('1.1.0', narrowed)).body).toMatchObject({
      verdict: 'breaking',
      comparedWith: { version: '1.0.0' },
      migrationGuide: 'Come to 1.1.0.',
    });
  });

  test('an unknown CRD is a 404', async () => {
    expect((await ask('vera', '/api/v1/crds/nothing.example.com')).status).toBe(404);
  });
});

test('audits every change with user and result', async () => {
  const name = await newOperator();
  await post('vera', '/api/v1/operators', { name: 'x' });
  const audit = () => stage.log.lines.map((line) => JSON.parse(line)).filter((line) => line.audit === true);
  // The audit entry is written after the response has started.
  const entries = await eventually(() => {
    const written = audit();
    expect(written).toContainEqual(
      expect.objectContaining({
        event: 'operator.create',
        userId: 'oscar',
        kind: 'Operator',
        name,
        status: 201,
        outcome: 'done',
      }),
    );
    expect(written).toContainEqual(
      expect.objectContaining({ event: 'operator.create', userId: 'vera', status: 403, outcome: 'refused' }),
    );
    return written;
  });
  expect(entries.every(({ traceId, userId }) => userId === undefined || /^[0-9a-f]{32}$/.test(traceId))).toBe(true);
});
