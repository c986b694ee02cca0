import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DeploymentRequest, StatusReport } from '../messages.ts';
import { encodeEvent, heartbeatEvent, requestEvent, statusEvent, usageEvent } from './build.ts';
import { EVENTS_FOLDER, eventFiles } from './files.ts';
import { brokerNamedIn, type EventProblem, MAX_EVENT_BYTES, readEvent } from './read.ts';
import { type EventKind, eventDefinitions, eventKinds } from './schemas.ts';

const root = join(import.meta.dirname, '..', '..', '..');

const resource = {
  apiVersion: 'platform.company.com/v1',
  kind: 'Database',
  namespace: 'team-backend',
  name: 'users',
  uid: '3f2c',
} as const;
const time = new Date('2026-01-31T12:00:00Z');
const request: DeploymentRequest = {
  action: 'Deploy',
  deploymentId: '3f2c/4/1',
  broker: 'azure-westus2',
  resource: { ...resource, generation: 4 },
  labels: { 'platform.company.com/team': 'team-backend' },
  team: 'team-backend',
  target: { name: 'azure-westus2-prod', provider: 'azure', region: 'westus2', parameters: { subscription: 'x' } },
  spec: { engine: 'postgresql', replicas: 2 },
  bindings: [
    {
      kind: 'Cache',
      namespace: 'team-backend',
      name: 'sessions',
      secret: { namespace: 'team-backend', name: 's', revision: '1' },
    },
  ],
  costTags: { team: 'backend' },
  replyTo: { statusTopic: 'deployment-status', statusUrl: 'https://status', encryptionKey: { kty: 'EC' } },
};
const report: StatusReport = {
  broker: 'azure-westus2',
  deploymentId: '3f2c/4/1',
  resource,
  sequence: 3,
  phase: 'ready',
  message: 'done',
  outputs: { host: 'users.db' },
  credentials: { revision: '1', jwe: 'a..b.c.d' },
};
const good = {
  request: requestEvent(request, { time, cause: { correlationid: 'c', tracestate: 'a=b' } }),
  status: statusEvent(report, { time }),
  heartbeat: heartbeatEvent(
    { broker: 'azure-westus2', version: '1.2.3', capabilities: ['Topic', 'Database/postgresql'] },
    { time },
  ),
  usage: usageEvent(
    {
      broker: 'azure-westus2',
      resource,
      month: '2026-01',
      currency: 'EUR',
      amount: '12.50',
      asOf: '2026-01-31T00:00:00Z',
    },
    { time },
  ),
};

describe('what is published', () => {
  test.each([...eventFiles()])('%s is as generated (else run `npm run generate`)', (path, content) => {
    expect(readFileSync(join(root, path), 'utf8')).toBe(content);
  });
  test('nothing else is', () => {
    expect(
      readdirSync(join(root, EVENTS_FOLDER))
        .map((name) => `${EVENTS_FOLDER}/${name}`)
        .sort(),
    ).toEqual([...eventFiles().keys()].sort());
  });
});

describe('what is built can be read', () => {
  test.each(eventKinds)('%s', (kind) => {
    expect(readEvent(encodeEvent(good[kind]), eventKinds)).toEqual({ event: good[kind] });
    expect(readEvent(good[kind], [kind])).toEqual({ event: good[kind] });
    expect(readEvent(encodeEvent(good[kind]).toString(), [kind])).toEqual({ event: good[kind] });
  });
  test('each question has an identity of its own', () => {
    const query = requestEvent({ ...request, action: 'Query' }, { query: 7, time });
    expect(query.id).toBe('3f2c/4/1/Query/7');
    expect(readEvent(query, ['request'])).toEqual({ event: query });
  });
  test('a trace goes on', () => {
    const answer = statusEvent(report, { cause: good.request });
    expect(answer.traceparent?.slice(0, 36)).toBe(good.request.traceparent?.slice(0, 36));
    expect(answer).toMatchObject({ correlationid: 'c', tracestate: 'a=b' });
  });
});

interface Row {
  reason: string;
  kind?: EventKind;
  change: (event: Record<string, unknown>, data: Record<string, unknown>) => void;
  code: EventProblem['code'];
  path: string;
}

