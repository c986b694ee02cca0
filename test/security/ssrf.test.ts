/**
 * Addresses that users write into objects: none of them reaches this machine, its link or a cloud metadata service, however it is
 * spelled, unless the administrator listed it.
 */
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Broker, Operator } from '../../src/api/index.ts';
import { fetchKeySet } from '../../src/broker/identity/fetch-key-set.ts';
import {
  brokerEncryption,
  httpChannel,
  kafkaChannel,
  memoryKeyStore,
  openKeyRing,
  REQUEST_TYPE,
  type RequestEvent,
} from '../../src/broker/index.ts';
import { statusSender } from '../../src/broker/reference/sender.ts';
import { demandServer } from '../../src/fleet/access/credentials.ts';
import { openCharts } from '../../src/fleet/index.ts';
import { type Client, connect, silentLogger } from '../../src/runtime/index.ts';
import { type AddressGuard, addressGuard } from '../../src/runtime/internal.ts';

/** A server that only counts who connects. */
let trap: Server;
let port: number;
let connections: number;

beforeAll(async () => {
  trap = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  // Both families, so that every spelling of loopback would arrive.
  await new Promise<void>((resolve) => trap.listen(0, '::', resolve));
  port = (trap.address() as AddressInfo).port;
});
beforeEach(() => {
  connections = 0;
});
afterAll(() => trap?.close());

const hosts = [
  { host: '127.0.0.1', reason: 'loopback' },
  { host: '127.9.8.7', reason: 'another address of loopback' },
  { host: '[::1]', reason: 'loopback of IPv6' },
  { host: '[::ffff:127.0.0.1]', reason: 'loopback of IPv4, mapped' },
  { host: '[::ffff:7f00:1]', reason: 'mapped, in hexadecimal' },
  { host: '2130706433', reason: 'an address as one decimal number' },
  { host: '0x7f000001', reason: 'an address as one hexadecimal number' },
  { host: '0177.0.0.1', reason: 'an address in octal numbers' },
  { host: '127.1', reason: 'a short form' },
  { host: '0.0.0.0', reason: 'unspecified, which is this machine on Linux' },
  { host: '[::]', reason: 'unspecified of IPv6' },
  { host: 'localhost', reason: 'a name that resolves to loopback' },
  { host: 'LOCALHOST', reason: 'the same in capitals' },
  { host: '169.254.169.254', reason: 'cloud metadata' },
  { host: '[fe80::1]', reason: 'link-local of IPv6' },
  { host: '[fd00:ec2::254]', reason: 'metadata of Amazon over IPv6' },
];

interface Field {
  readonly field: string;
  reach(host: string, guard: AddressGuard): Promise<unknown>;
}

/** Every field that makes the platform or a broker connect to an address that somebody else wrote. */
const fields: readonly Field[] = [
  {
    field: 'Broker spec.endpoint',
    async reach(host, guard) {
      const channel = httpChannel({ token: async () => 'token', guard });
      const broker = { name: 'evil', channel: 'HTTP', endpoint: `https://${host}:${port}`, kafka: topics } as const;
      return channel.send(request, broker).finally(() => channel.close());
    },
  },
  {
    field: 'Broker spec.identity.jwksUri, for signatures',
    reach: (host, guard) => fetchKeySet({ url: `https://${host}:${port}/jwks` }, { guard }),
  },
  {
    field: 'Broker spec.identity.jwksUri, for encryption',
    reach: (host, guard) =>
      brokerEncryption({ guard })({
        metadata: { name: 'evil' },
        spec: { identity: { jwksUri: `https://${host}:${port}/jwks` } },
      } as Broker),
  },
  {
    field: 'Broker spec.kafka.bootstrapServers',
    async reach(host, guard) {
      const sign = async () => 'signature';
      const channel = kafkaChannel({ sign, log: silentLogger, clientId: 'test', timeoutMilliseconds: 2_000, guard });
      const kafka = { ...topics, bootstrapServers: [`${host}:${port}`] };
      return channel.send(request, { name: 'evil', channel: 'Kafka', kafka }).finally(() => channel.close());
    },
  },
  {
    field: 'Operator spec.chart.repository',
    reach: (host, guard) => charts(guard).versions(operator({ repository: `https://${host}:${port}/charts` }), {}),
  },
  {
    field: 'Operator spec.chart.oci',
    reach: (host, guard) => charts(guard).versions(operator({ oci: `oci://${host}:${port}/charts/evil` }), {}),
  },
  {
    field: 'the server in the kubeconfig of a Cluster',
    async reach(host, guard) {
      const config = { server: `https://${host}:${port}`, source: 'test' };
      await demandServer(guard, 'evil', config);
      const client = connect(config, { lookup: guard.lookup(port) });
      await client.request({ method: 'GET', path: '/version' }).finally(() => client.close());
    },
  },
  {
    field: 'replyTo.statusUrl of a request to a broker',
    async reach(host, guard) {
      const keys = await openKeyRing(memoryKeyStore(), { issuer: 'b', subject: 'b' });
      const sender = statusSender({ keys, audience: 'kidp', statusTopic: 'status', guard });
      const url = `https://${host}:${port}/v1/status`;
      return sender
        .send({} as never, { statusUrl: url }, 'key')
        .finally(() => Promise.all([sender.close(), keys.close()]));
    },
  },
];

