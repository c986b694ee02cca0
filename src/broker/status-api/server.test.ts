/** The status API on a real socket, with what well-behaved, mistaken and hostile clients send to it. */
import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { Registry } from 'prom-client';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Broker } from '../../api/index.ts';
import type { Logger } from '../../runtime/index.ts';
import { issueAuthority, issueLeaf, type KeyPair, type LogFields } from '../../runtime/internal.ts';
import { heartbeatEvent, statusEvent } from '../contract/index.ts';
import {
  brokerVerifier,
  findBroker,
  type KeyRing,
  memoryKeyStore,
  openKeyRing,
  STATUS_SCOPE,
} from '../identity/index.ts';
import type { BrokerEvent, StatusReport } from '../messages.ts';
import type { ReportOutcome, ReportSink, VerifiedBroker } from '../sink.ts';
import { type StatusApi, type StatusApiOptions, startStatusApi } from './server.ts';

let rings: Record<'azure' | 'aws', KeyRing>;
let brokers: Broker[];
let registry: Registry;
let logged: { level: string; message: string; fields: LogFields }[];
let taken: { event: BrokerEvent; from: VerifiedBroker }[];
let sink: ReportSink;
let apis: StatusApi[];
let sockets: Socket[];
let agent: Agent;

beforeEach(async () => {
  rings = {
    azure: await openKeyRing(memoryKeyStore(), { issuer: 'azure', subject: 'azure' }),
    aws: await openKeyRing(memoryKeyStore(), { issuer: 'aws', subject: 'aws' }),
  };
  brokers = Object.entries(rings).map(([name, ring]) => brokerOf(name, ring));
  registry = new Registry();
  logged = [];
  taken = [];
  apis = [];
  sockets = [];
  agent = new Agent({ connect: { rejectUnauthorized: false } });
  sink = {
    async receive(event, from) {
      taken.push({ event, from });
      return { result: 'applied', before: 'deploying', after: 'ready' };
    },
  };
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await agent.destroy();
  await Promise.all(apis.map((api) => api.stop({ limitMilliseconds: 0 })));
  for (const ring of Object.values(rings)) ring.close();
});

const brokerOf = (name: string, ring: KeyRing, rateLimit?: Broker['spec']['rateLimit']): Broker =>
  ({
    apiVersion: 'platform.company.com/v1',
    kind: 'Broker',
    metadata: { name },
    spec: {
      channel: 'HTTP',
      identity: { publicKeys: ring.jwks().keys.map((key) => JSON.stringify(key)) },
      ...(rateLimit === undefined ? {} : { rateLimit }),
    },
  }) as unknown as Broker;

const recorder =
  (level: string) =>
  (message: string, fields: LogFields = {}) =>
    void logged.push({ level, message, fields });
const log: Logger = {
  debug: recorder('debug'),
  info: recorder('info'),
  warn: recorder('warn'),
  error: recorder('error'),
  with: () => log,
};

async function start(options: Partial<StatusApiOptions> = {}): Promise<StatusApi> {
  const api = await startStatusApi({
    verifier: brokerVerifier({ broker: (identity) => findBroker(brokers, identity), audience: 'kidp', log }),
    sink: { receive: (...words) => sink.receive(...words) },
    jwks: () => ({ keys: [{ kty: 'OKP', kid: 'platform' }] }),
    rateLimit: (name) => brokers.find(({ metadata }) => metadata.name === name)?.spec.rateLimit,
    registry,
    log,
    ...options,
  });
  apis.push(api);
  return api;
}

const report = (changes: Partial<StatusReport> = {}): BrokerEvent => {
  const { uid = 'u' } = changes.resource ?? {};
  const sequence = changes.sequence ?? 1;
  return statusEvent({
    broker: 'azure',
    deploymentId: `${uid}/1/0`,
    resource: { apiVersion: 'platform.company.com/v1', kind: 'Cache', namespace: 'team', name: `cache-${uid}`, uid },
    sequence,
    phase: 'ready',
    ...changes,
  });
};
const ofObject = (uid: string, sequence = 1): BrokerEvent =>
  report({
    resource: { apiVersion: 'platform.company.com/v1', kind: 'Cache', namespace: 'team', name: `cache-${uid}`, uid },
    sequence,
  });

