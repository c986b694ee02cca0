/**
 * Addresses that users write into objects: none of them reaches this machine, its link or a cloud metadata service, however it is
 * spelled, unless the administrator listed it.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type Server as HttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request as ask } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Broker, crdFor, kinds, type OpenApiSchema, type Operator } from '../../src/api/index.ts';
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
import { readClusterKubeconfig } from '../../src/fleet/kubeconfig/index.ts';
import { type Client, connect, silentLogger } from '../../src/runtime/index.ts';
import { type AddressGuard, addressGuard } from '../../src/runtime/internal.ts';
import { startRelay } from '../kafka/support/relay.ts';
import { useKafka } from '../support/kafka.ts';

/** A server that only counts who connects. */
let trap: Server;
let port: number;
/** It listens at a unix socket too. */
let local: Server;
let directory: string;
let socket: string;
let file: string;
let connections: number;

beforeAll(async () => {
  const count = (each: Socket) => {
    connections += 1;
    each.destroy();
  };
  trap = createServer(count);
  local = createServer(count);
  directory = mkdtempSync(join(tmpdir(), 'kidp-ssrf-'));
  [socket, file] = [join(directory, 'socket'), join(directory, 'index.yaml')];
  writeFileSync(file, 'entries: {evil: [{version: 1.0.0, urls: [a.tgz]}]}');
  // Both families, so that every spelling of loopback would arrive.
  await new Promise<void>((resolve) => trap.listen(0, '::', resolve));
  await new Promise<void>((resolve) => local.listen(socket, resolve));
  port = (trap.address() as AddressInfo).port;
});
beforeEach(() => {
  connections = 0;
});
afterAll(() => {
  trap?.close();
  local?.close();
  rmSync(directory, { recursive: true, force: true });
});

/** `here`: a connection to it arrives at the trap, so that a row fails where the protection is missing. */
const hosts = [
  { host: '127.0.0.1', here: true, reason: 'loopback' },
  { host: '127.9.8.7', here: true, reason: 'another address of loopback' },
  { host: '[::1]', here: true, reason: 'loopback of IPv6' },
  { host: '[::ffff:127.0.0.1]', here: true, reason: 'loopback of IPv4, mapped' },
  { host: '[::ffff:7f00:1]', here: true, reason: 'mapped, in hexadecimal' },
  { host: '2130706433', here: true, reason: 'an address as one decimal number' },
  { host: '0x7f000001', here: true, reason: 'an address as one hexadecimal number' },
  { host: '0177.0.0.1', here: true, reason: 'an address in octal numbers' },
  { host: '127.1', here: true, reason: 'a short form' },
  { host: '0.0.0.0', here: true, reason: 'unspecified, which is this machine on Linux' },
  { host: '[::]', here: true, reason: 'unspecified of IPv6' },
  { host: 'localhost', here: true, reason: 'a name that resolves to loopback' },
  { host: 'LOCALHOST', here: true, reason: 'the same in capitals' },
  { host: '169.254.169.254', here: false, reason: 'cloud metadata' },
  { host: '[::ffff:169.254.169.254]', here: false, reason: 'cloud metadata, mapped' },
  { host: '[64:ff9b::a9fe:a9fe]', here: false, reason: 'cloud metadata through NAT64' },
  { host: '169.254.170.23', here: false, reason: 'pod identity of Amazon' },
  { host: '[fe80::1]', here: false, reason: 'link-local of IPv6' },
  { host: '[fd00:ec2::254]', here: false, reason: 'metadata of Amazon over IPv6' },
  { host: '[fd00:ec2::23]', here: false, reason: 'pod identity of Amazon over IPv6' },
];

/** The sentence of the guard. An address that merely cannot be reached gives another one. */
const refusedByGuard = /is refused: its address is loopback, link-local, reserved or a cloud metadata address/;

interface Field {
  /** The kind and the field, as in its schema; other inputs are described. */
  readonly field: string;
  /** The value that leads to a host and a port. */
  value(at: string): string;
  /** What refuses a value that is no such address. */
  readonly strange: RegExp;
  reach(value: string, guard: AddressGuard): Promise<unknown>;
}

const https = (at: string): string => `https://${at}/a`;

