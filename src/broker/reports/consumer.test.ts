import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../runtime/index.ts';
import type { LogFields } from '../../runtime/internal.ts';
import { FakeClock } from '../../runtime/testing/index.ts';
import { encodeEvent, heartbeatEvent, MAX_EVENT_BYTES, statusEvent } from '../contract/index.ts';
import { type BrokerVerifier, IdentityError, type RefusalReason } from '../identity/index.ts';
import { DeadLetter, type IncomingMessage } from '../kafka/index.ts';
import type { BrokerEvent } from '../messages.ts';
import type { ReportOutcome, ReportSink } from '../sink.ts';
import { statusConsumer, statusHandler } from './consumer.ts';
import { reportMetrics } from './metrics.ts';

const event = statusEvent(
  {
    broker: 'azure',
    deploymentId: 'u/1/0',
    resource: { apiVersion: 'platform.company.com/v1', kind: 'Cache', namespace: 'team', name: 'sessions', uid: 'u' },
    sequence: 1,
    phase: 'ready',
  },
  { time: new Date(Date.UTC(2026, 0, 1)) },
);
const bytes = encodeEvent(event);

let clock: FakeClock;
let registry: Registry;
let taken: BrokerEvent[];
let missed: string[];
let refusal: RefusalReason | undefined;
let outcome: () => Promise<ReportOutcome>;
let lines: LogFields[];
let miss: () => Promise<void>;

beforeEach(() => {
  clock = new FakeClock();
  registry = new Registry();
  taken = [];
  missed = [];
  lines = [];
  refusal = undefined;
  miss = async () => {};
  outcome = async () => ({ result: 'applied', before: 'deploying', after: 'ready' });
});
afterEach(() => registry.clear());

const verifier: BrokerVerifier = {
  token: () => Promise.reject(new Error('not over HTTP')),
  async signature(_bytes, jws) {
    if (refusal !== undefined) throw new IdentityError(refusal, 'not believed', { claimed: jws });
    if (jws === '') throw new IdentityError('malformed', 'no signature');
    return { name: jws, channel: 'Kafka', keyId: 'k' };
  },
};
const sink: ReportSink = {
  async receive(each) {
    taken.push(each);
    return outcome();
  },
  async recordMissed(each, reason) {
    missed.push(`${each.id} ${reason}`);
    await miss();
  },
};
const log: Logger = { ...silentLogger, info: (_message, fields = {}) => void lines.push(fields) };

const handler = () => statusHandler({ verifier, sink, log, metrics: reportMetrics(registry), clock });
const message = (
  value: Buffer = bytes,
  headers: [string, string][] = [['signature', 'azure']],
  offset = 0n,
): IncomingMessage => ({
  key: 'u',
  value,
  headers: new Map(headers),
  topic: 'deployment-status',
  partition: 0,
  offset,
});
const codeOf = (handled: Promise<void>): Promise<string> =>
  handled.then(
    () => 'taken',
    (error: unknown) => (error instanceof DeadLetter ? error.code : 'again'),
  );

test('a good message is taken, with its audit line, and counted with its delay', async () => {
  await clock.advance(1500);
  await handler()(message());
  expect(taken).toEqual([event]);
  expect(lines).toMatchObject([
    {
      audit: true,
      broker: 'azure',
      channel: 'Kafka',
      object: 'caches/team/sessions',
      before: 'deploying',
      after: 'ready',
    },
  ]);
  const metrics = await registry.metrics();
  expect(metrics).toContain(
    'kidp_broker_reports_total{broker="azure",channel="Kafka",type="status",result="applied"} 1',
  );
  expect(metrics).toContain('kidp_broker_report_delay_seconds_sum{channel="Kafka",type="status"} 1.5');
});

interface Row {
  reason: string;
  value?: Buffer;
  headers?: [string, string][];
  refused?: RefusalReason;
  result?: ReportOutcome;
  code: string;
  isTaken?: true;
}

const rows: Row[] = [
  { reason: 'no signature', headers: [], code: 'malformed' },
  { reason: 'a forged one', refused: 'forged', code: 'forged' },
  { reason: 'an unknown key', refused: 'unknown-key', code: 'unknown-key' },
  { reason: 'keys that are away for the moment', refused: 'keys-unavailable', code: 'again' },
  { reason: 'too large', value: Buffer.alloc(MAX_EVENT_BYTES + 1), code: 'oversized' },
  { reason: 'no JSON', value: Buffer.from('{'), code: 'malformed' },
  { reason: 'empty, as a tombstone is', value: Buffer.alloc(0), code: 'malformed' },
  { reason: 'a strange type', value: encodeEvent({ ...event, type: 'x' as never }), code: 'unknown-type' },
  {
    reason: 'tomorrow’s version',
    value: encodeEvent({ ...event, type: event.type.replace('v1', 'v2') as never }),
    code: 'unknown-version',
  },
  {
    reason: 'not as its schema says',
    value: encodeEvent({ ...event, data: { ...event.data, phase: 'failed' } }),
    code: 'invalid',
  },
  { reason: 'another broker than who signed', headers: [['signature', 'aws']], code: 'wrong-broker' },
  {
    reason: 'no such object',
    result: { result: 'refused', code: 'unknown-object', message: 'gone' },
    code: 'unknown-object',
    isTaken: true,
  },
  { reason: 'a duplicate is no fault', result: { result: 'duplicate' }, code: 'taken', isTaken: true },
  { reason: 'a stale one is no fault', result: { result: 'stale' }, code: 'taken', isTaken: true },
];