interface Sent {
  token?: string;
  headers?: Record<string, string>;
  path?: string;
  method?: 'GET' | 'POST' | 'PUT' | 'HEAD';
}

async function post(api: StatusApi, body: unknown, sent: Sent = {}) {
  const token = sent.token ?? (await rings.azure.token({ audience: 'kidp', scope: STATUS_SCOPE }));
  const {
    statusCode,
    headers,
    body: answer,
  } = await request(`${api.url}${sent.path ?? '/v1/status'}`, {
    dispatcher: agent,
    method: sent.method ?? 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...sent.headers },
    ...(body === undefined
      ? {}
      : { body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: statusCode, headers, body: text.startsWith('{') ? JSON.parse(text) : text };
}

async function get(api: StatusApi, path: string) {
  const { statusCode, headers, body } = await request(`${api.url}${path}`, { dispatcher: agent });
  return { status: statusCode, headers, text: await body.text() };
}

describe('a report', () => {
  test('reaches the sink with who made it, and leaves an audit line', async () => {
    const api = await start();
    const event = { ...report(), correlationid: 'c-1' };
    expect(await post(api, event)).toMatchObject({ status: 202, body: { id: 'u/1/0/1', result: 'applied' } });
    expect(taken).toEqual([{ event, from: { name: 'azure', channel: 'HTTP', keyId: expect.any(String) } }]);
    expect(logged.filter(({ fields }) => fields.audit === true)).toMatchObject([
      {
        level: 'info',
        message: 'broker report',
        fields: {
          broker: 'azure',
          object: 'caches/team/cache-u',
          deploymentId: 'u/1/0',
          phase: 'ready',
          before: 'deploying',
          after: 'ready',
          correlationId: 'c-1',
          traceparent: event.traceparent,
        },
      },
    ]);
    expect(await registry.metrics()).toContain(
      'kidp_broker_reports_total{broker="azure",channel="HTTP",type="status",result="applied"} 1',
    );
  });

  test('goes on with the trace of the request where it has none of its own', async () => {
    const api = await start();
    const { traceparent: _own, ...event } = report();
    const traceparent = '00-11111111111111111111111111111111-2222222222222222-01';
    await post(api, event, { headers: { traceparent } });
    expect(taken[0]?.event.traceparent).toBe(traceparent);
    await post(api, event, { headers: { traceparent: 'nonsense' } });
    expect(taken[1]?.event.traceparent).toBeUndefined();
  });

  test('that comes again with the same token is handed on again: effects are once, by the sink', async () => {
    const results: ReportOutcome[] = [{ result: 'applied' }, { result: 'duplicate' }, { result: 'stale' }];
    sink = { receive: async () => results.shift() ?? { result: 'stale' } };
    const api = await start();
    const token = await rings.azure.token({ audience: 'kidp', scope: STATUS_SCOPE });
    const answers = [
      await post(api, report(), { token }),
      await post(api, report(), { token }),
      await post(api, report(), { token }),
    ];
    expect(answers.map(({ status, body }) => [status, body.result])).toEqual([
      [202, 'applied'],
      [202, 'duplicate'],
      [202, 'stale'],
    ]);
  });
});

interface Row {
  reason: string;
  body?: unknown;
  sent?: Sent;
  outcome?: ReportOutcome;
  status: number;
  code: string;
}

const twice = (event: BrokerEvent): string => JSON.stringify(event).replace('"data":{', '"data":{"broker":"aws",');
const polluted = (event: BrokerEvent, name: string): string =>
  JSON.stringify(event).replace('"data":{', `"data":{${name},`);
const nested = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;

const rows: Row[] = [
  { reason: 'no JSON', body: '{', status: 400, code: 'malformed' },
  { reason: 'no UTF-8', body: Buffer.from([0x22, 0xff, 0x22]), status: 400, code: 'malformed' },
  { reason: 'nothing', body: '', status: 400, code: 'malformed' },
  { reason: 'a text', body: '"x"', status: 400, code: 'malformed' },
  { reason: 'null', body: 'null', status: 400, code: 'malformed' },
  { reason: 'an empty batch', body: [], status: 400, code: 'malformed' },
  { reason: 'nested to exhaust a stack', body: nested, status: 400, code: 'malformed' },
  { reason: 'a field twice, the second one hides the first', body: twice(report()), status: 400, code: 'malformed' },
  { reason: '__proto__', body: polluted(report(), '"__proto__":{"admin":true}'), status: 400, code: 'malformed' },
  { reason: '__proto__, escaped', body: polluted(report(), '"\\u005f_proto__":{}'), status: 400, code: 'malformed' },
  {
    reason: 'constructor.prototype',
    body: polluted(report(), '"constructor":{"prototype":{}}'),
    status: 400,
    code: 'malformed',
  },
  {
    reason: 'a batch that says to be one event',
    body: [report()],
    sent: { headers: { 'content-type': 'application/cloudevents+json' } },
    status: 400,
    code: 'malformed',
  },
  {
    reason: 'one event that says to be a batch',
    body: report(),
    sent: { headers: { 'content-type': 'application/cloudevents-batch+json' } },
    status: 400,
    code: 'malformed',
  },
  { reason: 'too many events', body: Array.from({ length: 101 }, () => report()), status: 413, code: 'oversized' },
  { reason: 'too many bytes', body: JSON.stringify('x'.repeat(1024 * 1024)), status: 413, code: 'oversized' },
  {
    reason: 'a form',
    body: 'a=b',
    sent: { headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    status: 415,
    code: 'unsupported',
  },
  {
    reason: 'compressed',
    body: 'x',
    sent: { headers: { 'content-encoding': 'gzip' } },
    status: 415,
    code: 'unsupported',
  },
  {
    reason: 'a type that nobody knows',
    body: { ...report(), type: 'com.example.thing' },
    status: 422,
    code: 'unknown-type',
  },
  {
    reason: 'a request is not for us',
    body: { ...report(), type: 'com.company.platform.deployment.requested.v1' },
    status: 422,
    code: 'unknown-type',
  },
  {
    reason: 'a version of tomorrow',
    body: { ...report(), type: 'com.company.platform.deployment.status.v2' },
    status: 422,
    code: 'unknown-version',
  },
  { reason: 'failed without an error', body: report({ phase: 'failed' }), status: 422, code: 'invalid' },
  { reason: 'reports as another broker', body: report({ broker: 'aws' }), status: 403, code: 'wrong-broker' },
  {
    reason: 'a heartbeat of another broker',
    body: heartbeatEvent({ broker: 'aws', version: '1', capabilities: [] }),
    status: 403,
    code: 'wrong-broker',
  },
  {
    reason: 'of an object that is not its own',
    body: report(),
    outcome: { result: 'refused', code: 'wrong-broker', message: 'not yours' },
    status: 403,
    code: 'wrong-broker',
  },
  {
    reason: 'no such object',
    body: report(),
    outcome: { result: 'refused', code: 'unknown-object', message: 'gone' },
    status: 404,
    code: 'unknown-object',
  },
  {
    reason: 'never asked for',
    body: report(),
    outcome: { result: 'refused', code: 'unknown-deployment', message: 'never' },
    status: 409,
    code: 'unknown-deployment',
  },
  { reason: 'another method', sent: { method: 'PUT' }, body: report(), status: 405, code: 'method' },
  { reason: 'another address', sent: { path: '/v1/other' }, body: report(), status: 404, code: 'not-found' },
];

test.each(rows)('$status $code: $reason', async ({ body, sent, outcome, status, code }) => {
  let asked = 0;
  sink = {
    receive: async () => {
      asked += 1;
      return outcome ?? { result: 'applied' };
    },
  };
  const api = await start();
  const answer = await post(api, body, sent);
  expect(answer).toMatchObject({
    status,
    body: { status, code, detail: expect.any(String), title: expect.any(String) },
  });
  expect(answer.headers['content-type']).toMatch('application/problem+json');
  expect(asked).toBe(outcome === undefined ? 0 : 1);
  expect(({} as Record<string, unknown>).admin).toBeUndefined();
});

test('what was refused is counted by its reason', async () => {
  const api = await start();
  await post(api, '{');
  await post(api, report({ broker: 'aws' }));
  await post(api, report(), { token: 'x' });
  const metrics = await registry.metrics();
  for (const code of ['malformed', 'wrong-broker']) {
    expect(metrics).toContain(`kidp_broker_events_rejected_total{channel="HTTP",code="${code}"}`);
  }
  expect(logged.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
    'broker report refused',
    'broker identity rejected',
  ]);
});

describe('who it is', () => {
  test('is known before the body is read', async () => {
    const api = await start();
    const socket = open(api);
    socket.write(
      'POST /v1/status HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{',
    );
    expect(await until(socket, 'HTTP/1.1 401')).toContain(
      'www-authenticate: Bearer realm="kidp", error="invalid_token"',
    );
    expect(taken).toEqual([]);
  });

  test.each([
    { reason: 'none', header: undefined },
    { reason: 'another scheme', header: 'Basic YTpi' },
    { reason: 'two tokens', header: 'Bearer a.b.c d.e.f' },
    { reason: 'nonsense', header: 'Bearer x' },
  ])('$reason: 401', async ({ header }) => {
    const api = await start();
    const { statusCode, body } = await request(`${api.url}/v1/status`, {
      dispatcher: agent,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(header === undefined ? {} : { authorization: header }) },
      body: '{}',
    });
    expect([statusCode, ((await body.json()) as { code: string }).code]).toEqual([401, 'malformed']);
  });

  test('a token without the scope: 403', async () => {
    const api = await start();
    const token = await rings.azure.token({ audience: 'kidp', scope: 'other:write' });
    const answer = await post(api, report(), { token });
    expect(answer).toMatchObject({ status: 403, body: { code: 'missing-scope' } });
    expect(answer.headers['www-authenticate']).toContain('insufficient_scope');
  });

  test('keys that cannot be had: 503, not the fault of the broker', async () => {
    const [azure] = brokers;
    if (azure === undefined) throw new Error('no broker');
    azure.spec.identity = { jwksUri: 'http://127.0.0.1:1/keys' };
    const answer = await post(await start(), report());
    expect(answer).toMatchObject({ status: 503, body: { code: 'keys-unavailable' } });
    expect(answer.headers['retry-after']).toBe('5');
  });
});

describe('a batch', () => {
  test('says what became of each event; the bad ones stop none of the others', async () => {
    sink = {
      receive: async ({ subject }) =>
        subject.endsWith('cache-b')
          ? { result: 'refused', code: 'unknown-object', message: 'no such object' }
          : { result: 'applied' },
    };
    const api = await start();
    const invalid = { ...ofObject('c'), specversion: '0.3' };
    const answer = await post(api, [
      ofObject('a'),
      ofObject('b'),
      invalid,
      7,
      report({ broker: 'aws' }),
      ofObject('d'),
    ]);
    expect(answer.status).toBe(202);
    expect(answer.body.results).toMatchObject([
      { id: 'a/1/0/1', result: 'applied' },
      { id: 'b/1/0/1', result: 'refused', code: 'unknown-object' },
      { id: 'c/1/0/1', result: 'refused', code: 'unknown-version', path: '/specversion' },
      { result: 'refused', code: 'malformed' },
      { id: 'u/1/0/1', result: 'refused', code: 'wrong-broker' },
      { id: 'd/1/0/1', result: 'applied' },
    ]);
  });

  test('takes the events of one object in their order', async () => {
    const order: string[] = [];
    sink = {
      async receive({ id }) {
        order.push(`begin ${id}`);
        await new Promise((resolve) => setImmediate(resolve));
        order.push(`end ${id}`);
        return { result: 'applied' };
      },
    };
    await post(await start(), [ofObject('a', 1), ofObject('b', 1), ofObject('a', 2)], {
      headers: { 'content-type': 'application/cloudevents-batch+json; charset=UTF-8' },
    });
    const ofA = order.filter((line) => line.includes(' a/'));
    expect(ofA).toEqual(['begin a/1/0/1', 'end a/1/0/1', 'begin a/1/0/2', 'end a/1/0/2']);
    expect(order.indexOf('begin b/1/0/1')).toBeLessThan(order.indexOf('end a/1/0/1'));
  });

  test('of which some is to be sent again is a 503 that names it', async () => {
    sink = {
      async receive({ subject }) {
        if (subject.endsWith('-b')) throw new Error('no API server');
        return { result: 'applied' };
      },
    };
    const answer = await post(await start(), [ofObject('a'), ofObject('b')]);
    expect(answer).toMatchObject({
      status: 503,
      headers: { 'retry-after': '2' },
      body: { code: 'unavailable', results: [{ result: 'applied' }, { id: 'b/1/0/1', result: 'retry' }] },
    });
  });
});

describe('a sink that fails', () => {
  test('503 with Retry-After, without internal details', async () => {
    sink = { receive: () => Promise.reject(new Error('etcd at 10.0.0.1 is away')) };
    const answer = await post(await start(), report());
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '2' }, body: { code: 'unavailable' } });
    expect(JSON.stringify(answer.body)).not.toContain('etcd');
    expect(await registry.metrics()).toContain('type="status",result="retry"} 1');
  });

  test('that hangs is aborted after a timeout', async () => {
    let aborted = false;
    sink = {
      receive: (_event, _from, signal) =>
        new Promise(() => {
          signal?.addEventListener('abort', () => {
            aborted = true;
          });
        }),
    };
    const answer = await post(await start({ sinkMilliseconds: 50 }), report());
    expect([answer.status, aborted]).toEqual([503, true]);
  });

  test('an internal error is a 500 without details, and is logged', async () => {
    const verifier = {
      token: () => Promise.reject(new Error('secret detail')),
      signature: () => Promise.reject(new Error('')),
    };
    const answer = await post(await start({ verifier }), report());
    expect(answer).toMatchObject({ status: 500, body: { code: 'internal' } });
    expect(JSON.stringify(answer.body)).not.toContain('secret detail');
    expect(logged.filter(({ level }) => level === 'error')).toHaveLength(1);
  });
});