const rows: Row[] = [
  { reason: 'no type', change: (event) => delete event.type, code: 'malformed', path: '/type' },
  { reason: 'a strange type', change: (event) => (event.type = 'com.example.x'), code: 'unknown-type', path: '/type' },
  {
    reason: 'another version of ours',
    change: (event) => (event.type = 'com.company.platform.deployment.status.v2'),
    code: 'unknown-version',
    path: '/type',
  },
  {
    reason: 'a name of every object',
    change: (event) => (event.type = 'constructor'),
    code: 'unknown-type',
    path: '/type',
  },
  {
    reason: 'an old CloudEvent',
    change: (event) => (event.specversion = '0.3'),
    code: 'unknown-version',
    path: '/specversion',
  },
  { reason: 'no id', change: (event) => delete event.id, code: 'invalid', path: '' },
  {
    reason: 'an attribute that CloudEvents forbids',
    change: (event) => (event['Extra-Field'] = 1),
    code: 'invalid',
    path: '',
  },
  { reason: 'binary data', change: (event) => (event.data_base64 = 'AA=='), code: 'invalid', path: '' },
  { reason: 'data that is no object', change: (event) => (event.data = 'text'), code: 'invalid', path: '/data' },
  { reason: '30 February', change: (event) => (event.time = '2026-02-30T00:00:00Z'), code: 'invalid', path: '/time' },
  { reason: '25 o’clock', change: (event) => (event.time = '2026-02-01T25:00:00Z'), code: 'invalid', path: '/time' },
  {
    reason: 'not in UTC',
    change: (event) => (event.time = '2026-02-01T00:00:00+01:00'),
    code: 'invalid',
    path: '/time',
  },
  {
    reason: 'the source of another broker',
    change: (event) => (event.source = '/brokers/aws'),
    code: 'invalid',
    path: '/source',
  },
  {
    reason: 'the source of the platform',
    change: (event) => (event.source = '/kidp'),
    code: 'invalid',
    path: '/source',
  },
  {
    reason: 'a broker speaks as the platform',
    kind: 'request',
    change: (event) => (event.source = '/brokers/azure-westus2'),
    code: 'invalid',
    path: '/source',
  },
  {
    reason: 'the subject of another object',
    change: (event) => (event.subject = 'databases/team-backend/orders'),
    code: 'invalid',
    path: '/subject',
  },
  {
    reason: 'the deployment of another object',
    change: (_event, data) => (data.deploymentId = 'other/4/1'),
    code: 'invalid',
    path: '/data/deploymentId',
  },
  {
    reason: 'a deployment without an attempt',
    change: (_event, data) => (data.deploymentId = '3f2c/4'),
    code: 'invalid',
    path: '/data/deploymentId',
  },
  {
    reason: 'a phase that there is not',
    change: (_event, data) => (data.phase = 'done'),
    code: 'invalid',
    path: '/data/phase',
  },
  { reason: 'failed without why', change: (_event, data) => (data.phase = 'failed'), code: 'invalid', path: '/data' },
  {
    reason: 'a negative sequence',
    change: (_event, data) => (data.sequence = -1),
    code: 'invalid',
    path: '/data/sequence',
  },
  {
    reason: 'half a sequence',
    change: (_event, data) => (data.sequence = 1.5),
    code: 'invalid',
    path: '/data/sequence',
  },
  {
    reason: 'a sequence that JavaScript cannot count',
    change: (_event, data) => (data.sequence = 2 ** 53),
    code: 'invalid',
    path: '/data/sequence',
  },
  {
    reason: 'credentials in the clear',
    change: (_event, data) => (data.credentials = { revision: '1', password: 'x' }),
    code: 'invalid',
    path: '/data/credentials',
  },
  {
    reason: 'credentials both ways',
    change: (_event, data) =>
      (data.credentials = { revision: '1', jwe: 'a..b.c.d', secretRef: { namespace: 'a', name: 'b' } }),
    code: 'invalid',
    path: '/data/credentials',
  },
  {
    reason: 'a JWE that is none',
    change: (_event, data) => (data.credentials = { revision: '1', jwe: 'a.b' }),
    code: 'invalid',
    path: '/data/credentials/jwe',
  },
  {
    reason: 'an output that is no text',
    change: (_event, data) => (data.outputs = { port: 5432 }),
    code: 'invalid',
    path: '/data/outputs/port',
  },
  {
    reason: 'the generation of another',
    kind: 'request',
    change: (_event, data) => (data.resource = { ...resource, generation: 5 }),
    code: 'invalid',
    path: '/data/resource/generation',
  },
  {
    reason: 'an id that is not of the deployment',
    kind: 'request',
    change: (event) => (event.id = 'x'),
    code: 'invalid',
    path: '/id',
  },
  {
    reason: 'a number where only a Query has one',
    kind: 'request',
    change: (event) => (event.id = '3f2c/4/1/Deploy/2'),
    code: 'invalid',
    path: '/id',
  },
  {
    reason: 'a month that there is not',
    kind: 'usage',
    change: (_event, data) => (data.month = '2026-13'),
    code: 'invalid',
    path: '/data/month',
  },
  {
    reason: 'an amount with a comma',
    kind: 'usage',
    change: (_event, data) => (data.amount = '1,5'),
    code: 'invalid',
    path: '/data/amount',
  },
  {
    reason: 'counted up to a day that there is not',
    kind: 'usage',
    change: (_event, data) => (data.asOf = '2026-02-30T00:00:00Z'),
    code: 'invalid',
    path: '/data/asOf',
  },
  {
    reason: 'a capability that there is not',
    kind: 'heartbeat',
    change: (_event, data) => (data.capabilities = ['Queue']),
    code: 'invalid',
    path: '/data/capabilities/0',
  },
];

