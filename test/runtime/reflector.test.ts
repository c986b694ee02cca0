/** The reflector on the real API server where nothing is broken, and what it leaves behind where everything is. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, connect, loadKubeconfig, Reflector } from '../../src/runtime/index.ts';
import { loseConnections } from '../soak/reflector.ts';
import { sharedCluster } from '../support/cluster.ts';
import { type ConfigMap, churn, configMaps, follow } from './support/churn.ts';

const cluster = sharedCluster();
let client: Client;
let namespace: string;

beforeAll(async () => {
  client = connect(loadKubeconfig({ file: cluster.kubeconfig }));
  namespace = await cluster.uniqueNamespace('reflector');
});
afterAll(() => client?.close());

describe('a reflector', () => {
  it('follows a hundred writes, in pages of three and by watch', async () => {
    await churn(client, { namespace, names: 10, writes: 40, tag: 'before' });
    const follower = follow(client, namespace, { pageSize: 3, stripManagedFields: true });
    await follower.reflector.synced();
    await churn(client, { namespace, names: 10, writes: 60, tag: 'after' });
    await follower.agree(client);
    expect(follower.relists).toBe(0);
    for (const { metadata } of follower.reflector.store) expect(metadata.managedFields).toBeUndefined();
    await follower.stop();
  });

  it('finds objects by an index of one’s own while they change', async () => {
    const create = (name: string, team: string) =>
      client.apply<ConfigMap>(
        configMaps,
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace, labels: { team } } },
        { fieldManager: 'test' },
      );
    await create('indexed-a', 'red');
    const reflector = new Reflector<ConfigMap>({
      client,
      resource: configMaps,
      namespace,
      labelSelector: 'team',
      indexes: { team: ({ metadata }) => [metadata.labels?.team ?? ''] },
    });
    reflector.start();
    await reflector.synced();
    await create('indexed-b', 'red');
    await create('indexed-a', 'blue');
    while (reflector.store.byIndex('team', 'blue').length === 0) await sleep(10);
    expect(reflector.store.byIndex('team', 'red').map(({ metadata }) => metadata.name)).toEqual(['indexed-b']);
    await reflector.stop();
  });

  it('grows neither memory nor sockets over many lost connections (10,000 in the soak)', async () => {
    const { kubeconfig, url } = cluster.controlPlane;
    const growth = await loseConnections({ kubeconfig, url, namespace, times: 600, warmUp: 200 });
    expect(growth.reachableKilobytes, '600 leaked reflections of a connection would be several MB').toBeLessThan(2_048);
    expect(growth.residentLaterKilobytes, '300 leaked connections of OpenSSL would be more').toBeLessThan(8_192);
    expect(growth.sockets).toBe(0);
  });
});