describe('a rate limit', () => {
  test('is that of the Broker, for each its own, and says when to come again', async () => {
    brokers = [brokerOf('azure', rings.azure, { requestsPerSecond: 1, burst: 3 }), brokerOf('aws', rings.aws)];
    const clock = { now: () => Date.now(), monotonic: () => time, schedule: () => () => {} };
    let time = 0;
    const api = await start({ clock });
    const aws = await rings.aws.token({ audience: 'kidp', scope: STATUS_SCOPE });
    const statuses = async (times: number) => {
      const seen: number[] = [];
      for (let each = 0; each < times; each += 1) seen.push((await post(api, report())).status);
      return seen;
    };
    expect(await statuses(4)).toEqual([202, 202, 202, 429]);
    const refused = await post(api, report());
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1' }, body: { code: 'rate-limited' } });
    expect((await post(api, report({ broker: 'aws' }), { token: aws })).status).toBe(202);
    time = 2000;
    expect(await statuses(3)).toEqual([202, 202, 429]);
    time = 4000;
    // Two are there again and three are wanted.
    expect(await post(api, [ofObject('a'), ofObject('b'), ofObject('c')])).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1' },
    });
    time = 10_000;
    expect(
      (
        await post(
          api,
          Array.from({ length: 50 }, (_, index) => ofObject(`o${index}`)),
        )
      ).status,
    ).toBe(202);
  });

  test('is a sensible one where the Broker has none', async () => {
    const api = await start({ clock: { now: () => Date.now(), monotonic: () => 0, schedule: () => () => {} } });
    const batch = Array.from({ length: 100 }, (_, index) => ofObject(`o${index}`));
    const seen: number[] = [];
    for (let each = 0; each < 21; each += 1) seen.push((await post(api, batch)).status);
    expect(seen).toEqual([...Array.from({ length: 20 }, () => 202), 429]);
  });

  test('is not used up by who hangs up while it is being found out who they are', async () => {
    const inner = brokerVerifier({ broker: (identity) => findBroker(brokers, identity), audience: 'kidp', log });
    const waiting: (() => void)[] = [];
    let isSlow = true;
    const token: typeof inner.token = async (bearer, scope) => {
      const from = await inner.token(bearer, scope);
      if (isSlow) await new Promise<void>((resolve) => waiting.push(resolve));
      return from;
    };
    const api = await start({ verifier: { ...inner, token } });
    const bearer = await rings.azure.token({ audience: 'kidp', scope: STATUS_SCOPE });
    const impatient = Array.from({ length: 40 }, () => open(api));
    for (const socket of impatient)
      socket.write(`POST /v1/status HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bearer}\r\n\r\n`);
    await expect.poll(() => waiting.length).toBe(40);
    for (const socket of impatient) socket.destroy();
    await expect.poll(async () => (await get(api, '/healthz')).status).toBe(200);
    for (const resolve of waiting) resolve();
    isSlow = false;
    await expect.poll(async () => (await post(api, report())).status).toBe(202);
  });

  test('holds for requests at once too', async () => {
    const release: (() => void)[] = [];
    sink = { receive: () => new Promise((resolve) => release.push(() => resolve({ result: 'applied' }))) };
    const api = await start();
    const first = Array.from({ length: 32 }, () => post(api, report()));
    await expect.poll(() => release.length).toBe(32);
    expect(await post(api, report())).toMatchObject({ status: 429, body: { code: 'too-many-at-once' } });
    for (const each of release) each();
    expect((await Promise.all(first)).every(({ status }) => status === 202)).toBe(true);
    sink = { receive: async () => ({ result: 'applied' }) };
    await expect.poll(async () => (await post(api, report())).status).toBe(202);
  });
});