test.each(rows)('$code at "$path": $reason', ({ kind = 'status', change, code, path }) => {
  const event = structuredClone(good[kind]) as unknown as Record<string, unknown>;
  change(event, event.data as Record<string, unknown>);
  const expected = { problem: { code, path, message: expect.stringMatching(/./) } };
  expect(readEvent(event, [kind])).toEqual(expected);
  expect(readEvent(JSON.stringify(event), [kind])).toEqual(expected);
});

test('a kind that is not wanted is not known', () => {
  expect(readEvent(good.request, ['status'])).toMatchObject({ problem: { code: 'unknown-type' } });
});

test('fields of later versions are left alone', () => {
  const event = { ...good.status, partitionkey: 'x', data: { ...good.status.data, progress: 50 } };
  expect(readEvent(event, ['status'])).toEqual({ event });
});

const odd: Readonly<Record<string, unknown>> = { resource: null, deploymentId: 7, asOf: {}, action: 'Query' };

test.each<{ reason: string; kind: EventKind; ignored: readonly string[] }>([
  {
    reason: 'a heartbeat is about no object',
    kind: 'heartbeat',
    ignored: ['resource', 'deploymentId', 'asOf', 'action'],
  },
  { reason: 'a usage report is about no deployment', kind: 'usage', ignored: ['deploymentId', 'action'] },
  { reason: 'a status is no request', kind: 'status', ignored: ['asOf', 'action'] },
  { reason: 'a request has no usage', kind: 'request', ignored: ['asOf'] },
])('fields of other kinds are ignored, whatever is in them: $reason', ({ kind, ignored }) => {
  for (const field of ignored) {
    const event = { ...good[kind], data: { ...good[kind].data, [field]: odd[field] } };
    expect(readEvent(event, [kind])).toEqual({ event });
  }
});

test.each([
  { input: Buffer.alloc(MAX_EVENT_BYTES + 1, 0x20), code: 'oversized', reason: 'too long' },
  { input: ' '.repeat(MAX_EVENT_BYTES + 1), code: 'oversized', reason: 'too long as text' },
  { input: Buffer.alloc(0), code: 'malformed', reason: 'nothing' },
  { input: '[]', code: 'malformed', reason: 'a list' },
  { input: null, code: 'malformed', reason: 'null' },
  { input: undefined, code: 'malformed', reason: 'undefined' },
  { input: 7, code: 'malformed', reason: 'a number' },
  { input: () => {}, code: 'malformed', reason: 'a function' },
  { input: new Date(), code: 'malformed', reason: 'no plain object' },
])('$code: $reason', ({ input, code }) => {
  expect(readEvent(input, eventKinds)).toMatchObject({ problem: { code } });
});