describe.each(fields)('$field', ({ reach }) => {
  test.each(hosts)('does not reach $host: $reason', async ({ host }) => {
    await expect(reach(host, addressGuard())).rejects.toThrow(
      /refused|must be|cannot be|invalid|not available|resolve/i,
    );
    expect(connections).toBe(0);
  });

  test('reaches what the administrator listed, and no other port', async () => {
    const host = '127.0.0.1';
    await expect(reach(host, addressGuard([`${host}:${port === 1 ? 2 : 1}`]))).rejects.toThrow();
    expect(connections).toBe(0);
    await reach(host, addressGuard([`${host}:${port}`])).catch(() => undefined);
    expect(connections).toBeGreaterThan(0);
  });

  test.each([
    'file:///etc/passwd',
    'unix:/run/kidp.sock',
    'http+unix://%2Frun%2Fkidp.sock',
  ])('does not take %s as a host', async (host) => {
    await expect(reach(host, addressGuard(['127.0.0.0/8']))).rejects.toThrow();
    expect(connections).toBe(0);
  });
});

describe('redirects', () => {
  test.each([
    { to: (own: number) => `http://127.0.0.1:${own}/again`, reason: 'to the same server', allowed: true },
    { to: () => `http://127.0.0.1:${port}/`, reason: 'to another port of this machine', allowed: false },
    { to: () => `http://localhost:${port}/`, reason: 'to a name of this machine', allowed: false },
    { to: () => 'https://169.254.169.254/latest/meta-data', reason: 'to cloud metadata', allowed: false },
    { to: () => 'https://[::ffff:a9fe:a9fe]/latest', reason: 'to cloud metadata, mapped', allowed: false },
    { to: () => 'file:///etc/passwd', reason: 'to a file', allowed: false },
  ])('of a chart repository: $reason', async ({ to, allowed }) => {
    const server = createHttpServer((asked, response) => {
      if (asked.url === '/again') return void response.end('apiVersion: v1\nentries: {}\n');
      return void response.writeHead(302, { location: to((server.address() as AddressInfo).port) }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const own = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const versions = charts(addressGuard([own])).versions(operator({ repository: `http://${own}` }), {});
    const failure = await versions.then(
      () => '',
      (error: Error) => error.message,
    );
    server.close();
    if (allowed) expect(failure).not.toMatch(/refused|forbidden/);
    else expect(failure).toMatch(/refused|forbidden/);
    expect(connections).toBe(0);
  });

  test('of a key set are not followed', async () => {
    const server = createHttpServer((_, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${port}/` }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await expect(fetchKeySet({ url }, { guard: addressGuard(['127.0.0.0/8']) })).rejects.toThrow('not followed');
    server.close();
    expect(connections).toBe(0);
  });
});

const topics = { requestTopic: 'requests', statusTopic: 'status' };
const request = {
  specversion: '1.0',
  id: 'uid/1/0/Deploy',
  source: '/kidp',
  type: REQUEST_TYPE,
  data: { deploymentId: 'uid/1/0', resource: { uid: 'uid' } },
} as unknown as RequestEvent;
/** Without credentials in the chart, no object is read. */
const charts = (guard: AddressGuard) => openCharts({ client: {} as Client, systemNamespace: 'kidp-system', guard });
const operator = (chart: object): Operator =>
  ({ metadata: { name: 'evil', uid: 'uid' }, spec: { chart } }) as unknown as Operator;