/** Every field that makes the platform or a broker connect to an address that somebody else wrote. */
const fields: readonly Field[] = [
  {
    field: 'Broker spec.endpoint',
    value: https,
    strange: /must be an https URL|is not an http\(s\) URL|https/,
    async reach(endpoint, guard) {
      const channel = httpChannel({ token: async () => 'token', guard });
      const broker = { name: 'evil', channel: 'HTTP', endpoint, kafka: topics } as const;
      return channel.send(request, broker).finally(() => channel.close());
    },
  },
  {
    field: 'Broker spec.identity.jwksUri',
    value: https,
    strange: /keys are fetched over https/,
    reach: (url, guard) => fetchKeySet({ url }, { guard }),
  },
  {
    field: 'Broker spec.identity.jwksUri, for encryption',
    value: https,
    strange: /keys are fetched over https/,
    reach: (jwksUri, guard) =>
      brokerEncryption({ guard })({ metadata: { name: 'evil' }, spec: { identity: { jwksUri } } } as Broker),
  },
  {
    field: 'Broker spec.kafka.bootstrapServers',
    value: (at) => at,
    strange: /Kafka is not available: getaddrinfo/,
    async reach(server, guard) {
      const sign = async () => 'signature';
      const channel = kafkaChannel({ sign, log: silentLogger, clientId: 'test', timeoutMilliseconds: 2_000, guard });
      const kafka = { ...topics, bootstrapServers: [server] };
      return channel.send(request, { name: 'evil', channel: 'Kafka', kafka }).finally(() => channel.close());
    },
  },
  {
    field: 'Operator spec.chart.repository',
    value: https,
    strange: /https is required/,
    reach: (repository, guard) => charts(guard).versions(operator({ repository }), {}),
  },
  {
    field: 'Operator spec.chart.oci',
    value: (at) => `oci://${at}/charts/evil`,
    strange: /cannot be fetched|address is invalid|refused/,
    reach: (oci, guard) => charts(guard).versions(operator({ oci }), {}),
  },
  {
    field: 'the server in the kubeconfig of a Cluster',
    value: https,
    strange: /https/,
    async reach(server, guard) {
      const config = readClusterKubeconfig(kubeconfigFor(server));
      await demandServer(guard, 'evil', config);
      const client = connect(config, { lookup: guard.lookup(port) });
      await client.request({ method: 'GET', path: '/version' }).finally(() => client.close());
    },
  },
  {
    field: 'replyTo.statusUrl of a request to a broker',
    value: https,
    strange: /is not encrypted/,
    async reach(statusUrl, guard) {
      const keys = await openKeyRing(memoryKeyStore(), { issuer: 'b', subject: 'b' });
      const sender = statusSender({ keys, audience: 'kidp', statusTopic: 'status', guard });
      return sender.send({} as never, { statusUrl }, 'key').finally(() => Promise.all([sender.close(), keys.close()]));
    },
  },
];

test.each(hosts.filter(({ here }) => here))('$host leads to this machine: $reason', async ({ host }) => {
  await ask(`http://${host}:${port}/`).catch(() => undefined);
  expect(connections).toBeGreaterThan(0);
});

describe.each(fields)('$field', ({ value, strange, reach }) => {
  test.each(hosts)('does not reach $host: $reason', async ({ host }) => {
    await expect(reach(value(`${host}:${port}`), addressGuard())).rejects.toThrow(refusedByGuard);
    expect(connections).toBe(0);
  });

  test('reaches what the administrator listed, and no other port', async () => {
    const at = `127.0.0.1:${port}`;
    const otherPort = addressGuard([`127.0.0.1:${port === 1 ? 2 : 1}`]);
    await expect(reach(value(at), otherPort)).rejects.toThrow(refusedByGuard);
    expect(connections).toBe(0);
    await reach(value(at), addressGuard([at])).catch(() => undefined);
    expect(connections).toBeGreaterThan(0);
  });

  test.each([
    { url: () => `file://${file}`, reason: 'a file' },
    { url: () => `unix:${socket}`, reason: 'a unix socket' },
    { url: () => `http+unix://${encodeURIComponent(socket)}/`, reason: 'HTTP over a unix socket' },
    { url: () => `http://unix:${socket}:/`, reason: 'HTTP over a unix socket, as some clients spell it' },
  ])('does not take $reason, whatever is listed', async ({ url }) => {
    await expect(reach(url(), addressGuard(['0.0.0.0/0', '::/0']))).rejects.toThrow(strange);
    expect(connections).toBe(0);
  });
});

