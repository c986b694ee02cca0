/** What the status API and the keys make of a real API server: Brokers as they are stored, and keys in a Secret that replicas share. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type Broker, broker as brokerKind } from '../../src/api/index.ts';
import {
  brokerVerifier,
  encryptTo,
  findBroker,
  heartbeatEvent,
  type KeyRing,
  memoryKeyStore,
  openKeyRing,
  STATUS_SCOPE,
  type StatusApi,
  secretKeyStore,
  startStatusApi,
} from '../../src/broker/index.ts';
import {
  type Client,
  connect,
  loadKubeconfig,
  Reflector,
  silentLogger,
  type UnknownObject,
} from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { installKinds } from '../api/support/installed.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';

const cluster = sharedCluster();
const client: Client = connect(loadKubeconfig({ file: cluster.kubeconfig }));
const rings: KeyRing[] = [];
const open = async (...words: Parameters<typeof openKeyRing>): Promise<KeyRing> => {
  const ring = await openKeyRing(...words);
  rings.push(ring);
  return ring;
};

let reflector: Reflector<Broker>;
let api: StatusApi;
let heard: string[];
/** The key server of a broker. */
let keyServer: Server;
let published: () => object;

beforeAll(async () => {
  await installKinds();
  reflector = new Reflector<Broker>({ client, resource: brokerKind.resource });
  reflector.start();
  await reflector.synced();
  const verifier = brokerVerifier({
    broker: (identity) => findBroker(reflector.store.list(), identity),
    audience: 'kidp',
    log: silentLogger,
  });
  api = await startStatusApi({
    verifier,
    sink: {
      async receive(_event, { name }) {
        heard.push(name);
        return { result: 'applied' };
      },
    },
    jwks: () => ({ keys: [] }),
    rateLimit: (name) => reflector.store.get({ name })?.spec.rateLimit,
    registry: new Registry(),
    log: silentLogger,
  });
  keyServer = createServer((_request, response) => void response.end(JSON.stringify(published())));
  await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await api.stop();
  await new Promise((resolve) => keyServer.close(resolve));
  await reflector.stop();
  await client.close();
});
afterEach(() => {
  for (const ring of rings.splice(0)) ring.close();
});

const apply = (name: string, spec: object) =>
  client.apply<UnknownObject>(
    brokerKind.resource,
    { apiVersion: 'platform.company.com/v1', kind: 'Broker', metadata: { name }, spec: { channel: 'Kafka', ...spec } },
    { fieldManager: 'test', force: true },
  );

async function beat(name: string, ring: KeyRing): Promise<number> {
  heard = [];
  const token = await ring.token({ audience: 'kidp', scope: STATUS_SCOPE });
  const { statusCode, body } = await request(`${api.url}/v1/status`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/cloudevents+json' },
    body: JSON.stringify(heartbeatEvent({ broker: name, version: '1', capabilities: ['Topic'] })),
  });
  await body.dump();
  expect(heard).toEqual(statusCode === 202 ? [name] : []);
  return statusCode;
}

test('a broker is believed from when its Broker is applied until it is deleted, and held to its rate limit', async () => {
  const name = uniqueName('broker');
  const ring = await open(memoryKeyStore(), { issuer: name, subject: name });
  const publicKeys = ring.jwks().keys.map((key) => JSON.stringify(key));
  expect(await beat(name, ring)).toBe(401);
  await apply(name, { identity: { publicKeys } });
  await eventually(async () => (await beat(name, ring)) === 202);
  await apply(name, { identity: { publicKeys }, rateLimit: { requestsPerSecond: 1, burst: 1 } });
  await eventually(async () => (await beat(name, ring)) === 429);
  await client.delete(brokerKind.resource, { name });
  await eventually(async () => (await beat(name, ring)) === 401);
});

test('a broker that rotates its keys is believed with the new one at once, and with the old one while it is published', async () => {
  const name = uniqueName('broker');
  const lives = { ahead: 0 };
  const before = await open(memoryKeyStore(), { issuer: name, subject: name, lives });
  published = () => before.jwks();
  const port = (keyServer.address() as AddressInfo).port;
  await apply(name, { identity: { jwksUri: `http://127.0.0.1:${port}/` } });
  await eventually(async () => (await beat(name, before)) === 202);
  const after = await open(memoryKeyStore(), { issuer: name, subject: name, lives });
  expect(await beat(name, after)).toBe(401);
  published = () => ({ keys: [...before.jwks().keys, ...after.jwks().keys] });
  expect(await beat(name, after)).toBe(202);
  expect(await beat(name, before)).toBe(202);
  await client.delete(brokerKind.resource, { name });
});

test('replicas that share a Secret have the same keys, from the first and after they rotate at the same time', async () => {
  const namespace = await cluster.uniqueNamespace('keys');
  const store = () => secretKeyStore({ client, namespace, name: 'kidp-broker-keys' });
  const options = { issuer: 'kidp', subject: 'kidp', refreshMilliseconds: 200 };
  const replicas = await Promise.all([1, 2, 3].map(() => open(store(), options)));
  const same = () => {
    const [first, ...others] = replicas.map((ring) => JSON.stringify(ring.jwks()));
    expect(others).toEqual([first, first]);
    return replicas[0]?.jwks().keys.length;
  };
  expect(same()).toBe(2);
  await Promise.all(replicas.map((ring) => ring.rotate()));
  await eventually(() => same() === 4);
  const [one, , three] = replicas;
  const jwe = await encryptTo(one?.encryptionKey() ?? {}, { password: 'x' });
  expect(await three?.decrypt(jwe)).toEqual({ password: 'x' });

  const secret = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true };
  await client.delete(secret, { namespace, name: 'kidp-broker-keys' });
  await eventually(() => client.get(secret, { namespace, name: 'kidp-broker-keys' }));
  const restarted = await open(store(), options);
  expect(await restarted.decrypt(jwe)).toEqual({ password: 'x' });
});
