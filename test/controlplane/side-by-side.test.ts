import { readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, sharedCluster, startControlPlane } from '../support/cluster.ts';

/** One with audit and encryption, one plain, and a third that shares the second one's etcd under its own prefix. */
describe('control planes side by side', () => {
  const { kubectl } = sharedCluster();
  const planes: ControlPlane[] = [];
  let guarded: ControlPlane;
  let plain: ControlPlane;
  let tenant: ControlPlane;

  beforeAll(async () => {
    [guarded, plain] = await Promise.all([
      startControlPlane({
        audit: {
          omitStages: ['RequestReceived'],
          rules: [{ level: 'Metadata', resources: [{ resources: ['secrets'] }] }],
        },
        encryption: { provider: 'aescbc', resources: ['secrets', 'configmaps'] },
      }).then(remember),
      startControlPlane().then(remember),
    ]);
    tenant = await startControlPlane({
      etcd: { shared: plain.etcd, prefix: '/tenant' },
      encryption: { provider: 'secretbox' },
    }).then(remember);
  });

  afterAll(async () => {
    // The tenant before the etcd it lives on.
    for (const plane of planes.reverse()) await plane.stop();
  });

  function remember(plane: ControlPlane): ControlPlane {
    planes.push(plane);
    return plane;
  }

  it('keeps their objects apart, also on one etcd', async () => {
    for (const [name, plane] of Object.entries({ guarded, plain, tenant })) {
      const made = await kubectl(['create', 'namespace', `only-in-${name}`], plane);
      expect(made).toMatchObject({ code: 0 });
    }
    for (const [name, plane] of Object.entries({ guarded, plain, tenant })) {
      const { stdout } = await kubectl(['get', 'namespaces', '-o', 'name'], plane);
      expect(stdout.match(/only-in-\w+/g)).toEqual([`only-in-${name}`]);
    }
  });

  it('trusts no user of another', async () => {
    const stranger = JSON.parse(await readFile(plain.kubeconfig, 'utf8'));
    stranger.clusters = JSON.parse(await readFile(guarded.kubeconfig, 'utf8')).clusters;
    const file = `${plain.directory}/stranger.json`;
    await writeFile(file, JSON.stringify(stranger));
    const answer = await kubectl(['get', 'namespaces'], { kubeconfig: file });
    expect(answer.code).not.toBe(0);
    expect(answer.stderr).toMatch(/logged in|Unauthorized/i);
  });

  const users = [
    { reason: 'no group but the one everybody has', name: 'alice', groups: [] },
    { reason: 'several groups', name: 'bob', groups: ['team-backend', 'team-data'] },
    { reason: 'characters that are special in names and files', name: 'oidc:carol@x.example', groups: ['a/b c', 'ö'] },
  ];
  it.each(users)('knows a user by name and groups: $reason', async ({ name, groups }) => {
    const kubeconfig = await guarded.kubeconfigFor({ name, groups });
    const { stdout, code } = await kubectl(['auth', 'whoami', '-o', 'json'], { kubeconfig });
    expect(code).toBe(0);
    const { userInfo } = JSON.parse(stdout).status;
    expect(userInfo.username).toBe(name);
    expect([...userInfo.groups].sort()).toEqual([...groups, 'system:authenticated'].sort());
  });

  it('lets a user do what RBAC allows and no more', async () => {
    const kubeconfig = await plain.kubeconfigFor({ name: 'dave', groups: ['readers'] });
    const denied = await kubectl(['get', 'configmaps', '-n', 'default'], { kubeconfig });
    expect(denied).toMatchObject({ code: 1, stderr: expect.stringContaining('forbidden') });
    await kubectl(['create', 'clusterrole', 'read', '--verb=get,list', '--resource=configmaps'], plain);
    await kubectl(['create', 'clusterrolebinding', 'read', '--clusterrole=read', '--group=readers'], plain);
    // The authorizer sees a new binding through its own watch.
    await expect.poll(async () => (await kubectl(['get', 'configmaps', '-n', 'default'], { kubeconfig })).code).toBe(0);
    expect((await kubectl(['delete', 'namespace', 'default'], { kubeconfig })).stderr).toContain('forbidden');
  });

  it('writes an audit line for what the policy names', async () => {
    await kubectl(['create', 'secret', 'generic', 'audited', '--from-literal=k=v'], guarded);
    const log = guarded.auditLog;
    expect(log).toBeDefined();
    await expect
      .poll(
        async () =>
          (await readFile(String(log), 'utf8')).split('\n').filter((line) => line.includes('"audited"')).length,
      )
      .toBeGreaterThan(0);
    const events = (await readFile(String(log), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const created = events.find((event) => event.verb === 'create' && event.objectRef?.name === 'audited');
    expect(created).toMatchObject({
      level: 'Metadata',
      user: { username: 'kidp-admin' },
      responseStatus: { code: 201 },
    });
    expect(events.every((event) => event.objectRef?.resource === 'secrets')).toBe(true);
    expect(plain.auditLog).toBeUndefined();
  });

  const rest = [
    {
      reason: 'aescbc over secrets',
      plane: () => guarded,
      key: '/registry/secrets/default/hidden',
      provider: 'aescbc',
    },
    {
      reason: 'secretbox, on a shared etcd',
      plane: () => tenant,
      key: '/tenant/secrets/default/hidden',
      provider: 'secretbox',
    },
  ];
  it.each(rest)('leaves nothing readable in etcd where encryption is on: $reason', async ({ plane, key, provider }) => {
    await kubectl(['create', 'secret', 'generic', 'hidden', '--from-literal=password=do-not-store-me'], plane());
    const stored = await plane().etcd.control('get', key, '--print-value-only');
    expect(stored).toContain(`k8s:enc:${provider}:v1:`);
    expect(stored).not.toContain('do-not-store-me');
    const read = await kubectl(['get', 'secret', 'hidden', '-o', 'jsonpath={.data.password}'], plane());
    expect(Buffer.from(read.stdout, 'base64').toString()).toBe('do-not-store-me');
  });

  it('stores plainly where encryption was not asked for, which shows that the check above can fail', async () => {
    await kubectl(['create', 'secret', 'generic', 'plain', '--from-literal=password=do-not-store-me'], plain);
    expect(await plain.etcd.control('get', '/registry/secrets/default/plain')).toContain('do-not-store-me');
  });

  it('opens etcd to nobody without a certificate of its authority', async () => {
    const answer = await new Promise<string>((resolve) => {
      const probe = request(`${plain.etcd.endpoints[0]}/health`, { rejectUnauthorized: false }, (response) =>
        resolve(`answered ${response.statusCode}`),
      );
      probe.on('error', (error) => resolve(`refused: ${error.message}`));
      probe.end();
    });
    expect(answer).toMatch(/^refused: .*(certificate|reset|socket|alert)/i);
  });
});