test.each([
  { reason: 'as it should be', input: JSON.stringify(good.request), broker: good.request.data.broker },
  { reason: 'of a later version', input: '{"type":"x.v9","data":{"broker":"b","new":1}}', broker: 'b' },
  { reason: 'no JSON', input: '{', broker: undefined },
  { reason: 'two answers', input: '{"data":{"broker":"a","broker":"b"}}', broker: undefined },
  { reason: 'no text', input: '{"data":{"broker":7}}', broker: undefined },
  { reason: 'no data', input: '{"data":null}', broker: undefined },
  { reason: 'nothing in it', input: 'null', broker: undefined },
  { reason: 'too long', input: ' '.repeat(MAX_EVENT_BYTES + 1), broker: undefined },
])('the broker that an event names: $reason', ({ input, broker }) => {
  expect(brokerNamedIn(Buffer.from(input))).toBe(broker);
});

describe('mutated events', () => {
  // The oracle: the published files, read by an ajv that shares nothing with ours.
  const published = new Map(
    eventKinds.map((kind) => {
      const text = readFileSync(join(root, EVENTS_FOLDER, eventDefinitions[kind].file), 'utf8');
      return [kind, new Ajv2020({ strict: false, formats: { 'date-time': true } }).compile(JSON.parse(text))];
    }),
  );
  const places = (value: unknown, path: readonly (string | number)[] = []): (string | number)[][] =>
    typeof value === 'object' && value !== null
      ? [[...path], ...Object.entries(value).flatMap(([key, inner]) => places(inner, [...path, key]))]
      : [[...path]];
  const replacement = fc.oneof(
    fc.constant(undefined),
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom<unknown>(
      '',
      '0',
      'a/1/1',
      '3f2c/4/1',
      '/kidp',
      '../..',
      '2026-02-29T00:00:00Z',
      1e308,
      -0,
      2 ** 53,
      [],
      {},
      null,
    ),
    fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)), maxLength: 300 }),
  );
  const mutated = fc.constantFrom(...eventKinds).chain((kind) =>
    fc
      .array(fc.tuple(fc.nat(), replacement, fc.boolean(), fc.string({ maxLength: 12 })), {
        minLength: 1,
        maxLength: 4,
      })
      .map((changes) => {
        let event: unknown = structuredClone(good[kind]);
        for (const [at, value, adds, name] of changes) {
          const all = places(event);
          event = put(event, all[at % all.length] ?? [], value, adds ? name : undefined);
        }
        return { kind, event };
      }),
  );

  test('never throw, and are never taken where the published schema refuses them', () => {
    let taken = 0;
    fc.assert(
      fc.property(mutated, ({ kind, event }) => {
        const text = JSON.stringify(event);
        for (const input of [event, text, text === undefined ? undefined : Buffer.from(text)]) {
          const read = readEvent(input, [kind]);
          if ('problem' in read) expect(read.problem.message).toMatch(/./);
          else {
            taken += 1;
            expect(published.get(kind)?.(JSON.parse(text))).toBe(true);
          }
        }
      }),
      { numRuns: 2000 },
    );
    // Else it would show nothing.
    expect(taken).toBeGreaterThan(50);
  });

  test('bytes that are cut, turned or added to never make it throw', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...eventKinds),
        fc.nat(),
        fc.uint8Array({ maxLength: 8 }),
        fc.nat(16),
        (kind, at, bytes, gone) => {
          const whole = encodeEvent(good[kind]);
          const place = at % whole.length;
          const read = readEvent(Buffer.concat([whole.subarray(0, place), bytes, whole.subarray(place + gone)]), [
            kind,
          ]);
          if ('event' in read) expect(published.get(kind)?.(read.event)).toBe(true);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

/** The same with something else at a place, or with a field more there. */
function put(
  value: unknown,
  path: readonly (string | number)[],
  replacement: unknown,
  name: string | undefined,
): unknown {
  const [key, ...rest] = path;
  if (key === undefined) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return name !== undefined && isObject ? { ...value, [name]: replacement } : replacement;
  }
  if (Array.isArray(value))
    return value.map((each, index) => (String(index) === String(key) ? put(each, rest, replacement, name) : each));
  const record = value as Record<string, unknown>;
  return { ...record, [key]: put(record[key], rest, replacement, name) };
}