test('every field of a spec that holds the address of a server is in the table, unless nobody connects to it', () => {
  const nobodyConnects = [
    // Shown to people.
    'Application spec.repository',
    // Names in routing rules.
    'Service spec.loadBalancer.host',
    'Team spec.hosts',
  ];
  const tried = fields.map(({ field }) => field).filter((field) => /^\w+ spec\.\S+$/.test(field));
  const found = kinds.flatMap((kind) => {
    const { spec } = crdFor(kind).spec.versions[0]?.schema.openAPIV3Schema.properties ?? {};
    return spec === undefined ? [] : addressFields(spec, 'spec').map((field) => `${kind.kind} ${field}`);
  });
  expect(found.sort()).toEqual([...nobodyConnects, ...tried].sort());
});

function addressFields(schema: OpenApiSchema, path: string): string[] {
  const entries = Object.entries(schema.properties ?? {}) as [string, OpenApiSchema][];
  return entries.flatMap(([name, part]) => {
    const item = part.items as OpenApiSchema | undefined;
    const holdsText = part.type === 'string' || item?.type === 'string';
    const isNamed = /^(.*(url|uri|host|endpoint|server|registry|repository|proxy)s?|oci)$/i.test(name);
    if (holdsText)
      return isNamed || /:\/\/|:\[0-9\]\{1,5\}/.test(`${part.pattern}${item?.pattern}`) ? [`${path}.${name}`] : [];
    return [...addressFields(part, `${path}.${name}`), ...(item ? addressFields(item, `${path}.${name}[]`) : [])];
  });
}