describe('pages', () => {
  test('health, readiness, keys, and the document; metrics are at the port of the webhook only', async () => {
    let ready = false;
    const api = await start({ ready: () => ready });
    expect(await get(api, '/healthz')).toMatchObject({ status: 200, text: 'ok' });
    expect(await get(api, '/readyz')).toMatchObject({ status: 503, text: 'not ready' });
    expect(await post(api, report())).toMatchObject({
      status: 503,
      headers: { 'retry-after': '2' },
      body: { code: 'not-ready' },
    });
    ready = true;
    expect(await get(api, '/readyz')).toMatchObject({ status: 200, text: 'ok' });
    expect(await get(api, '/metrics')).toMatchObject({ status: 404 });
    const keys = await get(api, '/.well-known/jwks.json');
    expect(JSON.parse(keys.text)).toEqual({ keys: [{ kty: 'OKP', kid: 'platform' }] });
    expect(keys.headers).toMatchObject({
      'content-type': expect.stringContaining('application/jwk-set+json'),
      'cache-control': 'public, max-age=300',
    });
    expect(JSON.parse((await get(api, '/openapi.json')).text).openapi).toBe('3.1.0');
  });
});

describe('stopping', () => {
  test('finishes what is in flight, takes nothing new, and happens once', async () => {
    const release = Promise.withResolvers<ReportOutcome>();
    sink = {
      receive(event, from) {
        taken.push({ event, from });
        return release.promise;
      },
    };
    const api = await start();
    const answer = post(api, report());
    await expect.poll(() => taken.length).toBe(1);
    const stopped = api.stop({ limitMilliseconds: 60_000 });
    expect(api.stop()).toBe(stopped);
    const connecting = () =>
      request(`${api.url}/healthz`).then(
        () => 'taken',
        () => 'refused',
      );
    await expect.poll(connecting).toBe('refused');
    release.resolve({ result: 'applied' });
    expect((await answer).status).toBe(202);
    await stopped;
  });

  test('cuts off whoever is left after a while, those too who have not said a word', async () => {
    const asked = Promise.withResolvers<void>();
    sink = {
      receive() {
        asked.resolve();
        return new Promise(() => {});
      },
    };
    const api = await start();
    const silent = open(api);
    const closed = new Promise((resolve) => silent.once('close', resolve));
    const answer = post(api, report()).catch(() => 'cut off');
    await asked.promise;
    await api.stop({ limitMilliseconds: 50 });
    expect(await answer).toBe('cut off');
    await closed;
  });

  test('a port that is in use is an error with a remedy', async () => {
    const { port } = await start();
    await expect(start({ port })).rejects.toMatchObject({
      code: 'config/port',
      message: expect.stringContaining('is already in use'),
    });
  });
});