test.each(rows)('$code: $reason', async ({ value, headers, refused, result, code, isTaken }) => {
  refusal = refused;
  if (result !== undefined) outcome = async () => result;
  expect(await codeOf(handler()(message(value, headers)))).toBe(code);
  expect(taken).toHaveLength(isTaken === true ? 1 : 0);
  const counted = `kidp_broker_events_rejected_total{channel="Kafka",code="${code}"} 1`;
  const text = await registry.metrics();
  if (code === 'taken' || code === 'again') expect(text).not.toContain('kidp_broker_events_rejected_total{');
  else expect(text).toContain(counted);
});

test('what the sink cannot take now is delivered again, and never put aside', async () => {
  outcome = () => Promise.reject(new Error('no API server'));
  const handle = handler();
  for (let tries = 0; tries < 3; tries += 1) {
    expect(await codeOf(handle(message()))).toBe('again');
    await clock.advance(3_600_000);
  }
});

describe('keys that stay away', () => {
  test('hold up a message for a quarter of an hour, and not for ever', async () => {
    refusal = 'keys-unavailable';
    const handle = handler();
    expect(await codeOf(handle(message()))).toBe('again');
    await clock.advance(899_000);
    expect(await codeOf(handle(message()))).toBe('again');
    expect(await codeOf(handle(message(bytes, undefined, 1n)))).toBe('again');
    await clock.advance(1000);
    expect(await codeOf(handle(message()))).toBe('keys-unavailable');
    expect(await codeOf(handle(message(bytes, undefined, 1n)))).toBe('again');
    refusal = undefined;
    expect(await codeOf(handle(message(bytes, undefined, 1n)))).toBe('taken');
  });
});

test('messages of one broker that wait for its keys are no more than a hundred, and those of another wait beside them', async () => {
  refusal = 'keys-unavailable';
  const handle = handler();
  const offer = (offset: bigint, broker = 'azure') => codeOf(handle(message(bytes, [['signature', broker]], offset)));
  for (let offset = 0n; offset < 100n; offset++) expect(await offer(offset)).toBe('again');
  expect(await offer(100n)).toBe('keys-unavailable');
  expect(await offer(0n)).toBe('again');
  expect(await offer(101n, 'aws')).toBe('again');
  refusal = undefined;
  expect(await offer(0n)).toBe('taken');
  refusal = 'keys-unavailable';
  expect(await offer(102n)).toBe('again');
  await clock.advance(900_000);
  expect(await offer(103n), 'those that never came back have made room').toBe('again');
});

test('nothing waits for keys where others have to wait for it', async () => {
  refusal = 'keys-unavailable';
  const handle = handler();
  expect(await codeOf(handle(message(), undefined, () => true))).toBe('keys-unavailable');
  expect(missed).toEqual([`${event.id} keys-unavailable`]);
});

describe('reports that are lost because the sender cannot be verified', () => {
  const heartbeat = heartbeatEvent({ broker: 'azure', version: '1', capabilities: [] });
  const lost: { reason: string; value: Buffer; refused: RefusalReason; isMissed: boolean }[] = [
    { reason: 'a key that is added later', value: bytes, refused: 'unknown-key', isMissed: true },
    { reason: 'a Broker that is re-created', value: bytes, refused: 'wrong-issuer', isMissed: true },
    { reason: 'a scope that is granted later', value: bytes, refused: 'missing-scope', isMissed: true },
    {
      reason: 'keys that are temporarily unavailable: the message is retried',
      value: bytes,
      refused: 'keys-unavailable',
      isMissed: false,
    },
    {
      reason: 'a heartbeat is repeated anyway',
      value: encodeEvent(heartbeat),
      refused: 'unknown-key',
      isMissed: false,
    },
    { reason: 'the message cannot be parsed', value: Buffer.from('{'), refused: 'unknown-key', isMissed: false },
  ];
  test.each(lost)('$refused: $reason', async ({ value, refused, isMissed }) => {
    refusal = refused;
    await codeOf(handler()(message(value)));
    expect(missed).toEqual(isMissed ? [`${event.id} ${refused}`] : []);
  });

  test('is not put aside before that is known', async () => {
    refusal = 'unknown-key';
    miss = () => Promise.reject(new Error('no API server'));
    const handle = handler();
    expect(await codeOf(handle(message()))).toBe('again');
    miss = async () => {};
    expect(await codeOf(handle(message()))).toBe('unknown-key');
    expect(missed).toHaveLength(2);
  });
});

test('the consumer is whatever consumes', async () => {
  const consumer = statusConsumer({ consume: (handle) => ({ handle }), verifier, sink, log });
  await consumer.handle(message());
  expect(taken).toHaveLength(1);
});