describe('what a server that may be reached names further', () => {
  let server: HttpServer;
  let own: string;
  let answer: RequestListener;
  beforeAll(async () => {
    server = createHttpServer((asked, response) => answer(asked, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    own = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server?.close());

  const forbidden = /it redirects to a forbidden address/;
  const elsewhere = [
    { to: () => `http://127.0.0.1:${port}/`, refused: refusedByGuard, reason: 'another port of this machine' },
    { to: () => `http://localhost:${port}/`, refused: refusedByGuard, reason: 'a name of this machine' },
    { to: () => 'https://169.254.169.254/latest/meta-data', refused: refusedByGuard, reason: 'cloud metadata' },
    { to: () => 'https://[::ffff:a9fe:a9fe]/latest', refused: refusedByGuard, reason: 'cloud metadata, mapped' },
    { to: () => `file://${file}`, refused: forbidden, reason: 'a file' },
    { to: () => `unix:${socket}`, refused: forbidden, reason: 'a unix socket' },
  ];
  const redirect =
    (to: string): RequestListener =>
    (_, response) =>
      void response.writeHead(302, { location: to }).end();

  test('a redirect of a chart repository to itself is followed', async () => {
    answer = (asked, response) => {
      if (asked.url !== '/again') return void response.writeHead(302, { location: `http://${own}/again` }).end();
      return void response.end('apiVersion: v1\nentries: {evil: [{version: 1.0.0, urls: [a.tgz]}]}\n');
    };
    const versions = await charts(addressGuard([own])).versions(operator({ repository: `http://${own}` }), {});
    expect(versions).toEqual([{ version: '1.0.0' }]);
  });

  test.each(elsewhere)('a redirect of a chart repository to $reason is refused', async ({ to, refused }) => {
    answer = redirect(to());
    const versions = charts(addressGuard([own])).versions(operator({ repository: `http://${own}` }), {});
    await expect(versions).rejects.toThrow(refused);
    expect(connections).toBe(0);
  });

  test.each(elsewhere)('a redirect of an OCI registry to $reason is refused', async ({ to, refused }) => {
    answer = redirect(to());
    const versions = charts(addressGuard([own])).versions(operator({ oci: `oci://${own}/evil` }), {});
    await expect(versions).rejects.toThrow(refused);
    expect(connections).toBe(0);
  });

  test.each([
    { to: () => `http://127.0.0.1:${port}/token`, refused: refusedByGuard, reason: 'another port of this machine' },
    { to: () => 'https://169.254.169.254/token', refused: refusedByGuard, reason: 'cloud metadata' },
    { to: () => `file://${file}`, refused: /https is required/, reason: 'a file' },
  ])('a token endpoint of an OCI registry is not $reason', async ({ to, refused }) => {
    answer = (_, response) => void response.writeHead(401, { 'www-authenticate': `Bearer realm="${to()}"` }).end();
    const versions = charts(addressGuard([own])).versions(operator({ oci: `oci://${own}/evil` }), {});
    await expect(versions).rejects.toThrow(refused);
    expect(connections).toBe(0);
  });

  test.each([
    { to: () => `http://127.0.0.1:${port}/a.tgz`, refused: refusedByGuard, reason: 'another port of this machine' },
    { to: () => 'https://169.254.169.254/a.tgz', refused: refusedByGuard, reason: 'cloud metadata' },
    { to: () => `file://${file}`, refused: /has no version 1\.0\.0/, reason: 'a file' },
  ])('an archive in a chart index is not fetched from $reason', async ({ to, refused }) => {
    answer = (_, response) => void response.end(`entries: {evil: [{version: 1.0.0, urls: ["${to()}"]}]}\n`);
    const fetched = charts(addressGuard([own])).fetch(operator({ repository: `http://${own}` }), '1.0.0', {});
    await expect(fetched).rejects.toThrow(refused);
    expect(connections).toBe(0);
  });

  test.each([
    {
      what: 'a key set',
      says: /answered 302; redirects are not followed/,
      reach: () => fetchKeySet({ url: `http://${own}/` }, { guard: addressGuard(['127.0.0.0/8']) }),
    },
    {
      what: 'the endpoint of a Broker',
      says: /302/,
      async reach() {
        const channel = httpChannel({ token: async () => 'token', guard: addressGuard(['127.0.0.0/8']) });
        const broker = { name: 'evil', channel: 'HTTP', endpoint: `http://${own}`, kafka: topics } as const;
        return channel.send(request, broker).finally(() => channel.close());
      },
    },
    {
      what: 'a status URL',
      says: /302/,
      async reach() {
        const keys = await openKeyRing(memoryKeyStore(), { issuer: 'b', subject: 'b' });
        const sender = statusSender({ keys, audience: 'a', statusTopic: 's', guard: addressGuard(['127.0.0.0/8']) });
        const sent = sender.send({} as never, { statusUrl: `http://${own}/` }, 'key');
        return sent.finally(() => Promise.all([sender.close(), keys.close()]));
      },
    },
    {
      what: 'an API server',
      says: /302/,
      async reach() {
        const client = connect({ server: `http://${own}`, source: 'test' });
        const { status } = await client.request({ method: 'GET', path: '/version' }).finally(() => client.close());
        throw new Error(`it answered ${status}`);
      },
    },
  ])('redirects of $what are not followed', async ({ says, reach }) => {
    answer = redirect(`http://127.0.0.1:${port}/`);
    await expect(reach()).rejects.toThrow(says);
    expect(connections).toBe(0);
  });

  test('a Kafka server is not followed to an address that is not allowed', async () => {
    const kafka = await useKafka();
    const [advertised = ''] = kafka.bootstrapServers;
    const relay = await startRelay();
    relay.to(Number(advertised.split(':').at(-1)));
    // What the server names as its own address differs from the one in the Broker.
    const topic = await kafka.makeTopic('ssrf');
    const sending = async (guard: AddressGuard) => {
      const sign = async () => 'signature';
      const channel = kafkaChannel({ sign, log: silentLogger, clientId: 'test', timeoutMilliseconds: 10_000, guard });
      const broker = {
        name: 'evil',
        channel: 'Kafka',
        kafka: { requestTopic: topic, statusTopic: topic, bootstrapServers: [`127.0.0.1:${relay.port}`] },
      } as const;
      return channel.send(request, broker).finally(() => channel.close());
    };
    await expect(sending(addressGuard([`127.0.0.1:${relay.port}`]))).rejects.toThrow(refusedByGuard);
    expect(relay.connections).toBeGreaterThan(0);
    await sending(addressGuard([`127.0.0.1:${relay.port}`, advertised]));
    await relay.stop();
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
const kubeconfigFor = (server: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'a', cluster: { server, 'insecure-skip-tls-verify': false } }],
    users: [{ name: 'a', user: { token: 'a' } }],
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    'current-context': 'a',
  });
