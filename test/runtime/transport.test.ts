/** The client on the real API server: every verb, every sort of refusal, and every way of not being answered. */
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueAuthority, issueLeaf } from '../../src/runtime/certificates/issue.ts';
import {
  ApiError,
  type Client,
  type ClusterConfig,
  ConnectionError,
  connect,
  fenced,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isNotFound,
  type KubernetesObject,
  loadKubeconfig,
  type Resource,
} from '../../src/runtime/index.ts';
import { sharedCluster } from '../support/cluster.ts';
import { type ConfigMap, configMaps } from './support/churn.ts';

const deployments: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
};
const roles: Resource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'roles',
  kind: 'Role',
  namespaced: true,
};

const cluster = sharedCluster();
const warnings: string[] = [];
let config: ClusterConfig;
let client: Client;
let namespace: string;
const servers: { close(): unknown }[] = [];

beforeAll(async () => {
  config = loadKubeconfig({ file: cluster.kubeconfig });
  client = connect(config, { onWarning: (warning, doing) => warnings.push(`${doing}: ${warning}`) });
  namespace = await cluster.uniqueNamespace('transport');
});
afterAll(async () => {
  await client?.close();
  for (const server of servers) server.close();
});

const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
});

describe('verbs', () => {
  it('create, get, update, patch, delete', async () => {
    const created = await client.create(configMaps, configMap('verbs', { a: 'ü€😀' }));
    expect(created.metadata.uid).toBeDefined();
    expect((await client.get<ConfigMap>(configMaps, created.metadata)).data).toEqual({ a: 'ü€😀' });
    const updated = await client.update(configMaps, { ...created, data: { a: '2' } });
    expect(updated.data).toEqual({ a: '2' });
    await expect(client.update(configMaps, { ...created, data: { a: '3' } })).rejects.toSatisfy(isConflict);
    const merged = await client.patch<ConfigMap>(configMaps, created.metadata, {
      type: 'merge',
      body: { data: { b: '4' } },
    });
    expect(merged.data).toEqual({ a: '2', b: '4' });
    const patched = await client.patch<ConfigMap>(configMaps, created.metadata, {
      type: 'json',
      body: [
        { op: 'test', path: '/data/b', value: '4' },
        { op: 'remove', path: '/data/a' },
      ],
    });
    expect(patched.data).toEqual({ b: '4' });
    await expect(client.create(configMaps, configMap('verbs'))).rejects.toSatisfy(isAlreadyExists);
    await expect(client.delete(configMaps, created.metadata, { preconditions: { uid: 'another' } })).rejects.toSatisfy(
      isConflict,
    );
    await client.delete(configMaps, created.metadata, { dryRun: true });
    await client.delete(configMaps, created.metadata);
    await expect(client.get(configMaps, created.metadata)).rejects.toSatisfy(isNotFound);
  });

  it('server-side apply, with conflicts between managers and force', async () => {
    const applied = await client.apply(configMaps, configMap('applied', { a: '1' }), { fieldManager: 'one' });
    expect(applied.metadata.managedFields?.map(({ manager, operation }) => `${manager} ${operation}`)).toEqual([
      'one Apply',
    ]);
    await expect(
      client.apply(configMaps, configMap('applied', { a: '2' }), { fieldManager: 'two' }),
    ).rejects.toMatchObject({
      status: 409,
      details: { causes: [{ reason: 'FieldManagerConflict', field: '.data.a' }] },
    });
    // What the server answered can be applied as it is: the managedFields in it are left out.
    const forced = await client.apply(
      configMaps,
      { ...applied, metadata: { ...applied.metadata }, data: { a: '2' } },
      { fieldManager: 'two', force: true },
    );
    expect(forced.data).toEqual({ a: '2' });
  });

  it('subresources: status beside spec, and a token under its account', async () => {
    const labels = { app: 'status' };
    await client.create(deployments, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'status', namespace },
      spec: {
        replicas: 0,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'none', image: 'none' }] } },
      },
    } as KubernetesObject);
    const key = { name: 'status', namespace };
    const condition = { type: 'Bench', status: 'True', reason: 'Test', message: 'set through the subresource' };
    await client.patch(
      deployments,
      key,
      { type: 'strategic', body: { status: { conditions: [condition] }, spec: { replicas: 5 } } },
      { subresource: 'status' },
    );
    const read = (await client.get(deployments, key, { subresource: 'status' })) as unknown as {
      spec: { replicas: number };
      status: { conditions: { type: string }[] };
    };
    expect(read.status.conditions.map(({ type }) => type)).toContain('Bench');
    expect(read.spec.replicas, 'a status write changes no spec').toBe(0);
    const accounts: Resource = {
      group: '',
      version: 'v1',
      plural: 'serviceaccounts',
      kind: 'ServiceAccount',
      namespaced: true,
    };
    await client.create(accounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'sub', namespace } });
    const request = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { name: 'sub', namespace },
      spec: {},
    };
    expect(await client.create(accounts, request, { subresource: 'token' })).toHaveProperty('status.token');
  });

  it('lists in pages and with selectors, each item with its kind; watches what follows', async () => {
    for (const name of ['list-a', 'list-b', 'list-c']) {
      const object = configMap(name);
      await client.create(configMaps, { ...object, metadata: { ...object.metadata, labels: { page: 'yes' } } });
    }
    const first = await client.list<ConfigMap>(configMaps, { namespace, labelSelector: 'page=yes', limit: 2 });
    expect(first.items.map(({ kind, apiVersion, metadata }) => `${apiVersion} ${kind} ${metadata.name}`)).toEqual([
      'v1 ConfigMap list-a',
      'v1 ConfigMap list-b',
    ]);
    const rest = await client.list<ConfigMap>(configMaps, {
      namespace,
      labelSelector: 'page=yes',
      limit: 2,
      continue: first.metadata.continue ?? '',
    });
    expect(rest.items.map(({ metadata }) => metadata.name)).toEqual(['list-c']);
    expect((await client.list(configMaps, { namespace, fieldSelector: 'metadata.name=list-b' })).items).toHaveLength(1);

    const streamed: ConfigMap[] = [];
    const envelope = await client.listEach?.<ConfigMap>(
      configMaps,
      { namespace, labelSelector: 'page=yes', omitManagedFields: true },
      (object) => streamed.push(object),
    );
    expect(streamed.map(({ kind, metadata }) => `${kind} ${metadata.name} ${metadata.managedFields}`)).toEqual([
      'ConfigMap list-a undefined',
      'ConfigMap list-b undefined',
      'ConfigMap list-c undefined',
    ]);
    expect(envelope?.metadata.resourceVersion).toMatch(/^\d+$/);

    const seen: string[] = [];
    let opened = false;
    const watch = client.watch<ConfigMap>(configMaps, {
      namespace,
      resourceVersion: rest.metadata.resourceVersion,
      timeoutSeconds: 120,
      onOpen: () => {
        opened = true;
        void client
          .create(configMaps, configMap('watched'))
          .then(() => client.delete(configMaps, { namespace, name: 'watched' }));
      },
    });
    for await (const event of watch) {
      // The cluster puts a ConfigMap of its own into every namespace.
      if (event.type === 'BOOKMARK' || event.type === 'ERROR' || event.object.metadata.name !== 'watched') continue;
      seen.push(`${event.type} ${event.object.metadata.name}`);
      if (event.type === 'DELETED') break;
    }
    expect(opened).toBe(true);
    expect(seen).toEqual(['ADDED watched', 'DELETED watched']);
  });

  it('a hundred watches do not keep a write waiting', async () => {
    const stop = new AbortController();
    let open = 0;
    const onOpen = () => {
      open += 1;
    };
    const watches = Array.from({ length: 100 }, async () => {
      const stream = client.watch(configMaps, { namespace, signal: stop.signal, onOpen });
      for await (const _event of stream);
    });
    const settled = Promise.allSettled(watches);
    while (open < 100) await new Promise((resolve) => setTimeout(resolve, 20));
    await client.apply(configMaps, configMap('beside-watches'), { fieldManager: 'me' });
    stop.abort();
    for (const result of await settled) {
      expect(result).toMatchObject({ status: 'rejected', reason: { failure: 'aborted' } });
    }
  });

  it('impersonates users, groups and extra', async () => {
    const other = client.impersonate({ user: 'jane', groups: ['devs', 'on-call'], extra: { scopes: ['a'] } });
    const { text } = await other.request({
      method: 'POST',
      path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    });
    expect((JSON.parse(text) as { status: { userInfo: object } }).status.userInfo).toMatchObject({
      username: 'jane',
      groups: expect.arrayContaining(['devs', 'on-call']),
      extra: { scopes: ['a'] },
    });
    await expect(other.list(configMaps, { namespace })).rejects.toSatisfy(isForbidden);
    // The error names the missing right.
    await expect(other.list(configMaps, { namespace })).rejects.toThrow(
      `cannot list resource "configmaps" in API group "" in the namespace "${namespace}": ask an administrator for that right, "kubectl auth can-i list configmaps -n ${namespace}" shows when you have it`,
    );
    await expect(other.get(roles, { namespace, name: 'a' })).rejects.toThrow(
      `"kubectl auth can-i get roles.rbac.authorization.k8s.io -n ${namespace}" shows`,
    );
    const nothing = { type: 'merge', body: {} } as const;
    const status = { subresource: 'status' };
    await expect(other.patch(deployments, { namespace, name: 'a' }, nothing, status)).rejects.toThrow(
      `"kubectl auth can-i patch deployments.apps --subresource=status -n ${namespace}" shows`,
    );
  });

  it('goes through a proxy where the config names one: lists, watches and writes', async () => {
    const tunnels: string[] = [];
    const proxy = createHttpServer().on('connect', (request, inner) => {
      tunnels.push(request.url ?? '');
      const { hostname, port } = new URL(`http://${request.url}`);
      const outer = connectTcp(Number(port), hostname, () => {
        inner.write('HTTP/1.1 200 Connection established\r\n\r\n');
        inner.pipe(outer).pipe(inner);
      });
      for (const socket of [inner, outer]) socket.on('error', () => {}).on('close', () => outer.destroy());
    });
    servers.push(proxy);
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const behind = connect({ ...config, proxyUrl: `http://127.0.0.1:${port}` });
    const opened = Promise.withResolvers<void>();
    const watching = (async () => {
      for await (const event of behind.watch(configMaps, { namespace, onOpen: opened.resolve })) {
        if (event.type === 'ADDED' && event.object.metadata.name === 'behind-a-proxy') return 'seen';
      }
      return 'ended';
    })();
    await opened.promise;
    await behind.create(configMaps, configMap('behind-a-proxy'));
    const standing = { remainingMilliseconds: () => 60_000, signal: new AbortController().signal };
    await fenced(behind, standing).create(configMaps, configMap('fenced-behind-a-proxy'));
    const names: string[] = [];
    await behind.listEach?.(configMaps, { namespace }, ({ metadata }) => names.push(metadata.name));
    expect(names).toEqual(expect.arrayContaining(['behind-a-proxy', 'fenced-behind-a-proxy']));
    expect(await watching).toBe('seen');
    expect(new Set(tunnels)).toEqual(new Set([new URL(config.server).host]));
    await behind.close();
  });

  it('hands on warnings', async () => {
    const { warnings: raw } = await client.request({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/configmaps`,
      query: { fieldValidation: 'Warn', dryRun: 'All' },
      body: { ...configMap('warned'), colour: 'red' },
    });
    expect(raw).toEqual(['unknown field "colour"']);
    await client.create(configMaps, { ...configMap('warned'), colour: 'red' } as ConfigMap, {
      fieldValidation: 'Warn',
      dryRun: true,
    });
    expect(warnings.at(-1)).toContain('create configmaps');
    expect(warnings.at(-1)).toContain('unknown field "colour"');
  });

  it('any status is an answer to a raw request', async () => {
    expect((await client.request({ method: 'GET', path: '/readyz' })).text).toBe('ok');
    expect((await client.request({ method: 'GET', path: '/nowhere' })).status).toBe(404);
  });
});

describe('refusals', () => {
  it('say what was done, to what, and why', async () => {
    const error = await client
      .create(roles, { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'a/b', namespace } })
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 422, reason: 'Invalid', code: 'api/Invalid', details: { kind: 'Role' } });
    expect((error as ApiError).message).toContain('create roles.rbac.authorization.k8s.io');
  });

  it('a missing namespace is a mistake that is reported before anything is sent', async () => {
    await expect(client.get(configMaps, { name: 'a' })).rejects.toThrow(TypeError);
  });

  it('credentials that are not accepted are named', async () => {
    const { origin: _origin, clientCertificate: _certificate, clientKey: _key, ...rest } = config;
    const stranger = connect({ ...rest, token: { data: 'wrong' } });
    await expect(stranger.list(configMaps)).rejects.toMatchObject({
      status: 401,
      message: expect.stringContaining(config.source),
    });
    await stranger.close();
  });
});

describe('no answer', () => {
  const hour = 3_600_000;
  const authority = issueAuthority({ now: Date.now(), validMilliseconds: 10 * hour, backdateMilliseconds: 100 * hour });
  const leaf = (validity: { now: number; names: string[] }) =>
    issueLeaf(authority, { validMilliseconds: hour, backdateMilliseconds: hour, ...validity });
  const listen = (server: Server | ReturnType<typeof createTcpServer>) =>
    new Promise<number>((resolve) => {
      servers.push(server);
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    });
  const tlsServer = async (pair: { certificate: string; key: string }) =>
    `https://127.0.0.1:${await listen(createHttpsServer({ cert: pair.certificate, key: pair.key }, (_request, response) => response.end('{}')))}`;

  const cases: { reason: string; failure: string; server: () => Promise<string>; ca?: string; says: RegExp }[] = [
    {
      reason: 'nothing listens',
      failure: 'refused',
      // A port that nobody is given.
      server: async () => 'https://127.0.0.1:1',
      says: /nothing answers at .*ECONNREFUSED.*Check that the API server runs/,
    },
    {
      reason: 'the name is unknown',
      failure: 'unresolved',
      server: async () => 'https://no-such-host.invalid:6443',
      says: /does not resolve.*DNS/,
    },
    {
      reason: 'the certificate is expired',
      failure: 'certificate-expired',
      server: () => tlsServer(leaf({ now: Date.now() - 50 * hour, names: ['127.0.0.1'] })),
      ca: authority.certificate,
      says: /expired.*Renew/,
    },
    {
      reason: 'the authority is another',
      failure: 'certificate-untrusted',
      server: () => tlsServer(leaf({ now: Date.now(), names: ['127.0.0.1'] })),
      says: /not signed by the CA.*Put the right CA/,
    },
    {
      reason: 'the certificate is for another name',
      failure: 'certificate-name',
      server: () => tlsServer(leaf({ now: Date.now(), names: ['elsewhere.example'] })),
      ca: authority.certificate,
      says: /another name.*tls-server-name/,
    },
    {
      reason: 'it hangs up at once',
      failure: 'reset',
      server: async () => `http://127.0.0.1:${await listen(createTcpServer((socket) => socket.resetAndDestroy()))}`,
      says: /closed the connection/,
    },
    {
      reason: 'it says nothing',
      failure: 'timeout',
      server: async () => `http://127.0.0.1:${await listen(createTcpServer(() => {}))}`,
      says: /did not answer within 300 ms/,
    },
    {
      reason: 'it stops in the middle of the body',
      failure: 'timeout',
      server: async () =>
        `http://127.0.0.1:${await listen(
          createHttpServer((_request, response) => {
            response.writeHead(200, { 'content-type': 'application/json' });
            response.write('{"items":[');
          }),
        )}`,
      says: /did not answer within 300 ms/,
    },
    {
      reason: 'it is no API server',
      failure: 'other',
      server: async () =>
        `http://127.0.0.1:${await listen(createHttpServer((_request, response) => response.end('<html>hello')))}`,
      says: /not JSON: <html>hello.*Kubernetes API server/,
    },
  ];
  for (const { reason, failure, server, ca, says } of cases) {
    it(`${reason}: ${failure}`, async () => {
      const other = connect({
        server: await server(),
        source: 'a test',
        ...(ca === undefined ? {} : { certificateAuthority: { data: ca } }),
      });
      const timeoutMilliseconds = failure === 'timeout' ? 300 : 60_000;
      const error = await other.list(configMaps, { timeoutMilliseconds }).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error).toMatchObject({ failure, code: `connection/${failure}` });
      expect((error as ConnectionError).message).toMatch(says);
      expect((error as ConnectionError).message).not.toContain('\n');
      await other.close();
    });
  }

  it('what is larger than allowed is not taken in', async () => {
    const port = await listen(createHttpServer((_request, response) => response.end('x'.repeat(100_000))));
    const other = connect({ server: `http://127.0.0.1:${port}`, source: 'a test' }, { maximumResponseBytes: 10_000 });
    await expect(other.list(configMaps)).rejects.toThrow(/larger than 10000 bytes/);
    const asked = { method: 'GET', path: '/' } as const;
    await expect(other.request({ ...asked, maximumResponseBytes: 200_000 })).resolves.toMatchObject({ status: 200 });
    await expect(other.request({ ...asked, maximumResponseBytes: 50_000 })).rejects.toMatchObject({
      failure: 'too-large',
    });
    await other.close();
  });

  it('a caller who gives up, before and during, gets an error', async () => {
    await expect(client.list(configMaps, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      failure: 'aborted',
    });
    const port = await listen(createTcpServer(() => {}));
    const other = connect({ server: `http://127.0.0.1:${port}`, source: 'a test' });
    const giveUp = new AbortController();
    const listing = other.list(configMaps, { signal: giveUp.signal });
    giveUp.abort();
    await expect(listing).rejects.toMatchObject({ failure: 'aborted' });
    await other.close();
  });

  it('a kept-alive connection that the server closed meanwhile costs nobody a request', async () => {
    const server = createHttpServer((_request, response) => response.end('{"items":[],"metadata":{}}'));
    const port = await listen(server);
    const other = connect({ server: `http://127.0.0.1:${port}`, source: 'a test' });
    for (let round = 0; round < 20; round += 1) {
      await other.list(configMaps);
      server.closeIdleConnections();
    }
    await other.close();
  });
});
