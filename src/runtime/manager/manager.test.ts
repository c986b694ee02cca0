/**
 * The order in which a manager starts its runnables, in cases that a real server cannot produce on demand. Other tests:
 * test/runtime/controller-manager.test.ts.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Client, RequestOptions } from '../client/client.ts';
import { controllerManagedBy } from '../controller/index.ts';
import { ConfigError } from '../errors.ts';
import type { ClusterConfig } from '../kubeconfig/kubeconfig.ts';
import type { KubernetesObject, Resource } from '../objects/object.ts';
import { eventually, settle } from '../testing/index.ts';
import { connect } from '../transport/index.ts';
import { Manager } from './manager.ts';

const resource = (plural: string): Resource => ({
  group: 'test',
  version: 'v1',
  plural,
  kind: plural,
  namespaced: true,
});
const object = (name: string): KubernetesObject => ({
  apiVersion: 'test/v1',
  kind: 'any',
  metadata: { name, namespace: 'n', uid: name, resourceVersion: '1' },
});

/** Returns a client whose lists wait for the given answers and whose watches are silent. */
function serverOf(answers: Readonly<Record<string, Promise<KubernetesObject[]>>>): Client {
  const client = {
    list: async ({ plural }: Resource, options: RequestOptions) => ({
      metadata: { resourceVersion: '1' },
      items: await Promise.race([answers[plural], interruption(options)]),
    }),
    watch: async function* (_resource: Resource, options: RequestOptions) {
      yield await interruption(options);
    },
  };
  return client as unknown as Client;
}

/** Returns an answer that never arrives; it rejects when the request is aborted. */
function interruption(options: RequestOptions | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    options?.signal?.addEventListener('abort', () => reject(options.signal?.reason), { once: true });
  });
}

const lease = { namespace: 'n', name: 'l' };

describe('a manager', () => {
  it('starts a controller that runs on every replica without waiting for leadership', async () => {
    const client = serverOf({ apples: Promise.resolve([object('a')]) });
    const leases: Client = { ...client, get: (_resource, _key, options) => interruption(options) };
    const manager = new Manager({ client, leaderElection: { client: leases, lease } });
    const reconciled: string[] = [];
    controllerManagedBy(manager, 'everywhere')
      .for(resource('apples'))
      .withOptions({ everywhere: true })
      .complete(async ({ name }) => void reconciled.push(name));
    const stop = new AbortController();
    const ended = manager.start(stop.signal);
    await Promise.race([eventually(() => reconciled.includes('a')), ended]);
    expect(reconciled).toEqual(['a']);
    expect(manager.election?.leading).toBe(false);
    stop.abort();
    await ended;
  });

  it('reconciles nothing before all caches of a controller are synced, also for one that is added later', async () => {
    const listed = Promise.withResolvers<KubernetesObject[]>();
    const client = serverOf({ apples: Promise.resolve([object('a')]), bowls: listed.promise });
    const manager = new Manager({ client });
    const stop = new AbortController();
    const ended = manager.start(stop.signal);
    await eventually(async () => (await manager.readiness()).healthy);
    const seen: (KubernetesObject | undefined)[] = [];
    controllerManagedBy(manager, 'late')
      .for(resource('apples'))
      .owns(resource('bowls'))
      .complete(async (_key, { read }) => {
        seen.push(await read.get(resource('bowls'), { namespace: 'n', name: 'b' }));
      });
    await eventually(() => manager.caches.store(resource('apples')).size === 1);
    await settle();
    expect(seen).toEqual([]);
    listed.resolve([object('b')]);
    await eventually(() => seen.length > 0);
    expect(seen[0]?.metadata.name).toBe('b');
    stop.abort();
    await ended;
  });

  it('stops without a failure if a cache was never synced', async () => {
    const client = serverOf({ apples: new Promise(() => {}) });
    const manager = new Manager({ client });
    for (const everywhere of [true, false]) {
      controllerManagedBy(manager, `everywhere ${everywhere}`)
        .for(resource('apples'))
        .withOptions({ everywhere })
        .complete(async () => {});
    }
    const stop = new AbortController();
    const ended = manager.start(stop.signal);
    await settle();
    stop.abort();
    await ended;
  });

  it('refuses to renew the Lease over the connections of the leader client', () => {
    const client = serverOf({});
    expect(() => new Manager({ client, leaderElection: { client, lease } })).toThrow(ConfigError);
  });

  it('keeps the Lease while unanswered writes use all connections of the leader', async () => {
    const { config, close } = await slowServer();
    const client = connect(config, { connections: 2 });
    const leases = connect(config);
    const timing = { leaseDurationMilliseconds: 4000, renewDeadlineMilliseconds: 3000, retryPeriodMilliseconds: 300 };
    const manager = new Manager({ client, leaderElection: { client: leases, lease, ...timing } });
    const stop = new AbortController();
    let writes = 0;
    manager.add({
      name: 'busy',
      leaderOnly: true,
      async start(signal) {
        const write = async () => {
          while (!signal.aborted) {
            writes += 1;
            await manager.leaderClient.create(resource('apples'), object('a'), { signal }).catch(() => {});
            await settle();
          }
        };
        await Promise.all(Array.from({ length: 40 }, write));
      },
    });
    const ended = manager.start(stop.signal);
    await eventually(() => writes > 0);
    // Longer than the time after which a Lease without renewals is certainly lost.
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 3_500))]);
    expect(manager.election?.leading).toBe(true);
    stop.abort();
    await ended;
    await Promise.all([client.close(), leases.close(), close()]);
  });
});

/** Starts a server that stores one Lease and answers no other request. */
async function slowServer(): Promise<{ config: ClusterConfig; close: () => Promise<void> }> {
  let stored: { metadata: { resourceVersion: string } } | undefined;
  const server = createServer((request, response) => {
    if (!(request.url ?? '').includes('/leases')) return;
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      if (request.method !== 'GET') {
        const { metadata, ...rest } = JSON.parse(body);
        stored = { ...rest, metadata: { ...metadata, resourceVersion: String(performance.now()) } };
      }
      response.writeHead(stored === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(stored ?? { kind: 'Status', reason: 'NotFound', code: 404 }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    config: { server: `http://127.0.0.1:${port}`, source: 'the test' },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