describe('slow clients are cut off', () => {
  const limits = { headersMilliseconds: 200, requestMilliseconds: 400 };
  const head = 'POST /v1/status HTTP/1.1\r\nhost: x\r\n';
  test.each([
    { who: 'says nothing', begin: () => '', drip: '' },
    { who: 'never ends its headers', begin: () => head, drip: 'x-a: b\r\n' },
    {
      who: 'never ends its body',
      begin: (token: string) =>
        `${head}authorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{`,
      drip: ' ',
    },
  ])('who $who', async ({ begin, drip }) => {
    const api = await start({ limits });
    const socket = open(api);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(begin(await rings.azure.token({ audience: 'kidp', scope: STATUS_SCOPE })));
    const dripping = setInterval(() => socket.write(drip), 50);
    socket.resume();
    await closed;
    clearInterval(dripping);
    expect(taken).toEqual([]);
    // On a busy machine even a good request may once be too slow for limits as tight as these.
    await expect.poll(() => post(api, report()).then(({ status }) => status, String)).toBe(202);
  });

  test.each([
    {
      reason: 'headers without end',
      sent: `GET /healthz HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`,
      status: 431,
    },
    { reason: 'no HTTP', sent: 'HELLO\r\n\r\n', status: 400 },
    {
      reason: 'two lengths, to smuggle a request',
      sent: 'POST /v1/status HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      status: 400,
    },
    { reason: 'an address that is none', sent: 'GET /%zz HTTP/1.1\r\nhost: x\r\n\r\n', status: 400 },
  ])('$status: $reason', async ({ sent, status }) => {
    const socket = open(await start());
    socket.write(sent);
    await until(socket, `HTTP/1.1 ${status}`);
  });

  test('one connection more than there is room for closes one that has sent nothing', async () => {
    const api = await start({ limits: { connections: 1 } });
    const first = open(api);
    await new Promise((resolve) => first.once('connect', resolve));
    const closed = new Promise((resolve) => first.once('close', resolve));
    expect(await post(api, report())).toMatchObject({ status: 202 });
    await closed;
  });

  test('who does not read answers is disconnected', async () => {
    const api = await start({ limits });
    const socket = open(api);
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.pause();
    socket.write('GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(3000));
    // Without reading, the end is noticed when something is sent.
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const probing = setInterval(() => socket.write('\r\n'), 100);
    await closed;
    clearInterval(probing);
  });
});

describe('over TLS', () => {
  const validity = { now: Date.now(), validMilliseconds: 600_000, backdateMilliseconds: 60_000 };
  const authority = issueAuthority(validity);
  const leaf = () => issueLeaf(authority, { ...validity, names: ['127.0.0.1'] });

  function source() {
    let pair: KeyPair = leaf();
    const listeners = new Set<() => void>();
    return {
      current: () => pair,
      subscribe(listener: () => void) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      turn() {
        pair = leaf();
        for (const listener of listeners) listener();
      },
      listeners,
    };
  }

  const shown = (api: StatusApi, options: ConnectionOptions = {}): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connectTls({ host: '127.0.0.1', port: api.port, ca: authority.certificate, ...options }, () => {
        resolve(socket.getPeerCertificate().serialNumber);
        socket.destroy();
      });
      socket.once('error', reject);
    });

  test('1.2 and newer, older is refused; the certificate turns while it runs', async () => {
    const tls = source();
    const api = await start({ tls });
    expect(api.url).toMatch(/^https:/);
    expect((await post(api, report())).status).toBe(202);
    const before = await shown(api, { maxVersion: 'TLSv1.2' });
    await expect(
      shown(api, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
    ).rejects.toThrow();
    tls.turn();
    expect(await shown(api, { minVersion: 'TLSv1.3' })).not.toBe(before);
    await api.stop();
    expect(tls.listeners.size).toBe(0);
  });

  test('who speaks no TLS disturbs nobody', async () => {
    const api = await start({ tls: source() });
    const socket = open(api);
    socket.write('GET / HTTP/1.1\r\n\r\n');
    await new Promise((resolve) => socket.once('close', resolve));
    expect((await post(api, report())).status).toBe(202);
  });
});

function open(api: StatusApi): Socket {
  const socket = connect(api.port, '127.0.0.1');
  socket.on('error', () => {});
  sockets.push(socket);
  return socket;
}

/** What has come by the time that this has. */
function until(socket: Socket, expected: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
      if (text.includes(expected) && text.includes('\r\n\r\n')) resolve(text);
    });
    socket.once('close', () => reject(new Error(`closed after: ${text}`)));
  });
}
